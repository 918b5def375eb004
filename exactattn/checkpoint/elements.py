"""Elements of a symmetry that balance the two sides it acts on, and those that make them canonical.

A symmetry multiplies some arrays by g (side A, n×p) and others by g^(-T) (side B, n×q), so that AᵀB stays.
Balanced means equal Gram matrices, A Aᵀ = B Bᵀ (theory, section 9). The element is found in floats; its
numbers, taken as the dyadic rationals they are, define the transformation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import nmod_mat

from exactattn.checkpoint.dyadic import Dyadic
from exactattn.checkpoint.place import Array
from exactattn.exceptions import InputError
from exactattn.identify.gauge import LinearSymmetry, Piece, PieceKind, Side

__all__ = ["GaugeElement", "balancing_block", "canonical_block", "proved_invertible", "sides"]

PRIME = (1 << 61) - 1
# below this ratio of singular values the balancing element is not determined by float64 numbers
SMALLEST_RATIO = 1e-11


@dataclass(frozen=True)
class GaugeElement:
    """The element ``matrix`` of the symmetry, exactly these dyadic rationals; proved to be invertible.

    ``number`` tells symmetries of one name apart: the group, for changes of basis.
    """

    symmetry: LinearSymmetry
    number: int
    matrix: Array

    def __post_init__(self) -> None:
        if not proved_invertible(self.matrix):
            raise InputError(f"the element of {self.symmetry.name!r} is not invertible")

    def applied(self, parameters: dict[str, Any]) -> None:
        """Replace the arrays that the symmetry moves; float64, not yet rounded to what is stored."""
        inverse = np.linalg.inv(self.matrix)
        for move in self.symmetry.moves:
            move.apply(self.matrix, inverse, parameters)


def proved_invertible(matrix: Array) -> bool:
    """Whether a square matrix of floats, taken exactly, is invertible.

    A determinant that is not 0 modulo a prime is not 0.

    >>> proved_invertible(np.array([[1.0, 2.0], [0.5, 1.0]])), proved_invertible(np.eye(3) * 0.1)
    (False, True)
    """
    integers = Dyadic.of(matrix).integers
    n = integers.nrows()
    residues = nmod_mat(n, n, [int(x) % PRIME for x in integers.entries()], PRIME)
    return int(residues.det()) != 0 or integers.det() != 0


def sides(symmetry: LinearSymmetry, piece: Piece, parameters: dict[str, Array]) -> tuple[Array, Array]:
    """The sides A and B on the coordinates of one piece: weights and scales, without biases and shifts."""
    forward: list[Array] = []
    backward: list[Array] = []
    n = len(piece.coordinates)
    for move in symmetry.moves:
        if move.array.endswith((" bias", " shift")):
            continue
        x = parameters[move.array]
        places = [move.places[c] for c in piece.coordinates]
        block = x[:, places].T if move.right else x[places].reshape(n, -1)
        (forward if move.side in (Side.LEFT, Side.RIGHT_DUAL) else backward).append(block)
    return _beside(forward, n), _beside(backward, n)


def _beside(blocks: Sequence[Array], rows: int) -> Array:
    return np.concatenate(blocks, axis=1) if blocks else np.zeros((rows, 0))


def balancing_block(kind: PieceKind, A: Array, B: Array) -> Array | None:
    """The g with g A and g^(-T) B balanced that moves A and B least; None if there is none.

    For all invertible matrices: of all balanced pairs (R Σ^(1/2) Uᵀ, R Σ^(1/2) Vᵀ), R orthogonal, AᵀB = UΣVᵀ,
    the one nearest to (A, B), by the orthogonal Procrustes problem. None if AᵀB has not full rank: then
    no element balances the sides. For a plane, or one factor: a positive factor.
    """
    if kind is not PieceKind.LINEAR:
        factor = _factor(A, B)
        return None if factor is None else np.eye(len(A)) * factor
    found = _singular(A, B)
    if found is None:
        return None
    g, new_a, new_b = found
    u, _, vt = np.linalg.svd(A @ new_a.T + B @ new_b.T)
    return np.asarray(u @ vt @ g)


def canonical_block(kind: PieceKind, A: Array, B: Array) -> Array | None:
    """The g that makes g A and g^(-T) B the canonical balanced pair; None if there is none.

    All invertible matrices: Σ^(1/2)Uᵀ and Σ^(1/2)Vᵀ of the singular value decomposition of AᵀB, singular
    values falling, the largest entry of each row of B positive; unique if singular values differ. A plane:
    the largest complex entry of B positive. One factor: the largest entry of B positive.
    """
    if kind is PieceKind.LINEAR:
        found = _singular(A, B)
        if found is None:
            return None
        g, _, new_b = found
        signs = np.sign(new_b[np.arange(len(new_b)), np.abs(new_b).argmax(axis=1)])
        return np.asarray(signs[:, None] * g)
    factor = _factor(A, B)
    if factor is None:
        return None
    if kind is PieceKind.PLANE:
        row = B[0] + 1j * B[1]
        entry = row[np.abs(row).argmax()]
        c, s = (entry.conjugate() / abs(entry)).real, (entry.conjugate() / abs(entry)).imag
        return factor * np.array([[c, -s], [s, c]])
    sign = np.sign(B.flat[np.abs(B).argmax()])
    return np.asarray(np.eye(len(A)) * factor * sign)


def _factor(A: Array, B: Array) -> float | None:
    """The positive t with |t A| = |B / t|."""
    a, b = float(np.linalg.norm(A)), float(np.linalg.norm(B))
    return float(np.sqrt(b / a)) if a > 0 and b > 0 else None


def _singular(A: Array, B: Array) -> tuple[Array, Array, Array] | None:
    """g, g A and g^(-T) B with A' = Σ^(1/2)Uᵀ and B' = Σ^(1/2)Vᵀ."""
    n = len(A)
    if min(A.shape[1], B.shape[1]) < n:
        return None
    basis_a, right_a = np.linalg.qr(A.T)
    basis_b, right_b = np.linalg.qr(B.T)
    u, sigma, vt = np.linalg.svd(right_a @ right_b.T)
    if not sigma[-1] > SMALLEST_RATIO * sigma[0]:
        return None
    root = np.sqrt(sigma)[:, None]
    g = (vt @ right_b) / root
    return g, root * (basis_a @ u).T, root * (basis_b @ vt.T).T
