"""Rows, columns and multiples of exact matrices, as forms are put together from them."""

from __future__ import annotations

from flint import fmpz_mat

from exactattn.checkpoint.compare_forms import joined
from exactattn.checkpoint.dyadic import Dyadic

__all__ = ["beside", "columns_scaled", "last", "times", "without_last"]


def times(x: Dyadic, factor: int) -> Dyadic:
    """The matrix times an integer."""
    return x if factor == 1 else Dyadic(x.integers * factor, x.exponent)


def columns_scaled(x: Dyadic, scales: Dyadic) -> Dyadic:
    """Column j times the j-th of the scales."""
    rows, columns = x.shape
    factors = scales.integers.entries()
    entries = [entry * factors[k % columns] for k, entry in enumerate(x.integers.entries())]
    return Dyadic(fmpz_mat(rows, columns, entries), x.exponent + scales.exponent)


def beside(x: Dyadic, column: Dyadic) -> Dyadic:
    """The matrix with one more column."""
    return joined(x.T, column.T).T


def without_last(x: Dyadic) -> Dyadic:
    """The matrix without its last column."""
    rows, columns = x.shape
    entries = [entry for row in x.integers.tolist() for entry in row[:-1]]
    return Dyadic(fmpz_mat(rows, columns - 1, entries), x.exponent)


def last(x: Dyadic) -> Dyadic:
    """The last column."""
    rows, columns = x.shape
    return Dyadic(fmpz_mat(rows, 1, [x.integers[i, columns - 1] for i in range(rows)]), x.exponent)
