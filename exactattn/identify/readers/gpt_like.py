"""Readers of decoders with layer norm: GPT-2 and its relatives, with learned positions, ALiBi or rotation."""

from __future__ import annotations

from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.identify.config_fields import Fields
from exactattn.identify.features import Norm, NormKind, Pairing, QueryKeyNorm, Scope
from exactattn.identify.readers.common import (
    Sizes,
    all_biases,
    depth,
    fold,
    layer_norm,
    partial_rotation,
    rotation,
)
from exactattn.identify.spec import AttentionSpec, ModelSpec

__all__ = [
    "bloom",
    "cohere",
    "falcon",
    "gpt2",
    "gpt_neox",
    "gptj",
    "mpt",
    "opt",
    "phi",
    "stablelm",
    "starcoder2",
]

EPS = fmpq(1, 10**5)


def _model(name: str, family: str, spec: AttentionSpec, layers: int) -> ModelSpec:
    return ModelSpec(name=name, family=family, layers=fold([spec] * layers))


def gpt2(fields: Fields, name: str) -> ModelSpec:
    """GPT-2: biases in all projections, learned positions."""
    sizes = Sizes.read(
        fields,
        groups=fields.size("n_head", "num_attention_heads"),
        width=("n_embd", "hidden_size"),
        heads=("n_head", "num_attention_heads"),
        has_head_size=False,
    )
    fields.require("add_cross_attention", False, False)
    fields.require("scale_attn_by_inverse_layer_idx", False, False)
    spec = sizes.spec(
        **all_biases(True),
        scale_squared=None if fields.flag("scale_attn_weights", default=True) else fmpq(1),
        norm_before=layer_norm(fields, "layer_norm_epsilon", EPS),
    )
    return _model(name, "gpt2", spec, depth(fields, "n_layer", "num_hidden_layers"))


def gpt_neox(fields: Fields, name: str) -> ModelSpec:
    """GPT-NeoX and Pythia: biases by default, rotation of the first quarter of a head by default."""
    sizes = Sizes.read(fields, groups=fields.size("num_attention_heads"), has_head_size=False)
    spec = sizes.spec(
        **all_biases(fields.flag("attention_bias", default=True)),
        rotary=partial_rotation(
            fields, sizes.head_size, "rotary_pct", fmpq(1, 4), base_fields=("rotary_emb_base", "rope_theta")
        ),
        norm_before=layer_norm(fields, "layer_norm_eps", EPS),
    )
    return _model(name, "gpt_neox", spec, depth(fields))


def gptj(fields: Fields, name: str) -> ModelSpec:
    """GPT-J: no biases, interleaved rotation of rotary_dim dimensions."""
    sizes = Sizes.read(
        fields,
        groups=fields.size("n_head", "num_attention_heads"),
        width=("n_embd", "hidden_size"),
        heads=("n_head", "num_attention_heads"),
        has_head_size=False,
    )
    fields.require("rotary", True, True)
    size = fields.size("rotary_dim", default=64)
    if size > sizes.head_size:
        raise InputError(
            f"{size} rotated dimensions do not fit in heads of size {sizes.head_size}; lower it",
            field=fields.name("rotary_dim"),
        )
    spec = sizes.spec(
        rotary=rotation(fields, size, Pairing.INTERLEAVED, size_field="rotary_dim"),
        norm_before=layer_norm(fields, "layer_norm_epsilon", EPS),
    )
    return _model(name, "gptj", spec, depth(fields, "n_layer", "num_hidden_layers"))


def opt(fields: Fields, name: str) -> ModelSpec:
    """OPT: biases by default, learned positions, the norm before the layer by default."""
    sizes = Sizes.read(fields, groups=fields.size("num_attention_heads"), has_head_size=False)
    affine = fields.flag("layer_norm_elementwise_affine", default=True)
    norm = Norm(kind=NormKind.LAYER, eps=EPS, scale=affine, shift=affine)
    spec = sizes.spec(
        **all_biases(fields.flag("enable_bias", default=True)),
        norm_before=norm if fields.flag("do_layer_norm_before", default=True) else None,
    )
    return _model(name, "opt", spec, depth(fields))


def bloom(fields: Fields, name: str) -> ModelSpec:
    """BLOOM: biases in all projections, ALiBi."""
    fields.require("apply_residual_connection_post_layernorm", False, False)
    heads = ("n_head", "num_attention_heads")
    sizes = Sizes.read(
        fields,
        groups=fields.size(*heads),
        width=("hidden_size", "n_embed"),
        heads=heads,
        has_head_size=False,
    )
    spec = sizes.spec(
        **all_biases(True), alibi=True, norm_before=layer_norm(fields, "layer_norm_epsilon", EPS)
    )
    return _model(name, "bloom", spec, depth(fields, "n_layer", "num_hidden_layers"))


def falcon(fields: Fields, name: str) -> ModelSpec:
    """Falcon: one key/value group with multi_query, num_kv_heads of them in the newer architecture."""
    fields.require("apply_residual_connection_post_layernorm", False, False)
    heads = ("num_attention_heads", "n_head")
    count = fields.size(*heads)
    newer = fields.flag("new_decoder_architecture", default=False)
    multi_query = fields.flag("multi_query", default=True)
    if newer:
        groups = fields.size("num_kv_heads", "n_head_kv", default=count)
    else:
        groups = 1 if multi_query else count
        fields.ignore("num_kv_heads", "n_head_kv")
    if count % groups:
        raise InputError(
            f"{groups} key/value heads do not divide {count} heads; change one of the two",
            field=fields.name("num_kv_heads"),
        )
    sizes = Sizes.read(fields, groups=groups, heads=heads, has_head_size=False)
    alibi = fields.flag("alibi", default=False)
    spec = sizes.spec(
        **all_biases(fields.flag("bias", default=False)),
        alibi=alibi,
        rotary=None if alibi else rotation(fields, sizes.head_size, Pairing.HALF_SPLIT, size_field=heads[0]),
        norm_before=layer_norm(fields, "layer_norm_epsilon", EPS),
    )
    return _model(name, "falcon", spec, depth(fields, "num_hidden_layers", "n_layer"))


def mpt(fields: Fields, name: str) -> ModelSpec:
    """MPT: no biases anywhere, ALiBi in place of learned positions, layer norm without shift."""
    heads = fields.size("n_heads")
    sizes = Sizes.read(fields, groups=heads, width=("d_model",), heads=("n_heads",), has_head_size=False)
    fields.require("no_bias", True, True)
    fields.require("norm_type", "low_precision_layernorm", "low_precision_layernorm")
    attention = fields.section("attn_config") or Fields({}, "attn_config")
    attention.require("attn_type", "multihead_attention", "multihead_attention")
    attention.require("qk_ln", False, False)
    attention.require("clip_qkv", None, None)
    attention.require("prefix_lm", False, False)
    factor = attention.number("softmax_scale")
    spec = sizes.spec(
        alibi=attention.flag("alibi", default=True),
        scale_squared=None if factor is None else factor * factor,
        norm_before=layer_norm(fields, "layer_norm_epsilon", EPS, shift=False),
    )
    attention.finish("mpt")
    return _model(name, "mpt", spec, depth(fields, "n_layers"))


def phi(fields: Fields, name: str) -> ModelSpec:
    """Phi 1 and 2: biases in all projections, partial rotation, an optional layer norm of each head."""
    sizes = Sizes.read(fields, groups="heads", has_head_size=False)
    norm = layer_norm(fields, "layer_norm_eps", EPS)
    normed = fields.flag("qk_layernorm", default=False)
    spec = sizes.spec(
        **all_biases(True),
        rotary=partial_rotation(fields, sizes.head_size, "partial_rotary_factor", fmpq(1, 2)),
        query_key_norm=QueryKeyNorm(norm=norm, scope=Scope.SHARED) if normed else None,
        norm_before=norm,
    )
    return _model(name, "phi", spec, depth(fields))


def stablelm(fields: Fields, name: str) -> ModelSpec:
    """StableLM: optional biases in queries, keys and values, never in the output; partial rotation."""
    sizes = Sizes.read(fields, groups="given", has_head_size=False)
    bias = fields.flag("use_qkv_bias", default=False)
    heads_norm = layer_norm(fields, "layer_norm_eps", EPS, shift=False)
    normed = fields.flag("qk_layernorm", default=False)
    spec = sizes.spec(
        query_bias=bias,
        key_bias=bias,
        value_bias=bias,
        rotary=partial_rotation(fields, sizes.head_size, "partial_rotary_factor", fmpq(1, 4)),
        query_key_norm=QueryKeyNorm(norm=heads_norm, scope=Scope.SEPARATE) if normed else None,
        norm_before=layer_norm(fields, "layer_norm_eps", EPS),
    )
    return _model(name, "stablelm", spec, depth(fields))


def cohere(fields: Fields, name: str) -> ModelSpec:
    """Command R: layer norm without shift, interleaved rotation, an optional layer norm of each head."""
    sizes = Sizes.read(fields, groups="heads", has_head_size=False)
    norm = layer_norm(fields, "layer_norm_eps", EPS, shift=False)
    normed = fields.flag("use_qk_norm", default=False)
    spec = sizes.spec(
        **all_biases(fields.flag("attention_bias", default=False)),
        rotary=rotation(fields, sizes.head_size, Pairing.INTERLEAVED, size_field="num_attention_heads"),
        query_key_norm=QueryKeyNorm(norm=norm, scope=Scope.SEPARATE) if normed else None,
        norm_before=norm,
    )
    return _model(name, "cohere", spec, depth(fields))


def starcoder2(fields: Fields, name: str) -> ModelSpec:
    """StarCoder2: one flag for all biases, rotation of all of a head, an optional window."""
    sizes = Sizes.read(fields, groups="given", has_head_size=False)
    fields.require("norm_type", "layer_norm", "layer_norm")
    spec = sizes.spec(
        **all_biases(fields.flag("use_bias", default=True)),
        rotary=rotation(fields, sizes.head_size, Pairing.HALF_SPLIT, size_field="num_attention_heads"),
        norm_before=layer_norm(fields, "norm_epsilon", EPS),
        window=fields.optional_size("sliding_window"),
    )
    return _model(name, "starcoder2", spec, depth(fields))
