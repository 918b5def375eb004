"""Small random architectures over all features, for comparing counts with float ranks."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from flint import fmpq

from exactattn.identify import (
    AttentionSpec,
    Latent,
    Norm,
    NormKind,
    Pairing,
    QueryKeyNorm,
    RelativeBias,
    Rotary,
    Scope,
    Sinks,
    Tie,
)

__all__ = ["at_zero", "random_architecture"]


def at_zero(spec: AttentionSpec) -> AttentionSpec:
    """The same layer with every ε = 0."""

    def norm(given: Norm | None) -> Norm | None:
        return given and replace(given, eps=fmpq(0))

    def latent(given: Latent | None) -> Latent | None:
        return given and replace(given, norm=norm(given.norm))

    heads = spec.query_key_norm
    return replace(
        spec,
        norm_before=norm(spec.norm_before),
        norm_after=norm(spec.norm_after),
        query_key_norm=heads and replace(heads, norm=replace(heads.norm, eps=fmpq(0))),
        query_latent=latent(spec.query_latent),
        key_value_latent=latent(spec.key_value_latent),
    )


def random_architecture(rng: random.Random) -> AttentionSpec:
    """A layer of width 3 to 7, mostly; raises InputError where the draw contradicts itself."""

    def chance(probability: float) -> bool:
        return rng.random() < probability

    width, groups = rng.randint(3, 7), rng.choice([1, 1, 2, 2, 3])
    heads = groups * rng.choice([1, 1, 2, 3])
    head = rng.randint(1, width + 2 if chance(0.3) else width)
    value = rng.randint(1, width + 2 if chance(0.3) else min(width, 4))
    features: dict[str, Any] = {f"{name}_bias": chance(0.45) for name in ("query", "key", "value", "output")}
    features |= _positions(rng, width, head)
    if chance(0.2):
        features["sinks"] = rng.choice([Sinks.LEARNED, Sinks.LEARNED, Sinks.ONE])
    if chance(0.1):
        features["soft_cap"] = fmpq(2)
    if chance(0.3):
        norm, scope = _norm(rng, 0.3), rng.choice(list(Scope))
        features["query_key_norm"] = QueryKeyNorm(norm=norm, scope=scope)
        if norm.kind is NormKind.LAYER:
            width, head = max(width, 5), max(head, 4)
        if scope is Scope.WIDTH and heads * head < 12:
            width = max(width, heads * head + 1)
    if chance(0.35):
        features["norm_before"] = _norm(rng, 0.6)
    if chance(0.2):
        features["norm_after"] = _norm(rng, 0.6)
    if chance(0.2) and "query_key_norm" not in features:
        heads = groups
        features |= _latents(rng, width, features.get("rotary"))
    elif chance(0.15):
        ties = frozenset(tie for tie in Tie if chance(0.4))
        features["ties"] = ties
        if Tie.QUERY_KEY in ties:
            heads = groups
            features["key_bias"] = features["query_bias"]
        if Tie.KEY_VALUE in ties:
            value, features["value_bias"] = head, features["key_bias"]
    return AttentionSpec.of(width, heads, groups, head, value, **features)


def _positions(rng: random.Random, width: int, head: int) -> dict[str, Any]:
    if rng.random() < 0.1:
        return {"source_width": rng.choice([width, width + 1, max(width - 2, 2)]), "causal": False}
    found: dict[str, Any] = {"causal": rng.random() < 0.7}
    if rng.random() < 0.4 and head > 1:
        size = 2 * rng.randint(1, head // 2)
        found["rotary"] = Rotary(size=size, pairing=rng.choice(list(Pairing)))
    if rng.random() < 0.1:
        found["alibi"] = True
    if rng.random() < 0.12:
        both = rng.random() < 0.4
        buckets = 6 if both else rng.choice([3, 4])
        found["relative_bias"] = RelativeBias(
            buckets=buckets, max_distance=rng.choice([4, 5]), bidirectional=both
        )
    return found


def _eps(rng: random.Random) -> fmpq:
    return rng.choice([fmpq(0), fmpq(1, 3)])


def _norm(rng: random.Random, shifts: float) -> Norm:
    kind, scale = rng.choice(list(NormKind)), rng.random() < 0.9
    shift = scale and kind is NormKind.LAYER and rng.random() < shifts
    return Norm(kind=kind, eps=_eps(rng), scale=scale, shift=shift)


def _latents(rng: random.Random, width: int, rotary: Rotary | None) -> dict[str, Any]:
    found: dict[str, Any] = dict.fromkeys(("query_bias", "key_bias", "value_bias"), False)

    def latent() -> Latent:
        norm = None
        if rng.random() < 0.6:
            norm = Norm(kind=NormKind.RMS, eps=_eps(rng), scale=rng.random() < 0.8)
        return Latent(rank=rng.randint(1, width), norm=norm, bias=norm is not None and rng.random() < 0.3)

    which = rng.random()
    if which < 0.75:
        found["key_value_latent"] = latent()
        if rotary is not None and rng.random() < 0.6:
            found["rotary"] = replace(rotary, shared_key=True)
    if which > 0.5:
        found["query_latent"] = latent()
    return found
