"""Discrete logarithms of many elements at once, in a group of smooth order (Pohlig and Hellman)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from exactattn.prime.arithmetic import Array, power, times
from exactattn.prime.field import PrimeField

__all__ = ["logarithms"]

LARGEST_TABLE = 1024


@dataclass(frozen=True, eq=False)
class _Step:
    """The powers of an element of order ``size``, sorted, and their exponents."""

    size: int
    powers: Array
    exponents: Array


@lru_cache(maxsize=16)
def _steps(field: PrimeField) -> tuple[_Step, ...]:
    """Steps whose sizes multiply to p − 1."""
    sizes = [1]
    for q, a in field.scalar.factors:
        for _ in range(a):
            if sizes[-1] * q > LARGEST_TABLE:
                sizes.append(1)
            sizes[-1] *= q
    steps = []
    for size in sizes:
        powers = field.roots_of_unity(size)
        order = np.argsort(powers)
        steps.append(_Step(size, powers[order], order.astype(np.uint64)))
    return tuple(steps)


def logarithms(x: Array, field: PrimeField) -> tuple[Array, NDArray[np.bool_]]:
    """Exponents e with g^e = x, and which entries have none because they are 0; their e is 0.

    Digits in mixed base s_1, s_2, …, with p − 1 = s_1 s_2 ⋯: the power (p − 1)/s_1 of x shows the first
    digit, and so on with what is left.

    >>> logarithms(np.array([31, 0, 1], dtype=np.uint64), PrimeField())[0].tolist()
    [1, 0, 0]
    """
    p = field.p
    zero = x == 0
    rest = np.where(zero, np.uint64(1), x)
    found = np.zeros_like(x)
    weight = 1
    for step in _steps(field):
        image = power(rest, field.order // (weight * step.size), p)
        digits = step.exponents[np.searchsorted(step.powers, image)]
        digits *= np.uint64(weight)
        found += digits
        rest = times(rest, field.exp((field.n - digits) % field.n), p)
        weight *= step.size
    return found, zero
