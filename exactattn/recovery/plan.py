"""The published plan: every query as data, written before any answer is known.

For random b_1 … b_d (last tokens) and u_1 … u_d, each probe (b, u) is asked with m = 1 … 2H copies of the
token a = b − u before the last token b, and one more query is b_1 alone (theory, section 4; the count is that
of arXiv 2608.03294):

    base       (b_i, u_j)            d²
    column     (b_i, u_1 + u_j)      d(d−1)      j = 2 … d
    row        (b_1 + b_i, u_1)      d−1         i = 2 … d

2H(2d² − 1) + 1 = 4Hd² − 2H + 1 queries, the longest of 2H + 1 tokens. With an upper bound H_0 in place of the
number of heads H, read H_0 for H.

With a query bias there is one more last token, b_{d+1}, and since (1, b_1) + (1, b_i) is not of that form,
row probes take the last token 2b_i − b_1: scores there and at b_1 add up to twice those at b_i. That makes
2d² + 2d − 1 probes and 4Hd² + 4Hd − 2H + 1 queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

from exactattn.model.query import Query
from exactattn.numbers import NumberSystem, Vector
from exactattn.recovery.counts import published_count, published_length
from exactattn.recovery.draw import TokenRange
from exactattn.recovery.method import Plan
from exactattn.recovery.probe import Probe, minus, plus, times
from exactattn.recovery.solution import Solution

__all__ = ["PublishedPlan"]


@dataclass(frozen=True)
class PublishedPlan(Plan):
    """The plan for ``heads`` heads (the number of heads or an upper bound) and token size ``dim``.

    Vectors are ("b", i) and ("u", j).

    >>> plan = PublishedPlan.draw(heads=2, dim=2, seed=1, tokens=TokenRange(2, 8))
    >>> len(plan.queries()), max(q.length for q in plan.queries())
    (29, 5)
    """

    method: ClassVar[str] = "published"

    @classmethod
    def draw(cls, heads: int, dim: int, seed: int, tokens: TokenRange, *, bias: bool = False) -> Self:
        """A valid plan. Raises InputError if heads or dim is below 1 or the plan would be too large."""
        return cls(heads, dim, seed, tokens, bias=bias).made_valid()

    @property
    def count(self) -> int:
        return published_count(self.heads, self.dim, bias=self.bias)

    @property
    def formula(self) -> str:
        return "4Hd² + 4Hd − 2H + 1" if self.bias else "4Hd² − 2H + 1"

    @property
    def longest(self) -> int:
        return published_length(self.heads)

    def bases(self) -> Iterable[tuple[tuple[tuple[str, int], Vector], ...]]:
        yield tuple((("b", i), self.lifted(x)) for i, x in enumerate(self.b, 1))
        yield tuple((("u", j), x) for j, x in enumerate(self.u, 1))

    @cached_property
    def b(self) -> tuple[Vector, ...]:
        """The last tokens b_1 … b_d (b_{d+1} with a bias)."""
        return tuple(self.drawn("b", i, self.tokens.last) for i in range(1, self.rows + 1))

    @cached_property
    def u(self) -> tuple[Vector, ...]:
        """The differences u_1 … u_d."""
        return tuple(self.drawn("u", j, self.tokens.difference) for j in range(1, self.dim + 1))

    @property
    def copies(self) -> range:
        """The numbers of copies m = 1 … 2H asked in every probe."""
        return range(1, 2 * self.heads + 1)

    @cached_property
    def probes(self) -> tuple[Probe, ...]:
        """All 2d² − 1 probes: base by rows, then columns, then rows."""
        return tuple(self._probes())

    def _probes(self) -> Iterator[Probe]:
        columns = range(1, self.dim + 1)
        rows = range(1, self.rows + 1)

        def probe(kind: str, i: int, j: int, b: Vector, u: Vector, made_of: list[tuple[str, int]]) -> Probe:
            return Probe(kind, i, j, minus(b, u), b, self.copies, tuple(made_of))

        for i in rows:
            for j in columns:
                yield probe("base", i, j, self.b[i - 1], self.u[j - 1], [("u", j), ("b", i)])
        for i in rows:
            for j in columns[1:]:
                sum_of_two = plus(self.u[0], self.u[j - 1])
                yield probe("column", i, j, self.b[i - 1], sum_of_two, [("u", j), ("b", i), ("u", 1)])
        for i in rows[1:]:
            b = self.b[i - 1]
            joined = minus(times(2, b), self.b[0]) if self.bias else plus(self.b[0], b)
            yield probe("row", i, 1, joined, self.u[0], [("b", i), ("u", 1), ("b", 1)])

    @property
    def constant_query(self) -> Query:
        """b_1 alone: its value is V·b_1 with V the sum of all v_h."""
        return Query.of([], self.b[0])

    @property
    def singles(self) -> tuple[Query, ...]:
        return (self.constant_query,)

    def versions_json(self) -> dict[str, list[int]]:
        """Versions of b_1 … b_d and u_1 … u_d, as a certificate discloses them."""
        return {
            "b": [self.version("b", i) for i in range(1, self.rows + 1)],
            "u": [self.version("u", j) for j in range(1, self.dim + 1)],
        }

    def solve(
        self,
        answers: Sequence[Any],
        system: NumberSystem[Any, Any],
        progress: Callable[[int], None] | None = None,
    ) -> Solution:
        """See :func:`exactattn.recovery.solve.solve`."""
        from exactattn.recovery.solve import solve

        return solve(self, answers, system, progress)
