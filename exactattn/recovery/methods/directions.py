"""Directions of later rows, chosen once every v_h is known: on the log-lattice no label is then ambiguous.

In a later probe with directions p and q every head has a pole R = 2^e + 2^f and a residue S = 2^e A + 2^f B,
where (A, B) is (v·p, v·q), or (v·q, v·p) if e and f are exchanged. Two such pairs (A, B) and (A', B') can
give one residue only if (A' − A)/(B − B') is a power of two, and a residue vanishes only if −A/B is one. That
is known beforehand, and then another direction is drawn. What a head had in common with another in earlier
probes does not matter, nor what W_h is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, TypeVar

from flint import fmpq

from exactattn.recovery.methods.staged_plan import StagedPlan

__all__ = ["chosen_directions", "separates", "separates_alone"]

P = TypeVar("P", bound=StagedPlan)
MAX_DRAWS = 400


def _ratio_is_power(x: fmpq, y: fmpq) -> bool:
    """Whether 2^e x + 2^f y = 0 for some e and f."""
    if x == 0 or y == 0:
        return bool(x == y)
    q = -x / y
    p, r = int(q.p), int(q.q)
    return p > 0 and p & (p - 1) == 0 and r & (r - 1) == 0


def separates(alpha: Sequence[fmpq], beta: Sequence[fmpq]) -> bool:
    """Whether heads with these v_h·p and v_h·q never show residue 0, nor that of another head at its pole.

    >>> separates([fmpq(3), fmpq(5)], [fmpq(-7), fmpq(4)])
    True
    >>> separates([fmpq(3), fmpq(5)], [fmpq(-6), fmpq(4)])      # 2·3 − 6 = 0
    False
    """
    heads = list(zip(alpha, beta, strict=True))
    if any(a == b or _ratio_is_power(a, b) for a, b in heads):
        return False
    return not any(
        _ratio_is_power(a - c, b - d) or _ratio_is_power(a - d, b - c)
        for (a, b), (c, d) in combinations(heads, 2)
    )


def separates_alone(alpha: Sequence[fmpq]) -> bool:
    """The same for probes with one unknown a head: no v_h·u is 0 or that of another head.

    >>> separates_alone([fmpq(3), fmpq(5)]), separates_alone([fmpq(3), fmpq(3)])
    (True, False)
    """
    different = {(int(a.p), int(a.q)) for a in alpha}
    return len(different) == len(alpha) and (0, 1) not in different


def chosen_directions(plan: P, rows: Sequence[Sequence[Any]], vs: Sequence[Sequence[Any]]) -> P:
    """The plan with directions drawn again until they separate heads with these rows b_1^T W_h and v_h; at a
    lower rank u_1 must also be seen in the first row.

    Directions that cannot be mended after many draws stay as they are.
    """
    pairs, alone = plan.column_pairs, plan.single_columns
    for j in range(1, plan.dim + 1):
        earlier = [k for k in range(1, j) if (k, j) in pairs or (j, k) in pairs]
        for _ in range(MAX_DRAWS):
            along = [[_dot(v, u) for v in vs] for u in plan.u]
            fits = (j not in alone or separates_alone(along[j - 1])) and all(
                separates(along[k - 1], along[j - 1]) for k in earlier
            )
            if fits and (j > 1 or plan.full_rank == plan.dim or _seen(rows, plan.u[0])):
                break
            plan = plan.redrawn({("u", j)})
    return plan


def _seen(rows: Sequence[Sequence[Any]], direction: Sequence[Any]) -> bool:
    return all(_dot(row, direction) != 0 or not any(row) for row in rows)


def _dot(x: Sequence[Any], y: Sequence[Any]) -> Any:
    return sum((a * b for a, b in zip(x, y, strict=True)), fmpq(0))
