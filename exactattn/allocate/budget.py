"""Heads against dimensions under a fixed budget H · d = B of one layer (theory, section 10).

The query/key parameters 2·E·B do not depend on how the budget is split. What does: the rank min(d, E) of the
scores of one head, and how many of the parameters are identified. More heads mean more identified
parameters and a lower rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from flint import fmpq

from exactattn.exceptions import InputError

__all__ = ["BudgetPoint", "budget_line", "identified_formula", "pareto_front"]

MAX_BUDGET = 10**9


def identified_formula(width: Any, heads: Any, head_size: Any) -> sympy.Expr:
    """Identified query/key parameters of H plain heads of size d ≤ E: H·(2·E·d − d²).

    >>> E, B, d = sympy.symbols("E B d", positive=True)
    >>> sympy.expand(identified_formula(E, B / d, d))
    2*B*E - B*d
    """
    return heads * (2 * width * head_size - head_size**2)


@dataclass(frozen=True)
class BudgetPoint:
    """One way to split the budget: ``heads`` heads of size ``head_size`` in a layer of width ``width``."""

    width: int
    heads: int
    head_size: int

    @property
    def rank(self) -> int:
        """The highest rank of the score matrix of one head."""
        return min(self.head_size, self.width)

    @property
    def parameters(self) -> int:
        """Query/key parameters, 2·E·H·d."""
        return 2 * self.width * self.heads * self.head_size

    @property
    def identified(self) -> int:
        """Identified query/key parameters; a head larger than the width counts like one of the width."""
        return int(identified_formula(self.width, self.heads, self.rank))

    @property
    def share(self) -> fmpq:
        """identified / parameters."""
        return fmpq(self.identified, self.parameters)


def budget_line(width: int, budget: int) -> list[BudgetPoint]:
    """All splits H · d = budget, from one head to heads of size 1.

    >>> [(p.heads, p.head_size, p.identified) for p in budget_line(4, 4)]
    [(1, 4, 16), (2, 2, 24), (4, 1, 28)]

    Raises InputError for a width or budget that is not a positive integer of at most 10⁹.
    """
    for field, value in (("width", width), ("budget", budget)):
        if not 1 <= value <= MAX_BUDGET:
            raise InputError(f"must be from 1 to 10⁹, not {value}", field=field)
    return [BudgetPoint(width, heads, budget // heads) for heads in sympy.divisors(budget)]


def pareto_front(points: Sequence[BudgetPoint]) -> list[BudgetPoint]:
    """The points that no other point matches or exceeds in both rank and identified parameters, and exceeds
    in one.

    >>> [p.head_size for p in pareto_front(budget_line(4, 16))]     # 8 and 16 have rank 4 as well
    [4, 2, 1]
    """
    front: list[BudgetPoint] = []
    for point in sorted(points, key=lambda p: (-p.rank, -p.identified)):
        best = max((p.identified for p in front), default=-1)
        if point.identified > best or (front and point.rank == front[-1].rank and point.identified == best):
            front.append(point)
    return front
