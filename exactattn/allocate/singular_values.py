"""Certified singular values of a product s·AᵀB with few rows in A and B, as query/key matrices are.

NumPy proposes UΣVᵀ in floats. Its numbers are dyadic rationals, so two things can be enclosed by balls: how
far UᵀU and VᵀV are from the identity, and the Frobenius norm ρ of s·AᵀB − UΣVᵀ, both through products of
size D×D only. With δ_U = ‖UᵀU − 1‖ and δ_V, the singular values of UΣVᵀ are those of Σ up to the factors
√((1 ± δ_U)(1 ± δ_V)) (Ostrowski), and those of s·AᵀB differ from them by at most ρ (Weyl).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx, fmpq
from numpy.typing import NDArray

__all__ = ["PRECISION", "SingularValues", "singular_values", "to_balls"]

PRECISION = 192

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SingularValues:
    """s·AᵀB ≈ U diag(σ) Vᵀ with floats (U: m×D, V: n×D), and balls that contain the true singular values.

    ``values[i]`` encloses the (i+1)-th largest one; all beyond the first D are 0.
    """

    values: tuple[arb, ...]
    left: Floats
    proposed: Floats
    right: Floats

    def tail(self, rank: int) -> arb:
        """An upper bound on ‖s·AᵀB − U_r diag(σ_r) V_rᵀ‖ for the first r columns. No matrix of rank r is
        closer than the lower end of values[r] (Eckart and Young)."""
        return self.values[rank].upper() if rank < len(self.values) else arb(0)

    def truncated(self, rank: int) -> tuple[Floats, Floats, Floats]:
        """U_r, σ_r and V_r: exact dyadic rationals that define the matrix of rank r."""
        return self.left[:, :rank], self.proposed[:rank], self.right[:, :rank]


def singular_values(A: arb_mat, B: arb_mat, scale_squared: fmpq) -> SingularValues:
    """Certified singular values of s·AᵀB for A of shape D×m, B of shape D×n and s² = scale_squared > 0.

    Entries of A and B that are not exact should be known to about PRECISION bits.

    >>> found = singular_values(arb_mat([[3, 0], [0, 1]]), arb_mat([[1, 0], [0, 2]]), fmpq(1))
    >>> [x.contains(y) for x, y in zip(found.values, (3, 2))], found.tail(1) < 2.001
    ([True, True], True)
    """
    with ctx.workprec(PRECISION):
        scale = arb(scale_squared).sqrt()
        U, sigma, V = _proposal(_midpoints(A), _midpoints(B), float(scale))
        left, right = to_balls(U), to_balls(V)
        middle = to_balls(np.diag(sigma))
        grams = left.transpose() * left, right.transpose() * right
        inner = (A * left) * middle * (B * right).transpose()
        square = (
            scale * scale * _inner_product(A * A.transpose(), B * B.transpose())
            - 2 * scale * _trace(inner)
            + _inner_product(middle * grams[0] * middle, grams[1])
        )
        residual = _root(square)
        low, high = arb(1), arb(1)
        for gram in grams:
            defect = _frobenius(gram - arb_mat(_identity(len(sigma))))
            low, high = low * _root(1 - defect, upper=False), high * _root(1 + defect)
        return SingularValues(
            tuple(_enclosure(arb(float(s)), low, high, residual) for s in sigma), U, sigma, V
        )


def to_balls(array: NDArray[Any]) -> arb_mat:
    """A two-dimensional array of floats (float64 or shorter) as a matrix of exact balls."""
    return arb_mat(array.shape[0], array.shape[1], [float(x) for x in array.reshape(-1).tolist()])


def _proposal(A: Floats, B: Floats, scale: float) -> tuple[Floats, Floats, Floats]:
    """A float singular value decomposition of scale · AᵀB through two QR decompositions."""
    left, R = np.linalg.qr(A.T)
    right, S = np.linalg.qr(B.T)
    inner, sigma, outer = np.linalg.svd(scale * (R @ S.T), full_matrices=False)
    return left @ inner, sigma, right @ outer.T


def _midpoints(matrix: arb_mat) -> Floats:
    return np.array([[float(x) for x in row] for row in matrix.tolist()], dtype=np.float64)


def _identity(size: int) -> list[list[int]]:
    return [[int(i == j) for j in range(size)] for i in range(size)]


def _inner_product(X: arb_mat, Y: arb_mat) -> arb:
    """The sum of the products of entries at the same place: tr(Xᵀ Y)."""
    total = arb(0)
    for x, y in zip(X.entries(), Y.entries(), strict=True):
        total += x * y
    return total


def _trace(X: arb_mat) -> arb:
    total = arb(0)
    for i in range(X.nrows()):
        total += X[i, i]
    return total


def _frobenius(X: arb_mat) -> arb:
    return _root(_inner_product(X, X))


def _root(x: arb, *, upper: bool = True) -> arb:
    """An upper (or lower) bound on the root of the largest (smallest) number in x, at least 0."""
    end = x.upper() if upper else x.lower()
    root = end.sqrt() if end > 0 else arb(0)
    return root.upper() if upper else root.lower()


def _enclosure(proposed: arb, low: arb, high: arb, residual: arb) -> arb:
    least, most = (proposed * low - residual).lower(), (proposed * high + residual).upper()
    return (least if least > 0 else arb(0)).union(most)
