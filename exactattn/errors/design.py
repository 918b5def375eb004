"""Query designs for approximate oracles: which copy ratios are asked in every family, and how V·b is known.

A family is a probe (b, u) asked at several nodes. With m copies of a = b − u and k copies of b (the last
token included) the answer is

    f = V·b − x Σ_h c_h / (x + r_h),    x = m/k,    r_h = exp(b^T W_h u),    c_h = v_h·u

(theory, section 3, where k = 1). The token a alone is the node x = ∞, and b alone is x = 0. The families are
those of the published plan; its own design has the nodes 1 … 2H, and learns V from the first row of families
and b_1 alone. A *direct* design asks every b_i alone instead: d − 1 queries more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from flint import fmpq

from exactattn.model.query import Query
from exactattn.numbers import Matrix, Vector, to_matrix
from exactattn.recovery import PublishedPlan

__all__ = ["Design", "Family", "Link", "Node", "published_nodes"]


@dataclass(frozen=True)
class Node:
    """``copies`` of the token a before ``lasts`` copies of b; lasts = 0 is a alone, the node at infinity."""

    copies: int
    lasts: int = 1

    @property
    def is_infinite(self) -> bool:
        """Whether b does not occur."""
        return self.lasts == 0

    @property
    def ratio(self) -> fmpq:
        """x = m/k of a finite node.

        >>> Node(3, 2).ratio
        3/2
        """
        return fmpq(self.copies, self.lasts)

    @property
    def length(self) -> int:
        """The number of tokens of its query."""
        return self.copies + self.lasts

    def query(self, last: Vector, difference: Vector) -> Query:
        """The query for the last token b and the difference u."""
        a = tuple(x - y for x, y in zip(last, difference, strict=True))
        if self.is_infinite:
            return Query.of([], a)
        return Query.of([(a, self.copies), (last, self.lasts - 1)], last)


def published_nodes(heads: int) -> tuple[Node, ...]:
    """The nodes 1 … 2H."""
    return tuple(Node(m) for m in range(1, 2 * heads + 1))


@dataclass(frozen=True)
class Family:
    """One probe with its 2H nodes.

    ``known``: V·b as a combination: coefficients of the answers at single tokens, and ``of_sum``, the vector
    w such that w·V is added (V from the residues of the first row). ``start``: the place of its first
    answer.
    """

    kind: str
    i: int
    j: int
    last: Vector
    difference: Vector
    nodes: tuple[Node, ...]
    known: Vector
    of_sum: Vector
    start: int = 0

    def __str__(self) -> str:
        return f"{self.kind} probe ({self.i}, {self.j})"

    @property
    def needs_sum(self) -> bool:
        """Whether V·b is derived from the first row."""
        return any(x != 0 for x in self.of_sum)


@dataclass(frozen=True)
class Link:
    """Families X, Y and Z (by index) with p·score_X + q·score_Y = score_Z for every head; on a shared
    difference the residues are equal, on a shared last token they add up like the scores."""

    x: int
    y: int
    z: int
    p: int
    q: int
    shared_difference: bool


@dataclass(frozen=True)
class Design:
    """All queries of a noisy recovery: last tokens b_1 … b_d, differences u_1 … u_d, nodes by family.

    ``heads`` is the number H of canonical heads, which must be known. ``nodes_of`` tells the 2H nodes of the
    families, in the order of :attr:`families`. With ``bias`` there are d + 1 last tokens, scores of (1, b),
    and a constant output.

    >>> from exactattn.recovery import TokenRange
    >>> design = Design.published(PublishedPlan.draw(2, 2, 1, TokenRange(2, 8)))
    >>> len(design.queries()), design.direct().count, design.longest
    (29, 30, 5)
    """

    heads: int
    b: Matrix
    u: Matrix
    nodes_of: tuple[tuple[Node, ...], ...]
    is_direct: bool = False
    bias: bool = False

    @classmethod
    def published(cls, plan: PublishedPlan) -> Design:
        """The design of the published plan: the same queries, in the same order."""
        rows, d = len(plan.b), plan.dim
        families = rows * d + rows * (d - 1) + rows - 1
        nodes = published_nodes(plan.heads)
        return cls(plan.heads, plan.b, plan.u, (nodes,) * families, False, rows > d)

    def direct(self) -> Design:
        """The same with every b_i asked alone."""
        return replace(self, is_direct=True)

    def with_nodes(self, choose: Callable[[Family], tuple[Node, ...]]) -> Design:
        """The same families with other nodes."""
        return replace(self, nodes_of=tuple(choose(family) for family in self.families))

    @property
    def dim(self) -> int:
        """The token size d."""
        return len(self.u)

    @property
    def singles(self) -> tuple[Vector, ...]:
        """The tokens that are asked alone."""
        return self.b if self.is_direct else self.b[:1]

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """Base probes by rows, then columns, then rows."""
        start = len(self.singles)
        result = []
        for nodes, family in zip(self.nodes_of, self._families(), strict=True):
            result.append(replace(family, nodes=nodes, start=start))
            start += len(nodes)
        return tuple(result)

    def _families(self) -> Iterator[Family]:
        rows, columns = range(len(self.b)), range(self.dim)

        def family(kind: str, i: int, j: int, weights: dict[int, int], u: Vector) -> Family:
            last = _combination([(n, self.b[k]) for k, n in weights.items()])
            if self.is_direct:
                known, of_sum = weights, tuple(fmpq(0) for _ in last)
            elif weights == {0: 1}:
                known, of_sum = {0: 1}, tuple(fmpq(0) for _ in last)
            elif self.bias:  # the constant output enters with b_1, and V·(b − b_1) is added
                known, of_sum = {0: 1}, _combination([(1, last), (-1, self.b[0])])
            else:
                known, of_sum = {}, last
            singles = tuple(fmpq(known.get(k, 0)) for k in range(len(self.singles)))
            return Family(kind, i + 1, j + 1, last, u, (), singles, of_sum)

        for i in rows:
            for j in columns:
                yield family("base", i, j, {i: 1}, self.u[j])
        for i in rows:
            for j in columns[1:]:
                yield family("column", i, j, {i: 1}, _combination([(1, self.u[0]), (1, self.u[j])]))
        for i in rows[1:] if self.u else ():
            yield family("row", i, 0, self._joined(i), self.u[0])

    def _joined(self, i: int) -> dict[int, int]:
        """The last token that joins b_1 and b_i: their sum, or 2b_i − b_1 with a bias."""
        return {0: -1, i: 2} if self.bias else {0: 1, i: 1}

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The relations that label poles: first down the first column, then along every row."""
        place = {(f.kind, f.i, f.j): n for n, f in enumerate(self.families)}
        result = []
        for i in range(2, len(self.b) + 1 if self.u else 0):
            p, q = self._joined(i - 1).values()
            result.append(Link(place["base", 1, 1], place["base", i, 1], place["row", i, 1], p, q, True))
        for i in range(1, len(self.b) + 1):
            for j in range(2, self.dim + 1):
                ends = place["base", i, 1], place["base", i, j], place["column", i, j]
                result.append(Link(*ends, 1, 1, False))
        return tuple(result)

    def queries(self) -> list[Query]:
        """Every query: single tokens, then each family's nodes."""
        singles = [Query.of([], b) for b in self.singles]
        return singles + [n.query(f.last, f.difference) for f in self.families for n in f.nodes]

    @property
    def count(self) -> int:
        """The number of queries."""
        return len(self.singles) + sum(len(nodes) for nodes in self.nodes_of)

    @property
    def longest(self) -> int:
        """The length of the longest query."""
        return max(node.length for nodes in self.nodes_of for node in nodes)

    @cached_property
    def b_inverse(self) -> Matrix:
        """B^{-1}, B with rows b_i, or (1, b_i) with a bias."""
        return _inverse([(fmpq(1), *row) if self.bias else row for row in self.b])

    @cached_property
    def u_inverse(self) -> Matrix:
        """U^{-1}, U with rows u_j."""
        return _inverse(self.u)


def _combination(terms: Sequence[tuple[int, Vector]]) -> Vector:
    columns = zip(*(vector for _, vector in terms), strict=True)
    return tuple(sum((n * x for (n, _), x in zip(terms, column, strict=True)), fmpq(0)) for column in columns)


def _inverse(rows: Sequence[Vector]) -> Matrix:
    return tuple(tuple(row) for row in to_matrix(rows).inv().tolist())
