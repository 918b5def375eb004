"""Upper bounds on the norm of what a layer's projections read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb, fmpq

from exactattn.checkpoint.exact_layer import ExactLayer
from exactattn.exceptions import InputError
from exactattn.identify.features import Norm

__all__ = ["InputBounds", "input_bounds"]


@dataclass(frozen=True)
class InputBounds:
    """Bounds on the norm of what queries, keys (their shared rotated part too) and values read; None where
    nothing bounds it."""

    queries: arb | None
    keys: arb | None
    rotated_keys: arb | None


def input_bounds(layer: ExactLayer, token_norm: fmpq | None) -> InputBounds:
    """Bounds from the norms of the architecture, or ``token_norm`` for what enters the layer's projections.

    A normed vector has norm at most √size before scales and shifts. ``token_norm`` bounds what comes out of
    the norm before the layer, scales included. Raises InputError unless it is positive.
    """
    if token_norm is not None and token_norm <= 0:
        raise InputError(f"must be positive, not {token_norm}", field="token norm")
    weights = layer.weights
    spec = weights.spec
    before = _normed(layer, "before", spec.norm_before, spec.width)
    if "before" not in layer.absorbed and token_norm is not None:
        before = arb(token_norm)
    source = before if not spec.cross else (None if token_norm is None else arb(token_norm))
    query, key = before, source
    if spec.query_latent is not None:
        query = _normed(layer, "query latent", spec.query_latent.norm, spec.query_latent.rank)
    if spec.key_value_latent is not None:
        key = _normed(layer, "key/value latent", spec.key_value_latent.norm, spec.key_value_latent.rank)
    return InputBounds(query, key, source)


def _normed(layer: ExactLayer, name: str, norm: Norm | None, size: int) -> arb | None:
    """√size times the largest scale, plus the norm of the shift; scales that are absorbed do not count."""
    if norm is None:
        return None
    bound = arb(size).sqrt()
    if name in layer.absorbed:
        return bound
    scale, shift = layer.vector(f"{name} scale"), layer.vector(f"{name} shift")
    if scale is not None:
        stored = layer.weights.parameters[f"{name} scale"]
        places = {int(np.argmax(stored)), int(np.argmin(stored))}
        bound = bound * max(abs(arb(scale.entry(i, 0))) for i in places)
    if shift is not None:
        bound = bound + arb(shift.frobenius_squared()).sqrt()
    return bound
