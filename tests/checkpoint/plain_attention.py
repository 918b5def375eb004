"""One attention layer in NumPy, written from its definition, for tests of transformations."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactattn.checkpoint import AttentionWeights
from exactattn.identify import Norm, NormKind, Pairing, Scope

Array = np.ndarray[Any, Any]


def outputs(weights: AttentionWeights, tokens: Array) -> Array:
    """What the layer, with the norm before it, makes of tokens (rows); longdouble inside."""
    spec = weights.spec
    p = {
        name: np.asarray(x, np.longdouble) + (1 if name in weights.shifted else 0)
        for name, x in weights.parameters.items()
    }
    x = np.asarray(tokens, np.longdouble)
    if spec.norm_before is not None:
        x = _norm(spec.norm_before, x, p.get("before scale"), p.get("before shift"))
    q, k, v = (_linear(p, name, x) for name in ("query", "key", "value"))
    n = len(tokens)
    q = q.reshape(n, spec.heads, spec.head_size)
    k = k.reshape(n, spec.groups, spec.head_size)
    v = v.reshape(n, spec.groups, spec.value_size)
    if spec.query_key_norm is not None:
        assert spec.query_key_norm.scope is Scope.SHARED
        norm = spec.query_key_norm.norm
        q = _norm(norm, q, p.get("query norm scale"), p.get("query norm shift"))
        k = _norm(norm, k, p.get("key norm scale"), p.get("key norm shift"))
    q, k = _rotated(spec, q), _rotated(spec, k)
    group = np.arange(spec.heads) // spec.heads_per_group
    scores = np.einsum("ihd,jhd->hij", q, k[:, group]) * np.sqrt(
        np.longdouble(float(spec.score_scale_squared))
    )
    if spec.soft_cap is not None:
        cap = float(spec.soft_cap)
        scores = cap * np.tanh(scores / cap)
    offsets = np.arange(n)[None, :] - np.arange(n)[:, None]
    if spec.alibi:
        slopes = 2.0 ** (-8.0 * (1 + np.arange(spec.heads)) / spec.heads)
        scores = scores + slopes[:, None, None] * offsets
    hidden = np.zeros((n, n), dtype=bool)
    if spec.causal:
        hidden |= offsets > 0
    if spec.window is not None:
        hidden |= np.abs(offsets) >= spec.window
    scores = np.where(hidden, -np.inf, scores)
    shift = scores.max(axis=2, keepdims=True)
    powers = np.exp(scores - shift)
    total = powers.sum(axis=2, keepdims=True)
    if spec.sinks is not None:
        total = total + np.exp(p["sinks"][:, None, None] - shift)
    mixed = np.einsum("hij,jhc->ihc", powers / total, v[:, group])
    result: Array = _linear(p, "output", mixed.reshape(n, -1))
    return result


def _linear(p: dict[str, Array], name: str, x: Array) -> Array:
    y = x @ p[name].T
    return y + p[f"{name} bias"] if f"{name} bias" in p else y


def _norm(norm: Norm, x: Array, scale: Array | None, shift: Array | None) -> Array:
    if norm.kind is NormKind.LAYER:
        x = x - x.mean(axis=-1, keepdims=True)
    x = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + float(norm.eps))
    x = x if scale is None else x * scale
    return x if shift is None else x + shift


def _rotated(spec: Any, x: Array) -> Array:
    if not spec.rotated:
        return x
    planes = spec.rotated // 2
    angles = np.arange(len(x))[:, None] * 100.0 ** (-np.arange(planes) / planes)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    if spec.rotary.pairing is Pairing.INTERLEAVED:
        first, second = slice(0, spec.rotated, 2), slice(1, spec.rotated, 2)
    else:
        first, second = slice(0, planes), slice(planes, spec.rotated)
    turned = x.copy()
    turned[..., first] = x[..., first] * cos - x[..., second] * sin
    turned[..., second] = x[..., first] * sin + x[..., second] * cos
    return turned
