"""Interpolation on the log-lattice where every pole is one power of two, or a sum of two.

R_h = 2^a + 2^b may have thousands of bits, and is known from its residue modulo one word-sized prime: for
every a, R − 2^a is looked up in a table of powers. Residues S_h follow from linear equations with exact
poles. What is returned takes every value exactly; where this way fails, the general one is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from flint import fmpq, fmpq_mat, fmpz

from exactattn.recovery.fractions import takes_values
from exactattn.recovery.modular_image import PRIMES, modular_image
from exactattn.recovery.nodes import prepared_nodes
from exactattn.recovery.partial_fractions import PartialFractions
from exactattn.recovery.rational import partial_fractions_over_q

__all__ = ["partial_fractions_of_powers", "sum_of_two_powers", "two_exponents", "two_to"]

MAX_EXPONENT = 1 << 17
MAX_SOLVED = 8


@lru_cache(maxsize=8)
def _exponents(limit: int, prime: int) -> dict[int, int]:
    """Exponent e of each 2^e modulo the prime, |e| ≤ limit."""
    half = pow(2, -1, prime)
    table, up, down = {1: 0}, 1, 1
    for e in range(1, limit + 1):
        up, down = up * 2 % prime, down * half % prime
        table[up], table[down] = e, -e
    return table


def two_to(e: int) -> fmpq:
    """2^e.

    >>> two_to(-3)
    1/8
    """
    return fmpq(fmpz(1) << e) if e >= 0 else fmpq(1, fmpz(1) << -e)


def two_exponents(x: fmpq) -> tuple[int, int] | None:
    """The exponents e ≤ f with x = 2^e + 2^f; None if there are none.

    >>> two_exponents(fmpq(9, 2)), two_exponents(fmpq(8)), two_exponents(fmpq(7))
    ((-1, 2), (2, 2), None)
    """
    p, q = int(x.p), int(x.q)
    if p <= 0 or q & (q - 1):
        return None
    low = (p & -p).bit_length() - 1
    odd, shift = p >> low, low - (q.bit_length() - 1)
    if odd == 1:
        return shift - 1, shift - 1
    rest = odd - 1
    return (shift, shift + rest.bit_length() - 1) if rest & (rest - 1) == 0 else None


def sum_of_two_powers(residue: int, prime: int, limit: int) -> fmpq | None:
    """2^a, or 2^a + 2^b, with this residue and |a|, |b| ≤ limit; None if there is none.

    >>> prime = PRIMES[0]
    >>> sum_of_two_powers(pow(2, 30, prime) + pow(2, 4, prime), prime, 40) == 2**30 + 2**4
    True
    """
    table = _exponents(limit, prime)
    if residue in table:
        return two_to(table[residue])
    for image, a in table.items():
        b = table.get((residue - image) % prime)
        if b is not None:
            return two_to(a) + two_to(b)
    return None


def partial_fractions_of_powers(
    nodes: Sequence[fmpq], values: Sequence[fmpq], max_poles: int
) -> PartialFractions:
    """As :func:`~exactattn.recovery.rational.partial_fractions_over_q`, faster for poles of this kind.

    >>> g = partial_fractions_of_powers([fmpq(0), fmpq(1)], [fmpq(5, 6), fmpq(5, 7)], 1)
    >>> g.poles, g.residues
    ((6,), (5,))
    """
    found = _fast(nodes, values, max_poles)
    return found if found is not None else partial_fractions_over_q(nodes, values, max_poles)


def _fast(nodes: Sequence[fmpq], values: Sequence[fmpq], max_poles: int) -> PartialFractions | None:
    bits = max((y.height_bits() for y in values), default=0) + 64
    limit = min(1 << (bits - 1).bit_length(), MAX_EXPONENT)
    prepared = prepared_nodes(nodes)
    image = modular_image(prepared, values, max_poles, PRIMES[0])
    if image is None or prepared.scale != 1 or len(image.poles) > MAX_SOLVED:
        return None
    poles = []
    for residue in image.poles:
        pole = sum_of_two_powers(residue, image.prime, limit)
        if pole is None:
            return None
        poles.append(pole)
    poles.sort()
    if not poles or len(set(poles)) < len(poles):
        return None
    K = len(poles)
    matrix = fmpq_mat(K, K, [1 / (x + r) for x in nodes[:K] for r in poles])
    residues = matrix.solve(fmpq_mat(K, 1, list(values[:K]))).entries()
    if not takes_values(prepared, values, poles, residues):
        return None
    return PartialFractions(tuple(poles), tuple(residues))
