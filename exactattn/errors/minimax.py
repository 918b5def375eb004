"""The best constant that any choice of copy ratios can reach, for one family.

Whatever ratios x in [0, ∞] are asked (0 is b alone, ∞ is a alone) and whatever estimator is used, some errors
of size ε move log r_h, to first order, by at least

    (8/|c_h|) Π_{g≠h} coth²((log r_h − log r_g)/4) ε,

if V·b, residues and poles are all unknown. Proof: T(x) = cos(4 Σ_g arctan √(r_g/x)) lies in the span of 1,
1/(x + r_g), 1/(x + r_g)², has |T| ≤ 1 for x ≥ 0 and the double-pole coefficient 8 r_h² Π coth²; it is a
direction in which answers change by at most 1. T takes the values ±1 in turn at 2H + 1 nodes, where
interpolation has weights of alternating signs, so there the constant is reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import arb

from exactattn.errors.response import Response

__all__ = ["minimax_constants", "reached_constants"]


def minimax_constants(poles: Sequence[Any], residues: Sequence[Any]) -> list[arb]:
    """The bound for every log r_h, as balls at the working precision.

    coth²((log r − log s)/4) is ((q + 1)/(q − 1))² with q = √(r/s).

    >>> from flint import fmpq
    >>> [x.str(5, radius=False) for x in minimax_constants([fmpq(1), fmpq(2)], [fmpq(1), fmpq(1)])]
    ['271.76', '271.76']
    """
    result = []
    for h, (r, c) in enumerate(zip(poles, residues, strict=True)):
        constant = 8 / abs(arb(c))
        for g, other in enumerate(poles):
            if g != h:
                q = (arb(other) / arb(r)).sqrt()
                constant *= ((q + 1) / (q - 1)) ** 2
        result.append(constant)
    return result


def reached_constants(own: Response) -> list[Any]:
    """The constant of every log r_h in a family, with V·b asked alone as one more node."""
    return [
        sum((abs(x) for x in row[1:]), abs(row[0])) + abs(constant)
        for row, constant in zip(own.log_pole, own.log_pole_constant, strict=True)
    ]
