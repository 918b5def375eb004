"""Sums of simple fractions as one fraction, over any ring of polynomials, and the exact test of samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import fmpq, fmpz, fmpz_poly

from exactattn.recovery.nodes import Nodes

__all__ = ["sum_of_fractions", "takes_values"]


def sum_of_fractions(terms: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
    """(P, Q) with P/Q = Σ P_h/Q_h and Q = Π Q_h, for at least one term, by a product tree."""
    level = list(terms)
    while len(level) > 1:
        odd = level[len(level) & ~1 :]
        level = [
            (p * t + q * s, q * t) for (p, q), (s, t) in zip(level[::2], level[1::2], strict=False)
        ] + odd
    return level[0]


def takes_values(
    nodes: Nodes, values: Sequence[fmpq], poles: Sequence[fmpq], residues: Sequence[fmpq]
) -> bool:
    """Whether Σ c_h/(x + r_h) is defined at every node and has exactly the given values there.

    >>> nodes = Nodes.of((fmpq(1), fmpq(2)))
    >>> takes_values(nodes, [fmpq(1, 2), fmpq(1, 3)], [fmpq(1)], [fmpq(1)])
    True
    """
    if not poles:
        return not any(values)
    common = fmpz(1)
    for c in residues:
        common = common.lcm(c.q)
    scale = nodes.scale
    P, Q = sum_of_fractions(
        [
            (fmpz_poly([c.p * (common // c.q) * r.q * scale]), fmpz_poly([r.p * scale, r.q]))
            for r, c in zip(poles, residues, strict=True)
        ]
    )
    for y, point in zip(values, nodes.points, strict=True):
        # P/(common Q) = a/b in lowest terms exactly if common Q = b s and P = a s for some s: dividing by b
        # and multiplying by a small s is cheaper than multiplying two long numbers.
        s, remainder = divmod(common * Q(point), y.q)
        if remainder != 0 or s == 0 or y.p * s != P(point):
            return False
    return True
