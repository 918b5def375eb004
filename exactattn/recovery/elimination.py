"""Rational interpolation over Q by elimination: slow, and the judge of what the fast way cannot settle.

It decides. For integer nodes X_m and values a_m/b_m look at all (P, Q) with deg P < H, deg Q ≤ H and
b_m P(X_m) = a_m Q(X_m). If a form Σ c_h/(X + R_h) with K ≤ H poles takes the values at N ≥ 2H nodes, all
these pairs are polynomial multiples of its numerator and denominator: for two of them, P Q' − P' Q has N
zeros and degree below N. So the pair with Q of least degree is that form, or there is no such form, and what
this pair lacks is the reason.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq, fmpq_poly, fmpz, fmpz_mat, fmpz_poly

from exactattn.exceptions import InconsistentAnswers
from exactattn.recovery.nodes import Nodes
from exactattn.recovery.partial_fractions import PartialFractions

__all__ = ["eliminate"]


def eliminate(nodes: Nodes, values: Sequence[fmpq], max_poles: int) -> PartialFractions:
    """The form with at most ``max_poles`` simple rational poles, none at a node, that takes the values at the
    N ≥ 2·max_poles nodes. Raises InconsistentAnswers, with the reason, if there is none.

    >>> nodes = Nodes.of((fmpq(1), fmpq(2), fmpq(3), fmpq(4)))
    >>> eliminate(nodes, [1 / (x * x) for x in nodes.given], 2)
    Traceback (most recent call last):
    ...
    exactattn.exceptions.InconsistentAnswers: the pole at 0 is not simple
    """
    P, Q = _least_denominator(nodes, values, max_poles)
    if P.degree() >= Q.degree() and P != 0:
        raise InconsistentAnswers(
            f"the values are not those of a sum of at most {max_poles} fractions c/(x + r): the only rational "
            "function of these degrees that could take them does not vanish at infinity"
        )
    for x, point in zip(nodes.given, nodes.points, strict=True):
        if Q(point) == 0:
            raise InconsistentAnswers(f"the node {x} would have to be a pole, so no value can be given there")
    roots = fmpq_poly(Q).roots()
    for root, multiplicity in roots:
        if multiplicity > 1:
            raise InconsistentAnswers(f"the pole at {root / nodes.scale} is not simple")
    if len(roots) < Q.degree():
        raise InconsistentAnswers(
            f"{Q.degree() - len(roots)} of the {Q.degree()} poles are not rational numbers"
        )
    slope = Q.derivative() * nodes.scale
    found = sorted((-root / nodes.scale, P(root) / slope(root)) for root, _ in roots)
    return PartialFractions(tuple(r for r, _ in found), tuple(c for _, c in found))


def _least_denominator(
    nodes: Nodes, values: Sequence[fmpq], max_poles: int
) -> tuple[fmpz_poly, fmpz_poly]:
    """The pair (P, Q) ≠ 0 with b P = a Q at all nodes, deg P < H, deg Q ≤ H, and deg Q least."""
    entries: list[fmpz] = []
    for y, powers in zip(values, nodes.powers, strict=True):
        a, b = -y.p, y.q
        entries += [b * w for w in powers[:max_poles]]
        entries += [a * w for w in powers[: max_poles + 1]]
    unknowns = 2 * max_poles + 1
    reduced, pivot, rank = fmpz_mat(len(values), unknowns, entries).rref()
    # The columns of P are independent, so the first column without a pivot is the leading one of Q.
    free = next((i for i in range(rank) if reduced[i, i] == 0), rank)
    if free == unknowns:
        raise InconsistentAnswers(f"the values need more than {max_poles} poles")
    column = [-reduced[i, free] for i in range(free)]
    return fmpz_poly(column[:max_poles]), fmpz_poly([*column[max_poles:], fmpz(pivot)])
