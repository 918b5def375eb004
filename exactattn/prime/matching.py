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

__all__ = ["match", "ordered"]

WORK = 1 << 17


def match(
    x: Fractions, y: Fractions, z: Fractions, weights: tuple[int, int], field: PrimeField, *, same: bool
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """For every head h of ``x`` its position in ``y`` (K, P), and the number of partners that it has there
    and in ``z`` (K, P); a label is right where every number is 1.

    ``weights`` are (α, β); ``same``: a shared difference, residues are equal instead of added.
    """
    K, count = x.exponents.shape
    labels = np.zeros((K, count), dtype=np.uint8)
    partners = np.zeros((K, count), dtype=np.uint8)
    width = max(1, WORK // max(1, K * K))
    for start in range(0, count, width):
        piece = slice(start, start + width)
        hits = _hits(x, y, z, piece, weights, field, same)
        partners[:, piece] = np.maximum(hits.sum(axis=1, dtype=np.uint8), hits.sum(axis=0, dtype=np.uint8))
        partners[:, piece] *= hits.any(axis=1)
        for g in range(1, K):
            labels[:, piece] += hits[:, g] * np.uint8(g)
    return labels, partners


def _hits(
    x: Fractions,
    y: Fractions,
    z: Fractions,
    piece: slice,
    weights: tuple[int, int],
    field: PrimeField,
    same: bool,
) -> NDArray[np.uint8]:
    """The number of partners in z of every pair (h, g): (K, K, P)."""
    a, b = weights
    scores = plus(
        _scaled(x.exponents[:, piece], a, field.n)[:, None],
        _scaled(y.exponents[:, piece], b, field.n)[None],
        field.n,
    )
    xc, yc = x.residues[:, piece], y.residues[:, piece]
    if same:
        residues = np.broadcast_to(xc[:, None], scores.shape)
    else:
        residues = plus(_scaled(xc, a, field.p)[:, None], _scaled(yc, b, field.p)[None], field.p)
    keys = _keys(scores, residues)
    hits = np.zeros(keys.shape, dtype=np.uint8)
    for key in _keys(z.exponents[:, piece], z.residues[:, piece]):
        hits += (keys == key).view(np.uint8)
    if same:
        hits *= xc[:, None] == yc[None]
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
