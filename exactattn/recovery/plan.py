"""The published plan: every query as data, written before any answer is known.

For random b_1 … b_d (last tokens) and u_1 … u_d, each probe (b, u) is asked with m = 1 … 2H copies of the
token a = b − u before the last token b, and one more query is b_1 alone (theory, section 4; the count is that
of arXiv 2608.03294):

    base       (b_i, u_j)            d²
    column     (b_i, u_1 + u_j)      d(d−1)      j = 2 … d
    row        (b_1 + b_i, u_1)      d−1         i = 2 … d

2H(2d² − 1) + 1 = 4Hd² − 2H + 1 queries, the longest of 2H + 1 tokens. With an upper bound H_0 in place of the
number of heads H, read H_0 for H.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from exactattn.exceptions import InputError
from exactattn.model.query import Query
from exactattn.numbers import Vector, to_matrix
from exactattn.recovery.draw import TokenRange, draw_vector

__all__ = ["Probe", "PublishedPlan", "published_count", "published_length"]

MAX_QUERIES = 100_000_000


def published_count(heads: int, dim: int) -> int:
    """4Hd² − 2H + 1, the published number of value queries.

    >>> published_count(2, 4)
    125
    """
    return 4 * heads * dim**2 - 2 * heads + 1


def published_length(heads: int) -> int:
    """2H + 1, the published bound on the length of a query."""
    return 2 * heads + 1


@dataclass(frozen=True)
class Probe:
    """One probe: last token b, difference u = b − a, and the vectors of the plan that it is made of."""

    kind: Literal["base", "column", "row"]
    i: int
    j: int
    last: Vector
    difference: Vector

    def __str__(self) -> str:
        return f"{self.kind} probe ({self.i}, {self.j})"

    @property
    def vectors(self) -> frozenset[tuple[str, int]]:
        """Names of the vectors it uses, e.g. ("b", 1) and ("u", 3)."""
        used = {("b", self.i), ("u", self.j)}
        if self.kind == "column":
            used.add(("u", 1))
        if self.kind == "row":
            used.add(("b", 1))
        return frozenset(used)

    def query(self, copies: int) -> Query:
        """The query with that many copies of a = b − u."""
        a = tuple(x - y for x, y in zip(self.last, self.difference, strict=True))
        return Query.of([(a, copies)], self.last)


def _sum(x: Vector, y: Vector) -> Vector:
    return tuple(a + b for a, b in zip(x, y, strict=True))


@dataclass(frozen=True)
class PublishedPlan:
    """The plan for ``heads`` heads (the number of heads or an upper bound) and token size ``dim``.

    ``versions`` tells, for each vector ("b", i) or ("u", j), how often it was replaced. Vectors are drawn
    from the seed; invertible matrices B, U and distinct queries are part of the plan, and need no answer.

    >>> plan = PublishedPlan.draw(heads=2, dim=2, seed=1, tokens=TokenRange(2, 8))
    >>> len(plan.queries()), max(q.length for q in plan.queries())
    (29, 5)
    """

    heads: int
    dim: int
    seed: int
    tokens: TokenRange
    versions: tuple[tuple[tuple[str, int], int], ...] = ()

    @classmethod
    def draw(cls, heads: int, dim: int, seed: int, tokens: TokenRange) -> PublishedPlan:
        """A valid plan. Raises InputError if heads or dim is below 1 or the plan would be too large."""
        for name, number in (("heads", heads), ("dim", dim)):
            if number < 1:
                raise InputError(f"must be at least 1, not {number}", field=name)
        if published_count(heads, dim) > MAX_QUERIES:
            raise InputError(
                f"the plan would have {published_count(heads, dim)} queries, more than {MAX_QUERIES}"
            )
        return cls(heads, dim, seed, tokens)._made_valid()

    def _made_valid(self) -> PublishedPlan:
        """Replaces vectors until B and U are invertible and all queries distinct; asks nothing."""
        plan = self
        for _ in range(1000):
            faulty = plan._first_dependent() or plan._first_repeated()
            if faulty is None:
                return plan
            plan = plan._bumped({faulty})
        raise InputError("no valid query vectors were found; use a wider token range")

    def _first_dependent(self) -> tuple[str, int] | None:
        """The first vector that depends on those before it."""
        for name, vectors in (("b", self.b), ("u", self.u)):
            if to_matrix(vectors).det() == 0:
                ranks = (to_matrix(vectors[:i]).rank() for i in range(1, self.dim + 1))
                return name, next(i for i, rank in enumerate(ranks, 1) if rank < i)
        return None

    def _first_repeated(self) -> tuple[str, int] | None:
        """The vector to blame for the first probe that is empty or repeats another."""
        seen: set[tuple[Vector, Vector]] = set()
        for probe in self.probes:
            pair = (probe.last, probe.difference)
            if pair in seen or not any(x != 0 for x in probe.difference):
                return ("b", probe.i) if probe.kind == "row" else ("u", probe.j)
            seen.add(pair)
        return None

    def _bumped(self, vectors: set[tuple[str, int]]) -> PublishedPlan:
        table = dict(self.versions)
        for vector in vectors:
            table[vector] = table.get(vector, 0) + 1
        return replace(self, versions=tuple(sorted(table.items())))

    def redrawn(self, vectors: set[tuple[str, int]]) -> PublishedPlan:
        """The plan with these vectors replaced by their next versions, made valid again."""
        return self._bumped(vectors)._made_valid()

    def _vectors(self, name: str, radius: int) -> tuple[Vector, ...]:
        table = dict(self.versions)
        return tuple(
            draw_vector(
                self.seed, name, i, table.get((name, i), 0), self.dim, radius, self.tokens.denominator
            )
            for i in range(1, self.dim + 1)
        )

    @cached_property
    def b(self) -> tuple[Vector, ...]:
        """The last tokens b_1 … b_d."""
        return self._vectors("b", self.tokens.last)

    @cached_property
    def u(self) -> tuple[Vector, ...]:
        """The differences u_1 … u_d."""
        return self._vectors("u", self.tokens.difference)

    @property
    def copies(self) -> range:
        """The numbers of copies m = 1 … 2H asked in every probe."""
        return range(1, 2 * self.heads + 1)

    @cached_property
    def probes(self) -> tuple[Probe, ...]:
        """All 2d² − 1 probes: base by rows, then columns, then rows."""
        return tuple(self._probes())

    def _probes(self) -> Iterator[Probe]:
        indices = range(1, self.dim + 1)
        for i in indices:
            for j in indices:
                yield Probe("base", i, j, self.b[i - 1], self.u[j - 1])
        for i in indices:
            for j in indices[1:]:
                yield Probe("column", i, j, self.b[i - 1], _sum(self.u[0], self.u[j - 1]))
        for i in indices[1:]:
            yield Probe("row", i, 1, _sum(self.b[0], self.b[i - 1]), self.u[0])

    @property
    def constant_query(self) -> Query:
        """b_1 alone: its value is V·b_1 with V the sum of all v_h."""
        return Query.of([], self.b[0])

    def queries(self) -> list[Query]:
        """Every query: the single token b_1, then each probe's queries by number of copies."""
        return [self.constant_query, *(p.query(m) for p in self.probes for m in self.copies)]

    def identity(self) -> dict[str, Any]:
        """What makes a transcript belong to this plan (redraws keep it)."""
        return {
            "method": "published",
            "heads": self.heads,
            "dim": self.dim,
            "seed": self.seed,
            "tokens": self.tokens.to_json(),
        }

    def versions_json(self) -> dict[str, list[int]]:
        """Versions of b_1 … b_d and u_1 … u_d, as a certificate discloses them."""
        table = dict(self.versions)
        return {n: [table.get((n, i), 0) for i in range(1, self.dim + 1)] for n in ("b", "u")}
