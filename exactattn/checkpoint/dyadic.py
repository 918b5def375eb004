"""Matrices of dyadic rationals: integers times one power of 2, exact for every binary float."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq, fmpz_mat
from numpy.typing import NDArray

__all__ = ["Dyadic", "power_of_two"]

Array = NDArray[Any]
FLOAT_BITS = 53


@dataclass(frozen=True)
class Dyadic:
    """The matrix ``integers`` · 2^``exponent``.

    >>> half = Dyadic.of(np.array([[0.5, 3.0]]))
    >>> half.integers.tolist(), half.exponent
    ([[1, 6]], -1)
    >>> (half @ half.T).frobenius_squared()
    1369/16
    """

    integers: fmpz_mat
    exponent: int

    @classmethod
    def of(cls, array: Array) -> Dyadic:
        """The exact value of a matrix of floats (float64, float32 or float16); a vector is one column."""
        x = np.asarray(array, dtype=np.float64)
        x = x.reshape(-1, 1) if x.ndim == 1 else x
        rows, columns = x.shape
        fractions, powers = np.frexp(x)
        mantissas = np.ldexp(fractions, FLOAT_BITS).astype(np.int64)
        filled = mantissas != 0
        if not filled.any():
            return cls(fmpz_mat(rows, columns), 0)
        lowest = mantissas & -mantissas
        zeros = np.where(filled, np.frexp(lowest.astype(np.float64))[1] - 1, 0)
        mantissas >>= zeros
        exponents = powers.astype(np.int64) - FLOAT_BITS + zeros
        exponent = int(exponents[filled].min())
        shifts = np.where(filled, exponents - exponent, 0)
        if int(powers[filled].max()) - exponent < 63:
            entries = (mantissas << shifts).ravel().tolist()
        else:
            entries = [
                m << s for m, s in zip(mantissas.ravel().tolist(), shifts.ravel().tolist(), strict=True)
            ]
        return cls(fmpz_mat(rows, columns, entries), exponent)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.integers.nrows(), self.integers.ncols()

    @property
    def T(self) -> Dyadic:
        """The transposed matrix."""
        return Dyadic(self.integers.transpose(), self.exponent)

    def __matmul__(self, other: Dyadic) -> Dyadic:
        return Dyadic(self.integers * other.integers, self.exponent + other.exponent)

    def __add__(self, other: Dyadic) -> Dyadic:
        exponent = min(self.exponent, other.exponent)
        a, b = (x.integers * (1 << (x.exponent - exponent)) for x in (self, other))
        return Dyadic(a + b, exponent)

    def __neg__(self) -> Dyadic:
        return Dyadic(-self.integers, self.exponent)

    def __sub__(self, other: Dyadic) -> Dyadic:
        return self + (-other)

    def scaled_columns(self, factors: Dyadic) -> Dyadic:
        """Each column times the entry of a vector (one column).

        >>> Dyadic.of(np.eye(2)).scaled_columns(Dyadic.of(np.array([0.5, 3.0]))).integers.tolist()
        [[1, 0], [0, 6]]
        """
        row = factors.integers.entries()
        entries = [x * f for each in self.integers.tolist() for x, f in zip(each, row, strict=True)]
        return Dyadic(fmpz_mat(*self.shape, entries), self.exponent + factors.exponent)

    def beside(self, other: Dyadic) -> Dyadic:
        """(this | other)."""
        exponent = min(self.exponent, other.exponent)
        a, b = ((x.integers * (1 << (x.exponent - exponent))).tolist() for x in (self, other))
        return Dyadic(fmpz_mat([[*left, *right] for left, right in zip(a, b, strict=True)]), exponent)

    def above(self, other: Dyadic) -> Dyadic:
        """This, and the other below it."""
        return self.T.beside(other.T).T

    def columns(self, start: int, stop: int) -> Dyadic:
        """Some of the columns."""
        rows = self.integers.tolist()
        return Dyadic(fmpz_mat([row[start:stop] for row in rows]), self.exponent)

    def rows(self, start: int, stop: int) -> Dyadic:
        """Some of the rows."""
        return Dyadic(fmpz_mat(self.integers.tolist()[start:stop]), self.exponent)

    def entry(self, row: int, column: int) -> fmpq:
        """One entry."""
        return fmpq(self.integers[row, column]) * power_of_two(self.exponent)

    def inner(self, other: Dyadic) -> fmpq:
        """The sum of products of entries, for matrices of one shape."""
        total = sum(
            (a * b for a, b in zip(self.integers.entries(), other.integers.entries(), strict=True)), start=0
        )
        return fmpq(total) * power_of_two(self.exponent + other.exponent)

    def frobenius_squared(self) -> fmpq:
        """The sum of squares of the entries."""
        return self.inner(self)


def power_of_two(exponent: int) -> fmpq:
    """2^exponent, exact.

    >>> power_of_two(-3)
    1/8
    """
    return fmpq(1 << exponent) if exponent >= 0 else fmpq(1, 1 << -exponent)
