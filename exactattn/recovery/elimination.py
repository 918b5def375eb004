"""Rational interpolation over Q by elimination: slow, and the judge of what the fast way cannot settle.

It decides. For integer nodes X_m and values a_m/b_m look at all (P, Q) with deg P < H, deg Q ≤ H and
b_m P(X_m) = a_m Q(X_m). If a form Σ c_h/(X + R_h) with K ≤ H poles takes the values at N ≥ 2H nodes, all
these pairs are polynomial multiples of its numerator and denominator: for two of them, P Q' − P' Q has N
zeros and degree below N. So the pair with Q of least degree is that form, or there is no such form, and what
this pair lacks is the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from flint import fmpq, fmpz, fmpz_mat, fmpz_poly, nmod_mat

from exactattn.exceptions import InconsistentAnswers
from exactattn.recovery.nodes import Nodes
from exactattn.recovery.partial_fractions import PartialFractions

__all__ = ["eliminate"]

# Up to this number of unknowns, reduction over the integers is faster than a detour through a prime.
SHORT_REDUCTION = 11
FIRST_PRIME = 2**62


def eliminate(nodes: Nodes, values: Sequence[fmpq], max_poles: int) -> PartialFractions:
    """The form with at most ``max_poles`` simple rational poles, none at a node, that takes the values at the
    N ≥ 2·max_poles nodes. Raises InconsistentAnswers, with the reason, if there is none.

    >>> nodes = Nodes.of((fmpq(1), fmpq(2), fmpq(3), fmpq(4)))
    >>> eliminate(nodes, [1 / (x * x) for x in nodes.given], 2)
    Traceback (most recent call last):
    ...
    exactattn.exceptions.InconsistentAnswers: a pole is not simple: it has multiplicity 2
    """
    P, Q = _least_denominator(nodes, values, max_poles)
    if P.degree() >= Q.degree() and not P.is_zero():
        raise InconsistentAnswers(
            f"the only rational function with at most {max_poles} poles that could take the values does not "
            "vanish at infinity"
        )
    if not all([Q(point) for point in nodes.points]):
        raise InconsistentAnswers(_why_not_everywhere(nodes, P, Q, max_poles))
    slope = Q.derivative()
    pairs = []
    factors = Q.factor()[1]
    for factor, multiplicity in factors:
        if factor.degree() > 1:
            rational = sum(k for linear, k in factors if linear.degree() == 1)
            raise InconsistentAnswers(
                f"{Q.degree() - rational} of the {Q.degree()} poles are not rational numbers"
            )
        if multiplicity > 1:
            raise InconsistentAnswers(f"a pole is not simple: it has multiplicity {multiplicity}")
        root = fmpq(-factor[0], factor[1])
        pairs.append((-root / nodes.scale, P(root) / slope(root) / nodes.scale))
    pairs.sort()
    return PartialFractions(tuple(r for r, _ in pairs), tuple(c for _, c in pairs))


def _why_not_everywhere(nodes: Nodes, P: fmpz_poly, Q: fmpz_poly, max_poles: int) -> str:
    """Why no value, or another one, is taken at the first node where the least denominator Q vanishes."""
    node, point = next((x, X) for x, X in zip(nodes.given, nodes.points, strict=True) if Q(X) == 0)
    if (Q // Q.gcd(P))(point) == 0:
        return f"there is a pole at the node {node}, so no value can be taken there"
    return (
        f"the value at the node {node} does not fit the others: no function with at most {max_poles} poles "
        "takes them all"
    )


def _least_denominator(nodes: Nodes, values: Sequence[fmpq], max_poles: int) -> tuple[fmpz_poly, fmpz_poly]:
    """The pair (P, Q) ≠ 0 with b P = a Q at all nodes, deg P < H, deg Q ≤ H, and deg Q least."""
    entries: list[fmpz] = []
    for y, powers in zip(values, nodes.powers, strict=True):
        a, b = -y.p, y.q
        entries += [b * w for w in powers[:max_poles]]
        entries += [a * w for w in powers[: max_poles + 1]]
    matrix = fmpz_mat(len(values), 2 * max_poles + 1, entries)
    # The columns of P are independent, so the first column that depends on the earlier ones leads in Q.
    short = matrix.ncols() <= SHORT_REDUCTION
    relation = _first_relation_by_reduction(matrix) if short else _first_relation_by_prime(matrix)
    if relation is None:
        raise InconsistentAnswers(f"the values need more than {max_poles} poles")
    return fmpz_poly(relation[:max_poles]), fmpz_poly(relation[max_poles:])


def _first_relation_by_reduction(matrix: fmpz_mat) -> list[fmpz] | None:
    """Coefficients of a relation between the first columns, as few of them as possible, the last coefficient
    not 0; None if all columns are independent."""
    reduced, pivot, rank = matrix.rref()
    free = 0
    while free < rank and reduced[free, free]:
        free += 1
    if free == matrix.ncols():
        return None
    return [-reduced[i, free] for i in range(free)] + [fmpz(pivot)]


def _first_relation_by_prime(matrix: fmpz_mat) -> list[fmpz] | None:
    """The same for larger matrices: a prime shows which minor to solve, and the solution is checked.

    Columns that are independent modulo a prime are independent; too few of them are independent only modulo
    finitely many primes, and then the check fails.
    """
    table = matrix.tolist()
    for prime in filter(lambda n: fmpz(n).is_prime(), count(FIRST_PRIME)):
        pivots = _pivots(nmod_mat(matrix, prime))
        free = next((i for i, pivot in enumerate(pivots) if i != pivot), len(pivots))
        if free == matrix.ncols():
            return None
        left = fmpz_mat([row[:free] for row in table])
        right = fmpz_mat([[-row[free]] for row in table])
        rows = _pivots(nmod_mat(left, prime).transpose())
        minor = fmpz_mat([table[i][:free] for i in rows])
        solved: Any = minor.solve(fmpz_mat([[right[i, 0]] for i in rows]))  # a matrix over Q
        solution, denominator = solved.numer_denom()
        if left * solution == right * denominator:
            return [*solution.entries(), denominator]
    raise AssertionError("there are infinitely many primes")


def _pivots(matrix: nmod_mat) -> list[int]:
    """The first columns of the matrix that do not depend on earlier ones."""
    reduced, rank = matrix.rref()
    pivots: list[int] = []
    for i in range(rank):
        start = pivots[-1] + 1 if pivots else 0
        pivots.append(next(j for j in range(start, matrix.ncols()) if reduced[i, j]))
    return pivots
