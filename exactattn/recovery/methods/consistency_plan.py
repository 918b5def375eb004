"""The consistency plan: half the published count, and no closeness (theory, section 5).

    base       filler 0, last token b_1
    token      one token a_j more                j = 2 … d
    opposite   one token −a_j instead            j = 2 … d
    row base   filler b_i − u_1, last b_i        i = 2, …
    row        one b_i − u_1 + u_j more          j = 2, …

2H queries each: 2H(d² + d − 1) in all, 2H(2dr − r² + d − 1) for rank r, one more with a bias. The opposite
token −a_j, with x replaced by 1/x, keeps the longest query at 2H + 1 tokens; two tokens a_j would make it
2H + 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from exactattn.numbers import NumberSystem
from exactattn.recovery.counts import consistency_count
from exactattn.recovery.methods.rows import Task
from exactattn.recovery.methods.staged_plan import StagedPlan
from exactattn.recovery.probe import Probe, times
from exactattn.recovery.solution import Further, Solution

__all__ = ["ConsistencyPlan"]


@dataclass(frozen=True)
class ConsistencyPlan(StagedPlan):
    """The consistency plan.

    >>> from exactattn.recovery.draw import TokenRange
    >>> plan = ConsistencyPlan.draw(heads=2, dim=2, seed=1, tokens=TokenRange(4, 16))
    >>> len(plan.queries()), plan.count, max(query.length for query in plan.queries())
    (20, 20, 5)
    """

    method: ClassVar[str] = "consistent"

    @property
    def count(self) -> int:
        exact = consistency_count(self.heads, self.dim, self.full_rank, bias=self.bias)
        return exact + 2 * self.heads * self.checked_columns

    @property
    def checked_columns(self) -> int:
        return int(self.checked and self.full_rank < self.dim)

    @property
    def formula(self) -> str:
        if self.rank is None:
            return "2H(d² + 2d − 1) + 1" if self.bias else "2H(d² + d − 1)"
        text = "2H(r(2d + 1 − r) + d − 1) + 1" if self.bias else "2H(2dr − r² + d − 1)"
        return f"{text} + 2H" if self.checked_columns else text

    @property
    def first_probes(self) -> tuple[Probe, ...]:
        probes = [*self.opening]
        for j, a in enumerate(self.first_basis[1:], 2):
            probes += [self.first_probe("token", j, a), self.first_probe("opposite", j, times(-1, a))]
        return tuple(probes)

    @property
    def column_pairs(self) -> set[tuple[int, int]]:
        return {(1, j) for j in range(2, self.dim + 1)}

    @property
    def single_columns(self) -> set[int]:
        return {1}

    @cached_property
    def row_probes(self) -> tuple[tuple[Task, Probe], ...]:
        return tuple(self._rows())

    def _rows(self) -> Iterator[tuple[Task, Probe]]:
        for i, columns in self.needed.items():
            last = self.b[i - 1]
            filler = self.filler_for(last, 1)
            base = (("b", i), ("u", 1))
            yield Task((i,), (1,)), Probe("row base", i, 1, filler, last, self.copies, base)
            for j in columns[1:]:
                made_of = (("u", j), *base)
                extra = self.beyond(filler, j)
                yield Task((i,), (j,)), Probe("row", i, j, filler, last, self.copies, made_of, extra)

    def solve(
        self,
        answers: Sequence[Any],
        system: NumberSystem[Any, Any],
        progress: Callable[[int], None] | None = None,
    ) -> Solution | Further:
        """Labels from one check equation a probe."""
        from exactattn.recovery.methods.consistency import ConsistencySolver

        return ConsistencySolver(self, answers, system, progress).result()
