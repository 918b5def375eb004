"""Interpolation on the log-lattice where every pole is one power of two, or a sum of two.

R_h = 2^a + 2^b may have thousands of bits, and is known from its residue modulo one word-sized prime: for
every a, R − 2^a is looked up among the powers. Residues S_h follow from linear equations with exact
poles. What is returned takes every value exactly; where this way fails, the general one is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from flint import fmpq, fmpz
from numpy.typing import NDArray

from exactattn.recovery.fractions import takes_values
from exactattn.recovery.modular_image import PRIMES, modular_image
from exactattn.recovery.nodes import prepared_nodes
from exactattn.recovery.partial_fractions import PartialFractions
from exactattn.recovery.rational import partial_fractions_over_q

__all__ = ["partial_fractions_of_powers", "sum_of_two_powers", "two_exponents", "two_to"]

Words = NDArray[np.uint64]
MAX_EXPONENT = 1 << 20
MAX_SOLVED = 8


@lru_cache(maxsize=4)
def _powers(limit: int, prime: int) -> tuple[Words, NDArray[np.int64]]:
    """2^e modulo the prime for |e| ≤ limit in ascending order, and the exponents e."""
    half = pow(2, -1, prime)
    up, down = [1], [1]
    for _ in range(limit):
        up.append(up[-1] * 2 % prime)
        down.append(down[-1] * half % prime)
    images = np.array(down[:0:-1] + up, dtype=np.uint64)
    order = np.argsort(images)
    return images[order], order - limit


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
    images, exponents = _powers(limit, prime)
    wanted = np.uint64(residue % prime)
    place = int(np.searchsorted(images, wanted))
    if place < len(images) and images[place] == wanted:
        return two_to(int(exponents[place]))
    others = np.where(images <= wanted, wanted - images, wanted - images + np.uint64(prime))
    places = np.minimum(np.searchsorted(images, others), len(images) - 1)
    (hits,) = np.nonzero(images[places] == others)
    if len(hits) == 0:
        return None
    return two_to(int(exponents[hits[0]])) + two_to(int(exponents[places[hits[0]]]))


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
    residues = _residues(nodes, values, poles)
    if not takes_values(prepared, values, poles, residues):
        return None
    return PartialFractions(tuple(poles), tuple(residues))


def _residues(nodes: Sequence[fmpq], values: Sequence[fmpq], poles: Sequence[fmpq]) -> list[fmpq]:
    """c_j with Σ_j c_j/(x + r_j) = values at the first K integral nodes, for K given poles.

    With Q = Π (x + r_j) the polynomial P = Q Σ_j c_j/(x + r_j) of degree below K is known at K nodes, and c_j
    is P/Q' at −r_j. Everything long is an integer, after scaling by the common denominator of the poles.
    """
    scale = max(r.q for r in poles)  # they are powers of two
    R = [(r * scale).p for r in poles]
    X = [(x * scale).p for x in nodes[: len(R)]]
    weighted = []
    for i, (x, y) in enumerate(zip(X, values, strict=False)):
        slope = _product([x - other for k, other in enumerate(X) if k != i])
        weighted.append(fmpq(y.p * _product([x + r for r in R]), y.q * slope))
    common = fmpz(1)
    for w in weighted:
        common = common.lcm(w.q)
    integers = [w.p * (common // w.q) for w in weighted]
    found = []
    for j, r in enumerate(R):
        whole = _product([-r - x for x in X])
        at = sum((w * (whole // (-r - x)) for w, x in zip(integers, X, strict=True)), fmpz(0))
        slope = _product([other - r for k, other in enumerate(R) if k != j])
        found.append(fmpq(at, slope * common * scale))
    return found


def _product(factors: Sequence[fmpz]) -> fmpz:
    result = fmpz(1)
    for factor in factors:
        result *= factor
    return result
