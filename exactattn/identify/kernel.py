"""Kernels of small matrices of exact numbers (fmpq or nmod)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exactattn.exceptions import CertificateError

__all__ = ["kernel_basis"]


def kernel_basis(rows: Sequence[Sequence[Any]], size: int, one: Any) -> list[list[Any]]:
    """A basis of the vectors of ``size`` numbers orthogonal to all rows.

    The rank must be the most it can be, min(rows, size): then the dimension of the kernel is the same at
    almost every point, and the basis is the value of one of rational functions. Raises CertificateError if
    it is less.

    >>> from flint import fmpq
    >>> kernel_basis([[fmpq(1), fmpq(2), fmpq(0)]], 3, fmpq(1))
    [[-2, 1, 0], [0, 0, 1]]
    """
    work = [list(row) for row in rows]
    pivots: list[int] = []
    for column in range(size):
        found = next((k for k in range(len(pivots), len(work)) if work[k][column] != 0), None)
        if found is None:
            continue
        k = len(pivots)
        work[k], work[found] = work[found], work[k]
        inverse = one / work[k][column]
        work[k] = [x * inverse for x in work[k]]
        for other, row in enumerate(work):
            if other != k and row[column] != 0:
                work[other] = [x - row[column] * y for x, y in zip(row, work[k], strict=True)]
        pivots.append(column)
    if len(pivots) < min(len(rows), size):
        raise CertificateError("a projection has less than full rank at this point; use another seed")
    basis = []
    for free in (column for column in range(size) if column not in pivots):
        vector = [one - one] * size
        vector[free] = one
        for k, pivot in enumerate(pivots):
            vector[pivot] = -work[k][free]
        basis.append(vector)
    return basis
