"""Arithmetic of whole arrays modulo a number below 2^31, in unsigned 64-bit integers and exact float64
products.

Arrays hold residues as uint64; products of two residues, and sums of four of them, fit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "UNDEFINED",
    "Array",
    "bits",
    "dot_rows",
    "inverses",
    "minus",
    "plus",
    "power",
    "product",
    "reduce",
    "times",
    "two_products",
]

Array = NDArray[np.uint64]

UNDEFINED = np.uint64(2**64 - 1)  # in place of an answer whose denominator vanishes modulo p
MANTISSA = 53
WORD = 31
LEAST_LIMB = 8
INVERTED_TOGETHER = 2048
LAZY = 4  # so many products of residues may be added before reducing


def reduce(t: Array, modulus: np.uint64) -> Array:
    """The array modulo a number, in place. (Division by one number is vectorised, the remainder is not.)"""
    t -= (t // modulus) * modulus
    return t


def times(x: Array, y: Array | np.uint64, modulus: np.uint64) -> Array:
    """x y."""
    return reduce(x * y, modulus)


def plus(x: Array, y: Array | np.uint64, modulus: np.uint64) -> Array:
    """x + y."""
    t: Array = x + y
    np.minimum(t, t - modulus, out=t)
    return t


def minus(x: Array | np.uint64, y: Array, modulus: np.uint64) -> Array:
    """x − y."""
    t: Array = x - y
    np.minimum(t, t + modulus, out=t)
    return t


def power(x: Array, exponent: int, modulus: np.uint64) -> Array:
    """x^exponent, exponent ≥ 0."""
    result = np.ones_like(x)
    for bit in bin(exponent)[2:]:
        result = times(result, result, modulus)
        if bit == "1":
            result = times(result, x, modulus)
    return result


def inverses(x: Array, prime: np.uint64) -> Array:
    """1/x modulo a prime for every entry, and 0 for 0: three products an entry and one power a column.

    >>> inverses(np.array([2, 0, 3], dtype=np.uint64), np.uint64(7)).tolist()
    [4, 0, 5]
    """
    columns = max(1, min(INVERTED_TOGETHER, x.size // 16))
    rows = max(1, -(-x.size // columns))
    padded = np.ones(rows * columns, dtype=np.uint64)
    padded[: x.size] = x.reshape(-1)
    zero = padded == 0
    padded[zero] = 1
    table = padded.reshape(rows, columns)
    prefix = np.empty_like(table)
    prefix[0] = table[0]
    for i in range(1, rows):
        prefix[i] = times(prefix[i - 1], table[i], prime)
    running = power(prefix[-1], int(prime) - 2, prime)
    for i in range(rows - 1, 0, -1):
        prefix[i] = times(prefix[i - 1], running, prime)
        running = times(running, table[i], prime)
    prefix[0] = running
    flat = prefix.reshape(-1)
    flat[zero] = 0
    return flat[: x.size].reshape(x.shape)


def dot_rows(x: Array, y: Array, modulus: np.uint64) -> Array:
    """Σ_i x_i y_i over the first axis."""
    total = reduce(np.sum(x[:LAZY] * y[:LAZY], axis=0, dtype=np.uint64), modulus)
    for start in range(LAZY, len(x), LAZY - 1):
        part = np.sum(x[start : start + LAZY - 1] * y[start : start + LAZY - 1], axis=0, dtype=np.uint64)
        part += total
        total = reduce(part, modulus)
    return total


def bits(numbers: NDArray[np.int64] | NDArray[np.float64]) -> int:
    """The least b ≥ 1 with |x| < 2^b for every entry."""
    return max(int(numbers.max(initial=1)), -int(numbers.min(initial=-1))).bit_length()


def product(
    left: NDArray[np.generic],
    right: NDArray[np.generic],
    modulus: np.uint64,
    *,
    left_bits: int = 31,
    right_bits: int = 31,
) -> Array:
    """The matrix product modulo a number below 2^31, through float64 products none of which is rounded.

    Entries are integers with |left| < 2^left_bits and |right| < 2^right_bits; ``left`` is cut into limbs, and
    the inner dimension into pieces, so that every sum stays below 2^53.

    >>> seven = np.uint64(7)
    >>> product(np.array([[-2, 3]]), np.array([[5], [6]]), seven).tolist()
    [[1]]
    """
    inner = left.shape[1]
    room = MANTISSA - right_bits
    if room - inner.bit_length() < min(LEAST_LIMB, left_bits):
        inner = 1 << max(0, room - min(LEAST_LIMB, left_bits) - 1)
    limb = min(left_bits, room - (inner - 1).bit_length())
    total = np.zeros((left.shape[0], right.shape[1]), dtype=np.uint64)
    whole = right.astype(np.float64, copy=False)
    for start in range(0, left.shape[1], inner):
        piece, other = left[:, start : start + inner], whole[start : start + inner]
        for shift in range(0, left_bits, limb):
            part = piece if limb == left_bits else _limb(piece, shift, limb, left_bits)
            residues = _residues(part.astype(np.float64, copy=False) @ other, modulus)
            if shift:
                residues = times(residues, np.uint64(pow(2, shift, int(modulus))), modulus)
            total = plus(total, residues, modulus)
    return total


def two_products(
    left: tuple[Array, Array],
    right: NDArray[np.float64],
    moduli: tuple[np.uint64, np.uint64],
    right_bits: int,
) -> tuple[Array, Array]:
    """Products of two tables of residues with a matrix of short integers; together if nothing is rounded."""
    if WORD + right_bits + (len(right) - 1).bit_length() <= MANTISSA:
        found = np.concatenate(left).astype(np.float64) @ right
        return _residues(found[: len(left[0])], moduli[0]), _residues(found[len(left[0]) :], moduli[1])
    one, other = (product(x, right, m, right_bits=right_bits) for x, m in zip(left, moduli, strict=True))
    return one, other


def _residues(x: NDArray[np.float64], modulus: np.uint64) -> Array:
    """Integers of at most 53 bits modulo a number."""
    whole = x.astype(np.int64)
    whole += np.int64(-(-(1 << MANTISSA) // int(modulus)) * int(modulus))
    return reduce(whole.view(np.uint64), modulus)


def _limb(x: NDArray[np.generic], shift: int, limb: int, bits: int) -> NDArray[np.int64]:
    """Bits ``shift`` to ``shift + limb``; the last limb keeps the sign."""
    higher = x.astype(np.int64) >> shift
    return higher if shift + limb >= bits else higher & ((1 << limb) - 1)
