"""Float cross-check: rank of a layer's Jacobian in float64, by forward-mode dual numbers and singular
values.

Shares nothing with the counts it checks: it evaluates the layer as written in the architecture, at random
points, and looks at the gap in the spectrum. Not a proof; the proofs are the rank certificates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from exactattn.identify import AttentionSpec, Latent, Norm, NormKind, Pairing, Scope, Sinks, Tie

Array = np.ndarray


class Dual:
    """A value and its derivatives by all parameters (first axis of ``der``)."""

    __array_priority__ = 1000

    def __init__(self, val: Array, der: Array) -> None:
        self.val, self.der = val, der

    def _lift(self, other: Dual | Array | float) -> Dual:
        return other if isinstance(other, Dual) else Dual(np.asarray(other, float), np.zeros(1))

    def map(self, value: Array, slope: Array) -> Dual:
        return Dual(value, self.der * slope)

    def __add__(self, other: Dual | Array | float) -> Dual:
        if not isinstance(other, Dual):
            return Dual(self.val + other, self.der + np.zeros(np.shape(self.val + other)))
        shape = np.broadcast_shapes(self.val.shape, other.val.shape)
        return Dual(self.val + other.val, _fit(self.der, shape) + _fit(other.der, shape))

    __radd__ = __add__

    def __neg__(self) -> Dual:
        return Dual(-self.val, -self.der)

    def __sub__(self, other: Dual | Array | float) -> Dual:
        return self + (-other)

    def __mul__(self, other: Dual | Array | float) -> Dual:
        if not isinstance(other, Dual):
            return Dual(self.val * other, self.der * other)
        shape = np.broadcast_shapes(self.val.shape, other.val.shape)
        return Dual(
            self.val * other.val, _fit(self.der, shape) * other.val + self.val * _fit(other.der, shape)
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Dual) -> Dual:
        return self * other.map(1 / other.val, -1 / other.val**2)

    def __matmul__(self, other: Dual | Array) -> Dual:
        if not isinstance(other, Dual):
            return Dual(self.val @ other, self.der @ other)
        return Dual(self.val @ other.val, self.der @ other.val + self.val @ other.der)

    def __rmatmul__(self, other: Array) -> Dual:
        return Dual(other @ self.val, other @ self.der)

    def __getitem__(self, key: object) -> Dual:
        keys = key if isinstance(key, tuple) else (key,)
        return Dual(self.val[keys], self.der[(slice(None), *keys)])

    @property
    def T(self) -> Dual:
        return Dual(self.val.T, np.swapaxes(self.der, -1, -2))

    def sum(self) -> Dual:
        """Over the last axis, kept."""
        return Dual(self.val.sum(-1, keepdims=True), self.der.sum(-1, keepdims=True))


def _fit(der: Array, shape: tuple[int, ...]) -> Array:
    """Derivatives broadcast like values, the parameter axis staying first."""
    missing = len(shape) - (der.ndim - 1)
    return np.broadcast_to(
        der.reshape(der.shape[0], *([1] * missing), *der.shape[1:]), (der.shape[0], *shape)
    )


def _exp(x: Dual) -> Dual:
    e = np.exp(x.val)
    return x.map(e, e)


def _tanh(x: Dual) -> Dual:
    t = np.tanh(x.val)
    return x.map(t, 1 - t**2)


def _root(x: Dual) -> Dual:
    r = np.sqrt(x.val)
    return x.map(r, 0.5 / r)


def _concat(parts: list[Dual]) -> Dual:
    return Dual(np.concatenate([p.val for p in parts], -1), np.concatenate([p.der for p in parts], -1))


Shapes = dict[str, tuple[int, ...]]


def parameter_shapes(spec: AttentionSpec) -> Shapes:
    """Names and shapes of the learned numbers of the block (norms before and after included)."""
    shapes = _latent_shapes(spec) | _projection_shapes(spec)
    if spec.query_key_norm:
        size, scope = spec.head_size, spec.query_key_norm.scope
        for name, heads in (("query norm", spec.heads), ("key norm", spec.groups)):
            own = size if scope is Scope.SHARED else size * heads
            shapes |= _norm_shapes(name, spec.query_key_norm.norm, own)
    if spec.sinks is Sinks.LEARNED:
        shapes["sinks"] = (spec.heads,)
    if spec.relative_bias:
        shapes["relative bias"] = (spec.heads, spec.relative_bias.buckets)
    shapes |= _norm_shapes("before", spec.norm_before, spec.width)
    return shapes | _norm_shapes("after", spec.norm_after, spec.width)


def _norm_shapes(name: str, norm: Norm | None, size: int) -> Shapes:
    kinds = {"scale": norm is not None and norm.scale, "shift": norm is not None and norm.shift}
    return {f"{name} {kind}": (size,) for kind, present in kinds.items() if present}


def _latent_shapes(spec: AttentionSpec) -> Shapes:
    shapes: Shapes = {}
    for side, latent, width in (
        ("query", spec.query_latent, spec.width),
        ("key/value", spec.key_value_latent, spec.key_width),
    ):
        if latent:
            shapes[f"{side} down"] = (latent.rank, width)
            if latent.bias:
                shapes[f"{side} down bias"] = (latent.rank,)
            shapes |= _norm_shapes(f"{side} latent", latent.norm, latent.rank)
    if spec.key_value_latent and spec.rotary and spec.rotary.shared_key:
        shapes["rotated key"] = (spec.rotated, spec.key_width)
        if spec.key_value_latent.bias:
            shapes["rotated key bias"] = (spec.rotated,)
    return shapes


def _projection_shapes(spec: AttentionSpec) -> Shapes:
    query_in = spec.query_latent.rank if spec.query_latent else spec.width
    key_in = spec.key_value_latent.rank if spec.key_value_latent else spec.key_width
    shared = spec.rotated if spec.rotary and spec.rotary.shared_key else 0
    query_heads = spec.groups if Tie.QUERY_HEADS in spec.ties else spec.heads
    rows = {"query": (query_heads * spec.head_size, query_in, spec.query_bias)}
    if Tie.QUERY_KEY not in spec.ties:
        rows["key"] = (spec.groups * (spec.head_size - shared), key_in, spec.key_bias)
    if Tie.KEY_VALUE not in spec.ties:
        rows["value"] = (spec.groups * spec.value_size, key_in, spec.value_bias)
    rows["output"] = (spec.width, spec.heads * spec.value_size, spec.output_bias)
    shapes: Shapes = {}
    for name, (height, width, bias) in rows.items():
        shapes[name] = (height, width)
        if bias:
            shapes[f"{name} bias"] = (height,)
    return shapes


@dataclass
class Layer:
    """An architecture at a random point, ready to be differentiated."""

    spec: AttentionSpec
    params: dict[str, Dual]
    angles: Array

    @classmethod
    def random(cls, spec: AttentionSpec, rng: np.random.Generator) -> Layer:
        shapes = parameter_shapes(spec)
        total = sum(math.prod(s) for s in shapes.values())
        params, start = {}, 0
        for name, shape in shapes.items():
            size = math.prod(shape)
            fan = 1.4 / math.sqrt(shape[-1]) if len(shape) == 2 and name != "relative bias" else 0.7
            val = rng.normal(size=shape) * fan
            if name.endswith("scale"):
                val = rng.uniform(0.6, 1.7, size=shape)
            der = np.zeros((total, size))
            der[start + np.arange(size), np.arange(size)] = 1
            params[name] = Dual(val, der.reshape(total, *shape))
            start += size
        return cls(spec, params, rng.uniform(0.2, 2.6, size=spec.rotated // 2))

    def _norm(self, name: str, norm: Norm, x: Dual, heads: slice | None = None) -> Dual:
        size = x.val.shape[-1]
        if norm.kind is NormKind.LAYER:
            x = x - x.sum() * (1 / size)
        x = x / _root((x * x).sum() * (1 / size) + float(norm.eps))
        return self._affine(name, norm, x, heads)

    def _affine(self, name: str, norm: Norm, x: Dual, part: slice | None = None) -> Dual:
        part = part or slice(None)
        if norm.scale:
            x = x * self.params[f"{name} scale"][part]
        if norm.shift:
            x = x + self.params[f"{name} shift"][part]
        return x

    def _linear(self, name: str, x: Dual) -> Dual:
        y = x @ self.params[name].T
        return y + self.params[f"{name} bias"] if f"{name} bias" in self.params else y

    def _rotate(self, x: Dual, positions: Array) -> Dual:
        assert self.spec.rotary
        R = self.spec.rotated
        turn = positions[:, None] * self.angles
        cos, sin = np.cos(turn), np.sin(turn)
        if self.spec.rotary.pairing is Pairing.HALF_SPLIT:
            first, second = slice(0, R // 2), slice(R // 2, R)
        else:
            first, second = slice(0, R, 2), slice(1, R, 2)
        a, b = x[..., first], x[..., second]
        # the order of rotated dimensions within a head is the same for queries and keys, so any will do
        return _concat([a * cos - b * sin, a * sin + b * cos, x[..., R:]])

    def _heads(self, name: str, x: Dual, count: int) -> list[Dual]:
        """Per-head vectors, normed."""
        D, qk = x.val.shape[-1] // count, self.spec.query_key_norm
        if qk and qk.scope is Scope.WIDTH:
            x = self._norm(name, qk.norm, x)
        parts = [x[..., h * D : (h + 1) * D] for h in range(count)]
        if qk and qk.scope is not Scope.WIDTH:
            separate = qk.scope is Scope.SEPARATE
            parts = [
                self._norm(name, qk.norm, p, slice(h * D, (h + 1) * D) if separate else None)
                for h, p in enumerate(parts)
            ]
        return parts

    def _constant(self, value: Array) -> Dual:
        total = next(iter(self.params.values())).der.shape[0]
        return Dual(value, np.zeros((total, *value.shape)))

    def _down(self, side: str, latent: Latent | None, x: Dual) -> Dual:
        if latent is None:
            return x
        x = self._linear(f"{side} down", x)
        return self._norm(f"{side} latent", latent.norm, x) if latent.norm else x

    def _queries_keys_values(self, x: Dual, y: Dual) -> tuple[list[Dual], list[Dual], list[Dual]]:
        """Per query head, per group and per group; rotated."""
        spec, C = self.spec, self.spec.value_size
        key_name = "query" if Tie.QUERY_KEY in spec.ties else "key"
        value_name = key_name if Tie.KEY_VALUE in spec.ties else "value"
        query_count = spec.groups if Tie.QUERY_HEADS in spec.ties else spec.heads
        queries_from = self._down("query", spec.query_latent, x)
        keys_from = self._down("key/value", spec.key_value_latent, y)
        queries = self._heads("query norm", self._linear("query", queries_from), query_count)
        keys = self._heads("key norm", self._linear(key_name, keys_from), spec.groups)
        if spec.rotary and spec.rotary.shared_key:
            rotated = self._linear("rotated key", y)
            keys = [_concat([rotated, k]) for k in keys]
        if spec.rotated:
            queries = [self._rotate(q, np.arange(len(x.val))) for q in queries]
            keys = [self._rotate(k, np.arange(len(y.val))) for k in keys]
        values = self._linear(value_name, keys_from)
        return (
            [queries[h * query_count // spec.heads] for h in range(spec.heads)],
            keys,
            [values[:, g * C : (g + 1) * C] for g in range(spec.groups)],
        )

    def _visible(self, offsets: Array) -> Array:
        visible = np.ones(offsets.shape)
        if self.spec.causal:
            visible = visible * (offsets <= 0)
        if self.spec.window is not None:
            visible = visible * (np.abs(offsets) < self.spec.window)
        return visible

    def _weights(self, h: int, query: Dual, key: Dual, offsets: Array) -> Dual:
        """Attention weights of one head."""
        spec = self.spec
        score = (query @ key.T) * math.sqrt(float(spec.score_scale_squared))
        if spec.soft_cap is not None:
            cap = float(spec.soft_cap)
            score = _tanh(score * (1 / cap)) * cap
        if spec.alibi:
            score = score + offsets * 2.0 ** (-h - 1)
        if spec.relative_bias:
            buckets = np.vectorize(spec.relative_bias.bucket)(offsets)
            score = score + self.params["relative bias"][h, buckets]
        weight = _exp(score) * self._visible(offsets)
        below = weight.sum()
        if spec.sinks is Sinks.LEARNED:
            below = below + _exp(self.params["sinks"][h : h + 1])
        elif spec.sinks is Sinks.ONE:
            below = below + 1.0
        return weight / below

    def __call__(self, tokens: Array, source: Array | None) -> Dual:
        spec, C = self.spec, self.spec.value_size
        x = self._constant(tokens)
        if spec.norm_before:
            x = self._norm("before", spec.norm_before, x)
        y = x if source is None else self._constant(source)
        queries, keys, values = self._queries_keys_values(x, y)
        offsets = np.arange(len(y.val))[None, :] - np.arange(len(tokens))[:, None]
        terms = []
        for h in range(spec.heads):
            g = h // spec.heads_per_group
            weights = self._weights(h, queries[h], keys[g], offsets)
            terms.append((weights @ values[g]) @ self.params["output"][:, h * C : (h + 1) * C].T)
        result = sum(terms[1:], terms[0])
        if spec.output_bias:
            result = result + self.params["output bias"]
        return self._norm("after", spec.norm_after, result) if spec.norm_after else result


def _length(rng: np.random.Generator, longest: int) -> int:
    return int(rng.integers(3, longest + 1))


def jacobian(spec: AttentionSpec, seed: int = 0, excess: float = 3.0) -> Array:
    """The float64 Jacobian (outputs × parameters) of the block at a random point, over random sequences."""
    rng = np.random.default_rng(seed)
    layer = Layer.random(spec, rng)
    total = next(iter(layer.params.values())).der.shape[0]
    longest = 4 + spec.rotated
    if spec.relative_bias:
        longest = max(longest, spec.relative_bias.max_distance + 2)
    rows: list[Array] = []
    made = 0
    while made < excess * total + 20:
        tokens = rng.normal(size=(longest if not rows else _length(rng, longest), spec.width)) * 1.2
        source = rng.normal(size=(_length(rng, longest), spec.key_width)) * 1.2 if spec.cross else None
        out = layer(tokens, source)
        rows.append(out.der.reshape(total, -1).T)
        made += len(tokens) * min(spec.width, spec.heads * spec.value_size)  # independent outputs at most
    return np.concatenate(rows)


def float_rank(spec: AttentionSpec, seed: int = 0) -> tuple[int, int, float]:
    """Parameters, rank and the factor between the last kept and the first dropped singular value."""
    J = jacobian(spec, seed)
    norms = np.linalg.norm(J, axis=0)
    J = J / np.where(norms > 1e-12 * norms.max(), norms, np.inf)  # a column of rounding noise counts as zero
    s = np.linalg.svd(J, compute_uv=False)
    s = np.append(s[: J.shape[1]], 1e-17 * s[0])
    s = np.maximum(s, 1e-17 * s[0])
    ratios = s[:-1] / s[1:]
    ok = s[1:] < 1e-10 * s[0]
    rank = int(np.argmax(np.where(ok, ratios, 0))) + 1
    return J.shape[1], rank, float(ratios[rank - 1])
