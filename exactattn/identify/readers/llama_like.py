"""Readers of decoders with rotation and RMS norm: Llama and its relatives."""

from __future__ import annotations

from dataclasses import replace

from flint import fmpq

from exactattn.identify.config_fields import Fields
from exactattn.identify.features import Norm, Pairing, QueryKeyNorm, Scope, Sinks
from exactattn.identify.readers.common import (
    Sizes,
    all_biases,
    depth,
    fold,
    partial_rotation,
    rms_norm,
    rotation,
    sliding_windows,
)
from exactattn.identify.spec import AttentionSpec, ModelSpec

__all__ = ["gemma2", "gemma3_text", "gpt_oss", "llama", "mistral", "olmo2", "phi3", "qwen2", "qwen3"]

MILLIONTH = fmpq(1, 10**6)
HUNDRED_THOUSANDTH = fmpq(1, 10**5)


def _before(fields: Fields, default: fmpq) -> Norm:
    return rms_norm(fields, "rms_norm_eps", default)


def _model(name: str, family: str, specs: list[AttentionSpec]) -> ModelSpec:
    return ModelSpec(name=name, family=family, layers=fold(specs))


def llama(fields: Fields, name: str) -> ModelSpec:
    """Llama 2, 3, 3.1: one flag for all four biases, false by default."""
    sizes = Sizes.read(fields, groups="heads")
    spec = sizes.spec(
        **all_biases(fields.flag("attention_bias", default=False)),
        rotary=rotation(fields, sizes.head_size, Pairing.HALF_SPLIT),
        norm_before=_before(fields, MILLIONTH),
    )
    return _model(name, "llama", [spec] * depth(fields))


def mistral(fields: Fields, name: str) -> ModelSpec:
    """Mistral and Mixtral: no biases, no flag for them, an optional window in all layers."""
    sizes = Sizes.read(fields, groups="given")
    spec = sizes.spec(
        rotary=rotation(fields, sizes.head_size, Pairing.HALF_SPLIT),
        norm_before=_before(fields, MILLIONTH),
        window=fields.optional_size("sliding_window"),
    )
    return _model(name, fields.text("model_type"), [spec] * depth(fields))


def _qwen_windows(fields: Fields, layers: int) -> list[int | None]:
    """Layers from max_window_layers on slide, if sliding is switched on."""
    window = (
        fields.optional_size("sliding_window") if fields.flag("use_sliding_window", default=False) else None
    )
    fields.ignore("sliding_window")
    first = fields.optional_size("max_window_layers")
    first = layers if first is None else first
    slides = sliding_windows(fields, layers, [window is not None and i >= first for i in range(layers)])
    return [window if slide else None for slide in slides]


def qwen2(fields: Fields, name: str) -> ModelSpec:
    """Qwen 2 and 2.5: biases in queries, keys and values, none in the output, whatever the config says."""
    sizes = Sizes.read(fields, groups="given")
    fields.require("use_mrope", False, False)
    spec = sizes.spec(
        query_bias=True,
        key_bias=True,
        value_bias=True,
        rotary=rotation(fields, sizes.head_size, Pairing.HALF_SPLIT),
        norm_before=_before(fields, MILLIONTH),
    )
    layers = depth(fields)
    return _model(name, "qwen2", [replace(spec, window=w) for w in _qwen_windows(fields, layers)])


def qwen3(fields: Fields, name: str) -> ModelSpec:
    """Qwen 3: RMS norm of each query and key head, scales shared by heads."""
    sizes = Sizes.read(fields, groups="given", head_size=128)
    norm = _before(fields, MILLIONTH)
    spec = sizes.spec(
        **all_biases(fields.flag("attention_bias", default=False)),
        query_key_norm=QueryKeyNorm(norm=norm, scope=Scope.SHARED),
        rotary=rotation(fields, sizes.head_size, Pairing.HALF_SPLIT),
        norm_before=norm,
    )
    layers = depth(fields)
    return _model(name, "qwen3", [replace(spec, window=w) for w in _qwen_windows(fields, layers)])


def gemma2(fields: Fields, name: str) -> ModelSpec:
    """Gemma 2: soft-capped scores, their own scale, windows in every other layer, norms before and after."""
    sizes = Sizes.read(fields, groups="given", head_size=256)
    norm = _before(fields, MILLIONTH)
    capped = fields.given("attn_logit_softcapping")
    cap = fields.number("attn_logit_softcapping")
    spec = sizes.spec(
        **all_biases(fields.flag("attention_bias", default=False)),
        rotary=rotation(fields, sizes.head_size, Pairing.HALF_SPLIT),
        soft_cap=cap if capped else fmpq(50),
        scale_squared=1 / fields.positive("query_pre_attn_scalar", default=fmpq(256)),
        norm_before=norm,
        norm_after=norm,
    )
    layers = depth(fields)
    window = fields.size("sliding_window", "sliding_window_size", default=4096)
    slides = sliding_windows(fields, layers, [i % 2 == 0 for i in range(layers)])
    return _model(name, "gemma2", [replace(spec, window=window if slide else None) for slide in slides])


def gemma3_text(fields: Fields, name: str) -> ModelSpec:
    """Gemma 3, text: RMS norm of each query and key head; five of six layers have a window, another base."""
    sizes = Sizes.read(
        fields, groups=fields.size("num_key_value_heads", default=4), default_heads=8, head_size=256
    )
    norm = _before(fields, MILLIONTH)
    fields.require("use_bidirectional_attention", False, False)
    layers = depth(fields)
    period = fields.size("sliding_window_pattern", "_sliding_window_pattern", default=6)
    slides = sliding_windows(fields, layers, [(i + 1) % period != 0 for i in range(layers)])
    window = fields.size("sliding_window", default=4096)
    angles = fields.section("rope_parameters")
    whole = angles.section("full_attention") if angles else None
    local = angles.section("sliding_attention") if angles else None
    local_base = (local or fields).positive(
        "rope_theta" if local else "rope_local_base_freq", default=fmpq(10_000)
    )
    full = rotation(fields, sizes.head_size, Pairing.HALF_SPLIT, base=10**6, angles=whole)
    spec = sizes.spec(
        **all_biases(fields.flag("attention_bias", default=False)),
        query_key_norm=QueryKeyNorm(norm=norm, scope=Scope.SHARED),
        soft_cap=fields.number("attn_logit_softcapping"),
        scale_squared=1 / fields.positive("query_pre_attn_scalar", default=fmpq(256)),
        norm_before=norm,
        norm_after=norm,
        rotary=full,
    )
    sliding = replace(spec, window=window, rotary=replace(full, base=local_base, rule=None))
    return _model(name, "gemma3_text", [sliding if slide else spec for slide in slides])


def phi3(fields: Fields, name: str) -> ModelSpec:
    """Phi 3: no biases, one fused projection, rotation of all of a head unless stated."""
    sizes = Sizes.read(fields, groups="heads", has_head_size=False)
    spec = sizes.spec(
        rotary=partial_rotation(fields, sizes.head_size, "partial_rotary_factor", fmpq(1)),
        norm_before=_before(fields, HUNDRED_THOUSANDTH),
        window=fields.optional_size("sliding_window"),
    )
    return _model(name, "phi3", [spec] * depth(fields))


def olmo2(fields: Fields, name: str) -> ModelSpec:
    """OLMo 2: one RMS norm over all query heads and one over all key heads; a norm only after the layer."""
    sizes = Sizes.read(fields, groups="heads")
    norm = _before(fields, HUNDRED_THOUSANDTH)
    spec = sizes.spec(
        **all_biases(fields.flag("attention_bias", default=False)),
        query_key_norm=QueryKeyNorm(norm=norm, scope=Scope.WIDTH),
        rotary=rotation(fields, sizes.head_size, Pairing.HALF_SPLIT),
        norm_after=norm,
    )
    return _model(name, "olmo2", [spec] * depth(fields))


def gpt_oss(fields: Fields, name: str) -> ModelSpec:
    """gpt-oss: learned sinks, biases in all projections by default, windows in every other layer."""
    sizes = Sizes.read(fields, groups="given", head_size=64)
    spec = sizes.spec(
        **all_biases(fields.flag("attention_bias", default=True)),
        rotary=rotation(fields, sizes.head_size, Pairing.HALF_SPLIT, base=150_000),
        sinks=Sinks.LEARNED,
        norm_before=_before(fields, HUNDRED_THOUSANDTH),
    )
    layers = depth(fields)
    window = fields.size("sliding_window", default=128)
    slides = sliding_windows(fields, layers, [i % 2 == 0 for i in range(layers)])
    return _model(name, "gpt_oss", [replace(spec, window=window if slide else None) for slide in slides])
