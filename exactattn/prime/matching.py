"""Matching many probes at once: which pole of one belongs to the same head as which pole of another.

As in recovery.matching, scores and residues decide together: α ℓ_h + β ℓ'_g = ℓ''_k modulo p − 1, with
residues α c_h + β c'_g = c''_k on a shared last token, or c_h = c'_g = c''_k on a shared difference.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exactattn.prime.arithmetic import Array, plus, times
from exactattn.prime.field import PrimeField
from exactattn.prime.interpolation import Fractions

__all__ = ["labels_and_partners", "match", "ordered"]

WORK = 1 << 17


def match(
    x: Fractions, y: Fractions, z: Fractions, weights: tuple[int, int], field: PrimeField, *, same: bool
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """For every head h of ``x`` its position in ``y`` (K, P), and the number of partners that it has there
    and in ``z`` (K, P); a label is right where every number is 1.

    ``weights`` are (α, β); ``same``: a shared difference, residues are equal instead of added.
    """
    a, b = weights
    left = _scaled(x.exponents, a, field.n), x.residues if same else _scaled(x.residues, a, field.p)
    right = _scaled(y.exponents, b, field.n), y.residues if same else _scaled(y.residues, b, field.p)
    return field.kernels.labels(left, right, (z.exponents, z.residues), not same, field)


def labels_and_partners(
    x: tuple[Array, Array], y: tuple[Array, Array], z: tuple[Array, Array], added: bool, field: PrimeField
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Labels and numbers of partners (K, P) from scores and residues that are multiplied by their weights;
    ``added``: residues add, otherwise they are equal."""
    K, count = x[0].shape
    labels = np.zeros((K, count), dtype=np.uint8)
    partners = np.zeros((K, count), dtype=np.uint8)
    width = max(1, WORK // max(1, K * K))
    for start in range(0, count, width):
        piece = slice(start, start + width)
        cut = [(scores[:, piece], values[:, piece]) for scores, values in (x, y, z)]
        hits = _hits(cut[0], cut[1], cut[2], added, field)
        partners[:, piece] = np.maximum(hits.sum(axis=1, dtype=np.uint8), hits.sum(axis=0, dtype=np.uint8))
        partners[:, piece] *= hits.any(axis=1)
        for g in range(1, K):
            labels[:, piece] += hits[:, g] * np.uint8(g)
    return labels, partners


def _hits(
    x: tuple[Array, Array], y: tuple[Array, Array], z: tuple[Array, Array], added: bool, field: PrimeField
) -> NDArray[np.uint8]:
    """The number of partners in z of every pair (h, g): (K, K, P)."""
    scores = plus(x[0][:, None], y[0][None], field.n)
    if added:
        residues = plus(x[1][:, None], y[1][None], field.p)
    else:
        residues = np.broadcast_to(x[1][:, None], scores.shape)
    keys = _keys(scores, residues)
    hits = np.zeros(keys.shape, dtype=np.uint8)
    for key in _keys(*z):
        hits += (keys == key).view(np.uint8)
    if not added:
        hits *= x[1][:, None] == y[1][None]
    return hits


def _scaled(x: Array, factor: int, modulus: np.uint64) -> Array:
    return x if factor == 1 else times(x, np.uint64(factor % int(modulus)), modulus)


def _keys(scores: Array, residues: Array) -> Array:
    keys: Array = (scores << np.uint64(32)) | residues
    return keys


def ordered(x: Fractions, labels: NDArray[np.uint8]) -> Fractions:
    """Row h of each column taken from row labels[h]."""
    index = labels.astype(np.int64)
    return Fractions(
        np.take_along_axis(x.exponents, index, axis=0), np.take_along_axis(x.residues, index, axis=0), x.bad
    )
