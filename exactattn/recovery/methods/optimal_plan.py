"""The optimal plan: as many queries as identified parameters (theory, section 5).

    base       filler 0, last token b_1                              2H
    token      one a_j more, j = 2 … d                               2H each
    pair       filler b_i − u_k, one b_i − u_k + u_j, last b_i       2H each
    shared     the same with last token b_i + b_i' − b_1             2H each
    half       m copies of b_i, one b_i + u_j, last b_i              H each, m = 0 … H − 1

H(2dr − r² + d) queries in all, H(d² + d) at full rank; with a bias H(r(2d + 1 − r) + d) + 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from exactattn.numbers import NumberSystem
from exactattn.recovery.counts import identified_count
from exactattn.recovery.methods.rows import Task, grouped
from exactattn.recovery.methods.staged_plan import StagedPlan
from exactattn.recovery.probe import Probe, minus, plus
from exactattn.recovery.solution import Further, Solution

__all__ = ["OptimalPlan"]


@dataclass(frozen=True)
class OptimalPlan(StagedPlan):
    """The optimal plan.

    >>> from exactattn.recovery.draw import TokenRange
    >>> plan = OptimalPlan.draw(heads=2, dim=4, seed=1, tokens=TokenRange(4, 16), rank=2)
    >>> len(plan.queries()), plan.count, max(query.length for query in plan.queries())
    (32, 32, 5)
    """

    method: ClassVar[str] = "optimal"

    @property
    def count(self) -> int:
        exact = identified_count(self.heads, self.dim, self.full_rank, bias=self.bias)
        return exact + self.heads * self.checked_columns

    @property
    def checked_columns(self) -> int:
        if not self.checked:
            return 0
        r = self.full_rank  # an even number of columns in all goes on without waste if the rank is higher
        return min(self.dim - r, 1 + (r + 1) % 2)

    @property
    def formula(self) -> str:
        if self.rank is None:
            return "H(d² + 2d) + 1" if self.bias else "H(d² + d)"
        text = "H(r(2d + 1 − r) + d) + 1" if self.bias else "H(2dr − r² + d)"
        return text + ("", " + H", " + 2H")[self.checked_columns]

    @property
    def first_probes(self) -> tuple[Probe, ...]:
        tokens = enumerate(self.first_basis[1:], 2)
        return (*self.opening, *(self.first_probe("token", j, a) for j, a in tokens))

    @property
    def column_pairs(self) -> set[tuple[int, int]]:
        columns = range(1, self.dim + 1)
        if self.checked:
            return set(zip(columns[::2], columns[1::2], strict=False))
        tasks = grouped(self.complete().needed)
        return {(t.columns[0], t.columns[1]) for t in tasks if len(t.columns) == 2}

    @property
    def single_columns(self) -> set[int]:
        if self.checked:
            return set(range(1, self.dim + 1))
        return {t.columns[0] for t in grouped(self.complete().needed) if len(t.columns) == 1}

    @cached_property
    def row_probes(self) -> tuple[tuple[Task, Probe], ...]:
        return tuple((task, self._probe(task)) for task in grouped(self.needed, alone=self.checked))

    def _probe(self, task: Task) -> Probe:
        i, j = task.rows[-1], task.columns[0]
        last = self.b[i - 1]
        if task.kind == "half":
            halved = range(self.heads)
            return Probe("half", i, j, last, last, halved, (("u", j), ("b", i)), self.beyond(last, j))
        made_of: tuple[tuple[str, int], ...] = (("u", j), ("u", task.columns[1]), ("b", i))
        if task.kind == "shared":
            last = minus(plus(self.b[task.rows[0] - 1], last), self.b[0])
            made_of = (*made_of, ("b", task.rows[0]), ("b", 1))
        elif self.closeness:
            made_of = (*made_of, ("b", 1))
        filler = self.filler_for(last, task.columns[1])
        return Probe(task.kind, i, j, filler, last, self.copies, made_of, self.beyond(filler, j))

    def solve(
        self,
        answers: Sequence[Any],
        system: NumberSystem[Any, Any],
        progress: Callable[[int], None] | None = None,
    ) -> Solution | Further:
        """Labels by membership over exact systems, by proximity over balls."""
        from exactattn.recovery.methods.optimal import OptimalSolver

        return OptimalSolver(self, answers, system, progress).result()
