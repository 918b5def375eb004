"""Polynomials whose roots are powers of the roots of others (Dandelin, Lobachevsky and Graeffe), many at
once."""

from __future__ import annotations

import numpy as np

from exactattn.prime.arithmetic import Array, dot_rows, inverses, minus, reduce, times

__all__ = ["of_root_powers"]

UNREDUCED = 3


def of_root_powers(polynomials: Array, factor: int, prime: np.uint64) -> Array:
    """Monic polynomials (K+1, P) whose roots are those of the given ones to the power ``factor``.

    >>> of_root_powers(np.array([[6], [96], [1]], dtype=np.uint64), 2, np.uint64(101)).tolist()   # roots 2, 3
    [[36], [88], [1]]
    """
    if len(polynomials) <= 1:
        return polynomials
    while factor % 2 == 0:
        polynomials = _squared(polynomials, prime)
        factor //= 2
    return polynomials if factor == 1 else _by_power_sums(polynomials, factor, prime)


def _squared(polynomials: Array, prime: np.uint64) -> Array:
    """With Q(z) = E(z²) + z O(z²): ±(E(w)² − w O(w)²)."""
    degree = len(polynomials) - 1
    even, odd = (_square(np.ascontiguousarray(polynomials[s::2]), prime) for s in (0, 1))
    result = np.zeros_like(polynomials)
    result[: len(even)] = even
    shifted = result[1 : 1 + len(odd)]
    shifted[:] = minus(shifted, odd, prime)
    return result if degree % 2 == 0 else minus(np.uint64(0), result, prime)


def _square(x: Array, prime: np.uint64) -> Array:
    """The squares of polynomials, by distances of the two coefficients of a product."""
    size = len(x)
    total = np.zeros((2 * size - 1, *x.shape[1:]), dtype=np.uint64)
    for distance in range(1, size):
        total[distance : 2 * size - 1 - distance : 2] += x[:-distance] * x[distance:]
        if distance % (2 * UNREDUCED) == 0:  # products of one parity go to one coefficient
            reduce(total, prime)
    reduce(total, prime)
    total += total
    total[::2] += x * x
    return reduce(total, prime)


def _by_power_sums(polynomials: Array, factor: int, prime: np.uint64) -> Array:
    """Newton's identities, there for power sums up to K·factor and back for every factor-th of them."""
    degree, count = len(polynomials) - 1, polynomials.shape[1]
    signed = minus(np.uint64(0), polynomials[:-1], prime)  # z^K = Σ signed_i z^i
    sums = np.zeros((degree * factor, count), dtype=np.uint64)  # row k − 1 holds the k-th power sum
    for k in range(1, degree * factor + 1):
        known = min(k - 1, degree)
        total = np.zeros(count, dtype=np.uint64)
        if known:
            total = dot_rows(signed[degree - known :], sums[k - 1 - known : k - 1], prime)
        if k <= degree:
            total = reduce(signed[degree - k] * np.uint64(k) + total, prime)
        sums[k - 1] = total
    wanted = sums[factor - 1 :: factor]
    result = np.zeros_like(polynomials)
    result[degree] = 1
    inverse = inverses(np.arange(degree + 1, dtype=np.uint64), prime)
    for k in range(1, degree + 1):  # k q_{K−k} = − Σ_{i=1}^k q_{K−k+i} s_i
        total = dot_rows(result[degree - k + 1 :][:k], wanted[:k], prime)
        result[degree - k] = times(minus(np.uint64(0), total, prime), inverse[k], prime)
    return result
