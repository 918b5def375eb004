"""Discrete logarithms of many elements at once, in a group of smooth order (Pohlig and Hellman)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from exactattn.prime.arithmetic import Array, minus, reduce, times
from exactattn.prime.field import PrimeField

__all__ = ["logarithms"]

LARGEST_TABLE = 512


@dataclass(frozen=True, eq=False)
class _Step:
    """The exponents of the powers of an element of order ``size``, at the places power mod ``width``, which
    are different."""

    size: int
    width: np.uint64
    exponents: NDArray[np.uint16]


@lru_cache(maxsize=32)
def _steps(field: PrimeField, order: int) -> tuple[_Step, ...]:
    """Steps whose sizes multiply to the order of a subgroup."""
    sizes, rest = [1], order
    for q, _ in field.scalar.factors:
        while rest % q == 0:
            rest //= q
            if sizes[-1] * q > LARGEST_TABLE:
                sizes.append(1)
            sizes[-1] *= q
    return tuple(_step(field, size) for size in sizes)


def _step(field: PrimeField, size: int) -> _Step:
    powers = field.roots_of_unity(size)
    width = max(1, size * size // 4)
    while len(np.unique(powers % np.uint64(width))) < size:
        width += 1
    table = np.zeros(width, dtype=np.uint16)
    table[powers % np.uint64(width)] = np.arange(size)
    return _Step(size, np.uint64(width), table)


def logarithms(x: Array, field: PrimeField, scale: int = 1) -> tuple[Array, NDArray[np.bool_]]:
    """Exponents e with g^e = x, multiples of ``scale``, and which entries have none because they are 0; their
       e is
    0. Entries must be in the subgroup of order (p − 1)/scale, else their e means nothing.

    Digits in mixed base s_1, s_2, …, with (p − 1)/scale = s_1 s_2 ⋯: the power (p − 1)/(scale s_1) of x shows
    the first digit, and so on with what is left.

    >>> logarithms(np.array([31, 0, 1], dtype=np.uint64), PrimeField())[0].tolist()
    [1, 0, 0]
    """
    p, n = field.p, field.n
    zero = x == 0
    rest = np.where(zero, np.uint64(1), x)
    found = np.zeros_like(x)
    weight, left = scale, field.order // scale
    for step in _steps(field, left):
        left //= step.size
        image = field.kernels.powers(rest, left, field)
        digits = step.exponents[reduce(image, step.width)] * np.uint64(weight)
        found += digits
        if left > 1:
            rest = times(rest, field.exp(minus(np.uint64(0), digits, n)), p)
        weight *= step.size
    return found, zero
