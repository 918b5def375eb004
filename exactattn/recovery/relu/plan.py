"""The published plan for attention plus a linear function of the last token.

    f(X) = Σ_h v_h·z_h(X) + v_last·x_n

The answers at b_1 … b_d alone give V + v_last, the first row of probes gives V = Σ v_h (theory, section 4),
and with v_last taken off every answer the rest is the published reconstruction: 4Hd² − 2H + d queries.

With a ``centre`` all last tokens lie near a multiple of it, and with a ``slope`` all differences near a
multiple of that: a function that is of this form only in a cone can be asked there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from flint import fmpq

from exactattn.model.query import Query
from exactattn.numbers import LogLattice, NumberSystem, Vector
from exactattn.recovery.assembly import assemble_vector
from exactattn.recovery.genericity import NonGeneric, vectors_to_replace
from exactattn.recovery.interpolation import interpolate
from exactattn.recovery.plan import PublishedPlan
from exactattn.recovery.probe import minus, plus
from exactattn.recovery.solution import Solution
from exactattn.recovery.solve import solve

__all__ = ["LastTokenPlan", "ask_and_solve", "last_block"]

MAX_REDRAWS = 40


@dataclass(frozen=True)
class LastTokenPlan(PublishedPlan):
    """The plan, with the last tokens b_i + centre and the differences u_j + slope.

    >>> from exactattn.recovery.draw import TokenRange
    >>> plan = LastTokenPlan(2, 3, seed=1, tokens=TokenRange(3, 32)).made_valid()
    >>> len(plan.queries()), plan.count      # 4·2·9 − 4 + 3
    (71, 71)
    """

    centre: Vector | None = None
    slope: Vector | None = None

    method: ClassVar[str] = "published, with a last token"

    @property
    def count(self) -> int:
        return super().count - 1 + self.dim

    @property
    def formula(self) -> str:
        return "4Hd² − 2H + d"

    @cached_property
    def b(self) -> tuple[Vector, ...]:
        """The last tokens b_1 … b_d."""
        drawn = super().b
        return drawn if self.centre is None else tuple(plus(self.centre, x) for x in drawn)

    @cached_property
    def u(self) -> tuple[Vector, ...]:
        """The differences u_1 … u_d."""
        drawn = super().u
        return drawn if self.slope is None else tuple(plus(self.slope, x) for x in drawn)

    @property
    def singles(self) -> tuple[Query, ...]:
        return tuple(Query.of([], x) for x in self.b)

    def solve(
        self,
        answers: Sequence[Any],
        system: NumberSystem[Any, Any],
        progress: Callable[[int], None] | None = None,
    ) -> Solution:
        """The heads; see :func:`exactattn.recovery.solve.solve`."""
        linear = self.at_last(answers, system)
        shifted = [
            answer - sum((x * y for x, y in zip(linear, query.last, strict=True)), system.value(fmpq(0)))
            for query, answer in zip(self.queries(), answers, strict=True)
        ]
        return solve(self, shifted, system, progress)

    def at_last(self, answers: Sequence[Any], system: NumberSystem[Any, Any]) -> tuple[Any, ...]:
        """v_last, from the answers."""
        samples = self.samples(answers)
        nodes = [fmpq(m) for m in self.copies]
        sums = []
        for probe in self.probes[: self.dim]:
            values = [(answers[0] - f) / m for m, f in zip(nodes, samples[probe], strict=True)]
            sums.append(system.sum(interpolate(nodes, values, self.heads, system).residues))
        total = assemble_vector(self.u, sums, system)
        return minus(assemble_vector(self.b, list(answers[: self.dim]), system), total)


def ask_and_solve(
    plan: PublishedPlan, ask: Callable[[Sequence[Query]], list[fmpq]], system: LogLattice
) -> tuple[PublishedPlan, list[fmpq], Solution]:
    """The plan that could be solved (vectors that are not generic are drawn again), its answers, the heads.

    Raises InconsistentAnswers if the answers are not of the plan's form, NonGeneric after many redraws.
    """
    for attempt in range(MAX_REDRAWS + 1):
        answers = ask(plan.queries())
        try:
            return plan, answers, plan.solve(answers, system)
        except NonGeneric as reason:
            if attempt == MAX_REDRAWS:
                raise
            failed = [probe for probe, _ in reason.failures]
            plan = plan.redrawn(set(reason.vectors) or vectors_to_replace(plan, failed))
    raise AssertionError("the loop returns or raises")


def last_block(plan: PublishedPlan, answers: Sequence[fmpq], system: LogLattice) -> Vector | None:
    """v_last of a solved plan; None for a plan without it."""
    return plan.at_last(answers, system) if isinstance(plan, LastTokenPlan) else None
