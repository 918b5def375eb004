"""Sums of fractions at given points, and residues at poles, for many probes at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exactattn.prime.arithmetic import UNDEFINED, Array, inverses, minus, reduce, times

if TYPE_CHECKING:
    from exactattn.prime.field import PrimeField

__all__ = ["residue_quotients", "sums_of_fractions"]

TOGETHER = 1 << 15


def sums_of_fractions(
    base: Array, numerator: Array, weight: Array, copies: Array, field: PrimeField
) -> Array:
    """base + Σ_h S_h/(m + R_h) (N, P) for every m, with the fractions brought to one denominator; UNDEFINED
    where that vanishes. ``base`` (P), ``numerator`` and ``weight`` (H, P), ``copies`` (N)."""
    p = field.p
    count = weight.shape[1]
    result = np.empty((len(copies), count), dtype=np.uint64)
    m = copies[:, None]
    width = max(1, TOGETHER // len(copies))
    for start in range(0, count, width):
        piece = slice(start, start + width)
        S, R = numerator[:, piece], weight[:, piece]
        top = np.zeros((len(copies), S.shape[1]), dtype=np.uint64)
        bottom = np.ones_like(top)
        for s, r in zip(S, R, strict=True):
            factor = m + r
            top *= factor
            top += s * bottom
            reduce(top, p)
            bottom *= factor
            reduce(bottom, p)
        total = top * inverses(bottom, p)
        total += base[piece]
        reduce(total, p)
        total[bottom == 0] = UNDEFINED
        result[:, piece] = total
    return result


def residue_quotients(numerator: Array, polynomials: Array, roots: Array, field: PrimeField) -> Array:
    """−N(r)/Q'(r) at every root r (K, P) of Q (K+1, P), for N (K, P)."""
    p, K = field.p, len(roots)
    slope = times(polynomials[1:], np.arange(1, K + 1, dtype=np.uint64)[:, None], p)
    both = np.stack([numerator, slope])[:, :, None]
    total = np.broadcast_to(both[:, -1], (2, *roots.shape)).copy()
    for k in range(K - 2, -1, -1):
        total *= roots
        total += both[:, k]
        reduce(total, p)
    return minus(np.uint64(0), times(total[0], inverses(total[1], p), p), p)
