"""Rational interpolation modulo a word-sized prime.

The moments of theory, section 3, make Prony's problem modulo the prime: minimal recurrence, its roots, and
the residues from its numerator. For a *good* prime (it divides no denominator of a value and no difference
of nodes) an image also refutes. Suppose a form with K ≤ H poles takes the values at N ≥ 2H nodes, and write
it as P/Q with primitive integer polynomials. Modulo the prime, (P, Q) is a multiple of the minimal pair
(P*, Q*) that the image finds, provided its degree L satisfies 2L ≤ N, by the degree count of
:mod:`exactattn.recovery.elimination`. So L ≤ K, and Q* splits into linear factors because Q does. An image
with L > H, or with Q* not split, proves that there is no such form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from flint import fmpq, fmpz_mod_poly_ctx, nmod, nmod_mat, nmod_poly

from exactattn.exceptions import InconsistentAnswers
from exactattn.recovery.nodes import Nodes

__all__ = ["PRIMES", "ModularImage", "modular_image"]

# p − 1 has small prime factors only, so discrete logarithms are cheap; modulo 8 the primes are 3, 5, 7, 5, so
# that no square root of −1, 2 or −2 is rational for all of them.
_SMOOTH = prod((2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43))
PRIMES = tuple(k * _SMOOTH + 1 for k in (575, 494, 305, 414))


@dataclass(frozen=True)
class ModularImage:
    """Poles R_h = D r_h and residues D c_h modulo ``prime``, for nodes scaled by D."""

    prime: int
    poles: tuple[int, ...]
    residues: tuple[int, ...]


def modular_image(nodes: Nodes, values: Sequence[fmpq], max_poles: int, prime: int) -> ModularImage | None:
    """The image of the form that takes the values, or None if the prime is unlucky.

    Raises InconsistentAnswers if the image proves that no form with at most ``max_poles`` simple rational
    poles takes the values.

    >>> image = modular_image(Nodes.of((fmpq(1), fmpq(2))), [fmpq(3, 8), fmpq(1, 3)], 1, PRIMES[0])
    >>> image.poles, image.residues
    ((7,), (3,))
    """
    maps = nodes.moment_map(prime)
    if maps is None or any(y.q % prime == 0 for y in values):
        return None
    moment_map, vanishing = maps
    column = nmod_mat(len(values), 1, [nmod(y, prime) for y in values], prime)
    mu = [int(m) for m in (moment_map * column).entries()]
    recurrence = fmpz_mod_poly_ctx(prime).minpoly(mu) if mu else None
    order = 0 if recurrence is None else recurrence.degree()
    if 2 * order > len(values):
        return None
    if order > max_poles:
        raise InconsistentAnswers(f"the values need more than {max_poles} poles")
    if recurrence is None or order == 0:
        return ModularImage(prime, (), ())
    Q = nmod_poly([int(c) for c in recurrence.coeffs()], prime)
    roots = Q.roots()
    if sum(multiplicity for _, multiplicity in roots) < order:
        raise InconsistentAnswers(
            f"the only rational function with at most {max_poles} poles that could take the values has poles "
            "that are not rational numbers"
        )
    numerator = (Q * nmod_poly(mu[order - 1 :: -1], prime)).right_shift(order)
    slope = Q.derivative()
    poles, residues = [], []
    for z, multiplicity in roots:
        residue = -vanishing(z) * numerator(z) / slope(z) if multiplicity == 1 else nmod(0, prime)
        if not residue:  # modulo the prime, a pole at a node or a repeated one
            return None
        poles.append(int(-z))
        residues.append(int(residue))
    return ModularImage(prime, tuple(poles), tuple(residues))
