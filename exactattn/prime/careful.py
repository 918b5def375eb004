"""One probe at a time, through python-flint: for probes that the array code cannot finish.

Rational functions by the extended Euclidean algorithm, with no regularity assumed, and a check at every node.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import nmod, nmod_poly

from exactattn.numbers.smooth_primes import SmoothPrime

__all__ = ["Poles", "careful_interpolation"]

Poles = list[tuple[int, int]]
"""Pairs (exponent e_h, residue c_h)."""


def careful_interpolation(field: SmoothPrime, copies: Sequence[int], values: Sequence[int]) -> Poles | None:
    """All (e_h, c_h) with Σ_h c_h/(m + g^{e_h}) = value at every m, at most half as many as nodes, or None if
    there is no such function with distinct poles.

    >>> field = SmoothPrime(2013265921)
    >>> values = [5 * pow(m + 31, -1, field.prime) for m in (1, 2)]
    >>> careful_interpolation(field, [1, 2], values)    # 31 is the generator
    [(1, 5)]
    """
    p = field.prime  # SmoothPrime has checked that it is prime, on which python-flint relies
    vanishing = nmod_poly([1], p)
    for m in copies:
        vanishing *= nmod_poly([-m % p, 1], p)
    slope, interpolant = vanishing.derivative(), nmod_poly([0], p)
    for m, value in zip(copies, values, strict=True):
        interpolant += vanishing // nmod_poly([-m % p, 1], p) * (nmod(value, p) / slope(m))
    numerator, denominator = _short_fraction(vanishing, interpolant, len(copies) // 2)
    for m, value in zip(copies, values, strict=True):
        if not int(denominator(m)) or numerator(m) != denominator(m) * value:
            return None
    if numerator.degree() >= max(1, denominator.degree()):
        return None
    roots = [root for root, multiplicity in denominator.roots() if multiplicity == 1]
    if len(roots) != denominator.degree() or not all(int(root) for root in roots):
        return None
    change = denominator.derivative()
    return sorted((field.log(int(-x)), int(numerator(x) / change(x))) for x in roots)


def _short_fraction(modulus: nmod_poly, residue: nmod_poly, bound: int) -> tuple[nmod_poly, nmod_poly]:
    """Coprime N and D with N ≡ residue·D modulo the polynomial, N of degree below the bound."""
    p = modulus.modulus()
    high, low = modulus, residue
    before, factor = nmod_poly([0], p), nmod_poly([1], p)
    while low.degree() >= bound:
        quotient, rest = divmod(high, low)
        high, low = low, rest
        before, factor = factor, before - quotient * factor
    common = low.gcd(factor)
    return low // common, factor // common
