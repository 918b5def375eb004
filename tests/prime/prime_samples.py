"""Layers in a prime field, and comparison of what was recovered with them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exactattn.prime import PrimeField, PrimeLayer, PrimeRecovery


def random_prime_layer(
    field: PrimeField, heads: int, dim: int, *, seed: int = 0, bias: bool = False, size: int | None = None
) -> PrimeLayer:
    """Uniform entries: all residues, or integers up to ``size``."""
    rng = np.random.default_rng([seed, heads, dim])
    low, scores, values = (0, field.order, field.prime) if size is None else (-size, size + 1, size + 1)
    W = rng.integers(low, scores, (heads, dim + bias, dim))
    v = rng.integers(low, values, (heads, dim))
    return PrimeLayer(field, W, v, int(rng.integers(1, 99)) if bias else 0)


def canonical_heads(layer: PrimeLayer) -> set[tuple[bytes, bytes]]:
    """Merged heads with v ≠ 0."""
    merged: dict[bytes, NDArray[np.int64]] = {}
    for W, v in zip(layer.W, layer.v, strict=True):
        key = W.astype(np.uint64).tobytes()
        merged[key] = (merged.get(key, np.zeros_like(v)) + v) % layer.field.prime
    return {(key, v.astype(np.uint64).tobytes()) for key, v in merged.items() if v.any()}


def is_recovered(found: PrimeRecovery, layer: PrimeLayer) -> bool:
    """Whether the heads and the constant are the layer's canonical form."""
    heads = [(W.tobytes(), v.tobytes()) for W, v in zip(found.W, found.v, strict=True)]
    wanted = canonical_heads(layer)
    return len(heads) == len(wanted) and set(heads) == wanted and found.constant == layer.constant
