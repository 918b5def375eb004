# mypy: ignore-errors
"""Arithmetic modulo p in compiled lanes: Montgomery products with R = 2^32, every result fully reduced.

One probe is one lane, so that the compiler vectorises the innermost loops.
"""

from typing import Any

import numpy as np

try:
    from numba import njit
except ImportError:  # the modules can still be read; ``kernels(compiled=True)`` refuses to use them

    def njit(**_options):
        return lambda function: function


LANES = 128
MASK = np.uint64(0xFFFFFFFF)
WORD = np.uint64(32)
ZERO = np.uint64(0)
ONE = np.uint64(1)
compiled: Any = njit(cache=True, nogil=True, error_model="numpy")
inlined: Any = njit(inline="always", error_model="numpy")


@inlined
def multiply(a, b, p, q):
    """a b / 2^32 modulo p, with q = −1/p modulo 2^32."""
    t = a * b
    m = ((t & MASK) * q) & MASK
    u = (t + m * p) >> WORD
    return min(u, u - p)


@inlined
def multiply_add(a, b, c, d, p, q):
    """(a b + c d) / 2^32 modulo p."""
    t = a * b + c * d
    m = ((t & MASK) * q) & MASK
    u = (t + m * p) >> WORD
    return min(u, u - p)


@inlined
def add(a, b, p):
    u = a + b
    return min(u, u - p)


@inlined
def subtract(a, b, p):
    u = a - b
    return min(u, u + p)


@compiled
def invert(x, result, p, q, one):
    """1/x for every lane, by one power each; 0 for 0."""
    for lane in range(LANES):
        result[lane] = one
    exponent = p - np.uint64(2)
    for bit in range(31):
        set_bit = (exponent >> np.uint64(30 - bit)) & ONE
        for lane in range(LANES):
            square = multiply(np.uint64(result[lane]), np.uint64(result[lane]), p, q)
            other = multiply(square, np.uint64(x[lane]), p, q)
            result[lane] = other if set_bit else square


@compiled
def powers(x, exponent, bits, p, q, r2, out):
    """x^exponent for every entry."""
    base, result = np.empty(LANES, np.uint32), np.empty(LANES, np.uint32)
    one = multiply(r2, ONE, p, q)
    for start in range(0, len(x), LANES):
        size = min(LANES, len(x) - start)
        for lane in range(LANES):
            base[lane] = multiply(x[start + min(lane, size - 1)], r2, p, q)
            result[lane] = one
        for bit in range(bits):
            shift = np.uint64(bits - 1 - bit)
            set_bit = (exponent >> shift) & ONE
            for lane in range(LANES):
                result[lane] = multiply(np.uint64(result[lane]), np.uint64(result[lane]), p, q)
            if set_bit:
                for lane in range(LANES):
                    result[lane] = multiply(np.uint64(result[lane]), np.uint64(base[lane]), p, q)
        for lane in range(size):
            out[start + lane] = multiply(np.uint64(result[lane]), ONE, p, q)
