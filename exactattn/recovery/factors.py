"""From products to factors: one representative of all query and key (or value and output) factors.

A matrix M of rank r is A B with A of m×r and B of r×n, up to (A S^{-1}, S B) with S ∈ GL(r). The
representative has B in reduced row echelon form, and then A is the columns of M at the pivots of B: unique,
and rational when M is. B has r pivot columns of the unit matrix, so (generic pivots 1 … r) r(n − r) free
numbers, and A has m r: together r(m + n − r), the dimension of the matrices of rank r. For query and key, m =
n = d: 2dr − r². What the gauge S moves, r² numbers, is what no recovery returns (theory, section 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.numbers import Matrix, rational_vector, to_matrix

__all__ = ["Factors", "canonical_factors"]


@dataclass(frozen=True)
class Factors:
    """M = ``left`` · ``right``: left m×r, right r×n in reduced row echelon form with these ``pivots``.

    For W_h read W_Q^T = left, W_K = right; for V_h of o×d read the output factor and the value factor.
    """

    left: Matrix
    right: Matrix
    pivots: tuple[int, ...]

    @property
    def rank(self) -> int:
        """r."""
        return len(self.pivots)

    @property
    def free_numbers(self) -> int:
        """The entries that the form does not fix: all of left, and those of right that are not in a pivot
        column and not left of their row's pivot."""
        n = len(self.right[0]) if self.right else 0
        after = sum(
            sum(column > pivot and column not in self.pivots for column in range(n)) for pivot in self.pivots
        )
        return len(self.left) * self.rank + after

    def product(self) -> Matrix:
        """M."""
        if not self.pivots:
            raise InputError("the factors of a zero matrix have no product without its sizes")
        return tuple(map(tuple, (to_matrix(self.left) * to_matrix(self.right)).tolist()))


def canonical_factors(matrix: Sequence[Sequence[Any]]) -> Factors:
    """The representative of all factorisations of an exact matrix of at least one row and column.

    >>> factors = canonical_factors([[1, 2], [2, 4]])
    >>> factors.left, factors.right, factors.free_numbers
    (((1,), (2,)), ((1, 2),), 3)
    """
    rows = [rational_vector(row) for row in matrix]
    if not rows or not rows[0] or len({len(row) for row in rows}) > 1:
        raise InputError("a matrix needs at least one row and one column, and rows of one length")
    reduced, rank = to_matrix(rows).rref()
    echelon = reduced.tolist()[:rank]
    pivots = tuple(next(j for j, x in enumerate(row) if x != fmpq(0)) for row in echelon)
    left = tuple(tuple(row[p] for p in pivots) for row in rows)
    return Factors(left, tuple(map(tuple, echelon)), pivots)
