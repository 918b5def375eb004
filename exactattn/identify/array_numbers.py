"""Arrays of exact numbers: residues modulo a prime below 2³¹ in int64, or rationals and balls as objects.

One small interface, so that a layer is evaluated and differentiated by the same code in every number system.
"""

from __future__ import annotations

from typing import Any, Protocol

import flint
import numpy as np
from flint import arb, fmpq

from exactattn.exceptions import InputError
from exactattn.identify.parameters import Array

__all__ = ["ArrayNumbers", "BallArrays", "FloatArrays", "NoRoot", "RationalArrays", "ResidueArrays"]

LIMB = 16


class NoRoot(ArithmeticError):
    """A number under a root has none in this number system."""


class ArrayNumbers(Protocol):
    """What evaluation needs of arrays of numbers."""

    def constant(self, x: fmpq) -> Any:
        """A rational as one number."""

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """An array of zeros."""

    def add(self, a: Array, b: Array) -> Array:
        """Sums, shapes broadcast."""

    def multiply(self, a: Array, b: Any) -> Array:
        """Products of entries, shapes broadcast."""

    def total(self, a: Array, axes: tuple[int, ...]) -> Array:
        """Sums over axes."""

    def contract(self, subscripts: str, a: Array, b: Array) -> Array:
        """Einstein summation of two arrays."""

    def inverse(self, a: Array) -> Array:
        """1/x of each entry."""

    def root(self, a: Array) -> Array:
        """A square root of each entry."""

    def is_square(self, a: Array) -> Array:
        """Whether each entry has a root in this number system."""


class ResidueArrays:
    """Integers modulo a prime p ≡ 3 mod 4 below 2³¹.

    ``lenient`` numbers give some value for a root that does not exist: for searching, never for proving.
    Sums of products are exact: one factor is cut in two limbs of 16 bits, and so is the other, so that sums
    of up to 2²¹ products of limbs are below 2⁵³ and float64 holds them exactly.

    >>> numbers = ResidueArrays(2147483579)
    >>> a = np.array([[2147483578, 1], [5, 7]])
    >>> numbers.contract("ij,jk->ik", a, a).tolist()
    [[6, 6], [30, 54]]
    """

    def __init__(self, prime: int, *, lenient: bool = False) -> None:
        if not 2 < prime < 2**31 or prime % 4 != 3 or not flint.fmpz(prime).is_prime():
            raise InputError(f"{prime} is not a prime below 2^31 that is 3 modulo 4", field="prime")
        self.prime, self.lenient = prime, lenient

    def constant(self, x: fmpq) -> int:
        """p/q modulo the prime."""
        return int(x.p) * pow(int(x.q), -1, self.prime) % self.prime

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """An array of zeros."""
        return np.zeros(shape, dtype=np.int64)

    def add(self, a: Array, b: Array) -> Array:
        """Sums, shapes broadcast."""
        return np.asarray((a + b) % self.prime)

    def multiply(self, a: Array, b: Any) -> Array:
        """Products of entries, shapes broadcast."""
        return np.asarray(a * b % self.prime)

    def total(self, a: Array, axes: tuple[int, ...]) -> Array:
        """Sums over axes of less than 2³² entries."""
        return np.asarray(a.sum(axis=axes) % self.prime) if axes else a

    def contract(self, subscripts: str, a: Array, b: Array) -> Array:
        """Einstein summation of two arrays, over less than 2²¹ terms."""
        (a_low, a_high), (b_low, b_high) = self._limbs(a), self._limbs(b)
        high = self._einsum(subscripts, a_high, b_high)
        middle = (
            self._einsum(subscripts, a_high, b_low) + self._einsum(subscripts, a_low, b_high)
        ) % self.prime
        low = self._einsum(subscripts, a_low, b_low)
        shift = 1 << LIMB
        return np.asarray((((high * shift + middle) % self.prime) * shift + low) % self.prime)

    @staticmethod
    def _limbs(a: Array) -> tuple[Array, Array]:
        return (a & ((1 << LIMB) - 1)).astype(np.float64), (a >> LIMB).astype(np.float64)

    def _einsum(self, subscripts: str, a: Array, b: Array) -> Array:
        return np.asarray(np.einsum(subscripts, a, b, optimize=True).astype(np.int64) % self.prime)

    def power(self, a: Array, exponent: int | Array) -> Array:
        """aᵉ of each entry, for exponents below 2³¹."""
        exponents = np.broadcast_to(np.asarray(exponent, dtype=np.int64), a.shape)
        result = np.ones_like(a)
        square = a
        for bit in range(int(exponents.max(initial=0)).bit_length()):
            result = np.where((exponents >> bit) & 1 == 1, result * square % self.prime, result)
            square = square * square % self.prime
        return result

    def inverse(self, a: Array) -> Array:
        """1/x of each entry. Raises ZeroDivisionError for 0: the point is not one of the function's."""
        if not a.all():
            raise ZeroDivisionError("a denominator vanishes modulo the prime")
        return self.power(a, self.prime - 2)

    def root(self, a: Array) -> Array:
        """x^((p+1)/4), a square root; raises NoRoot where there is none, unless the numbers are lenient."""
        if not self.lenient and not self.is_square(a).all():
            raise NoRoot("a norm has no root modulo the prime")
        return self.power(a, (self.prime + 1) // 4)

    def is_square(self, a: Array) -> Array:
        """Whether entries are squares other than 0."""
        return np.asarray(self.power(a, (self.prime - 1) // 2) == 1)


class _Objects:
    """Arrays of python-flint numbers."""

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """An array of zeros."""
        return np.full(shape, self.constant(fmpq(0)), dtype=object)

    def constant(self, x: fmpq) -> Any:
        """A rational as one number."""
        return x

    def add(self, a: Array, b: Array) -> Array:
        """Sums, shapes broadcast."""
        return np.asarray(a + b, dtype=object)

    def multiply(self, a: Array, b: Any) -> Array:
        """Products of entries, shapes broadcast."""
        return np.asarray(a * b, dtype=object)

    def total(self, a: Array, axes: tuple[int, ...]) -> Array:
        """Sums over axes."""
        for axis in sorted(axes, reverse=True):
            a = a.sum(axis=axis)
        return np.asarray(a, dtype=object)

    def contract(self, subscripts: str, a: Array, b: Array) -> Array:
        """Einstein summation of two arrays."""
        return np.asarray(np.einsum(subscripts, a, b), dtype=object)

    def inverse(self, a: Array) -> Array:
        """1/x of each entry. Raises ZeroDivisionError for a rational 0."""
        return np.asarray(1 / a, dtype=object)


class RationalArrays(_Objects):
    """Arrays of fmpq; roots exist of squares only."""

    def is_square(self, a: Array) -> Array:
        """Whether entries are squares of rationals."""
        return np.array(
            [x >= 0 and flint.fmpz(x.p).is_square() and flint.fmpz(x.q).is_square() for x in a.flat]
        )

    def root(self, a: Array) -> Array:
        """The root of each entry. Raises InputError where there is none."""
        if not self.is_square(a).all():
            raise NoRoot("a norm is not rational at this point")
        roots = [fmpq(x.p.isqrt(), x.q.isqrt()) for x in a.flat]
        return np.array(roots, dtype=object).reshape(a.shape)


class BallArrays(_Objects):
    """Arrays of arb, at the precision of the context of python-flint."""

    def constant(self, x: fmpq) -> arb:
        """The ball around a rational."""
        return arb(x)

    def is_square(self, a: Array) -> Array:
        """Whether entries are certainly positive."""
        return np.array([bool(x > 0) for x in a.flat]).reshape(a.shape)

    def root(self, a: Array) -> Array:
        """The positive root of each entry."""
        return np.array([x.sqrt() for x in a.flat], dtype=object).reshape(a.shape)


class FloatArrays:
    """Arrays of float64: for looking around, never for deciding."""

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """An array of zeros."""
        return np.zeros(shape)

    def constant(self, x: fmpq) -> float:
        """The nearest float."""
        return int(x.p) / int(x.q)

    def add(self, a: Array, b: Array) -> Array:
        """Sums, shapes broadcast."""
        return np.asarray(a + b)

    def multiply(self, a: Array, b: Any) -> Array:
        """Products of entries, shapes broadcast."""
        return np.asarray(a * b)

    def total(self, a: Array, axes: tuple[int, ...]) -> Array:
        """Sums over axes."""
        return np.asarray(a.sum(axis=axes)) if axes else a

    def contract(self, subscripts: str, a: Array, b: Array) -> Array:
        """Einstein summation of two arrays."""
        return np.asarray(np.einsum(subscripts, a, b, optimize=True))

    def inverse(self, a: Array) -> Array:
        """1/x of each entry."""
        return np.asarray(1 / a)

    def root(self, a: Array) -> Array:
        """The root of each entry."""
        return np.sqrt(a)

    def is_square(self, a: Array) -> Array:
        """Whether entries are not negative."""
        return np.asarray(a >= 0)
