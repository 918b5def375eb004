"""Readers of encoders, of encoders with decoders, and of text models with an image encoder."""

from __future__ import annotations

from dataclasses import replace

from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.identify.config_fields import Fields
from exactattn.identify.features import RelativeBias
from exactattn.identify.readers.common import Sizes, all_biases, depth, fold, layer_norm, rms_norm
from exactattn.identify.readers.llama_like import gemma3_text
from exactattn.identify.spec import AttentionSpec, Layers, ModelSpec

__all__ = ["bert", "distilbert", "gemma3", "t5", "vit", "whisper"]


def _encoder_sizes(fields: Fields) -> Sizes:
    return Sizes.read(fields, groups=fields.size("num_attention_heads"), has_head_size=False)


def bert(fields: Fields, name: str) -> ModelSpec:
    """BERT, RoBERTa: biases in all projections; the norm after follows the residual sum, so is no part."""
    sizes = _encoder_sizes(fields)
    fields.require("position_embedding_type", "absolute", "absolute")
    fields.require("add_cross_attention", False, False)
    spec = sizes.spec(**all_biases(True), causal=fields.flag("is_decoder", default=False))
    return ModelSpec(name=name, family=fields.text("model_type"), layers=fold([spec] * depth(fields)))


def distilbert(fields: Fields, name: str) -> ModelSpec:
    """DistilBERT: the layers of BERT under other names of fields."""
    heads = ("n_heads", "num_attention_heads")
    sizes = Sizes.read(
        fields, groups=fields.size(*heads), width=("dim", "hidden_size"), heads=heads, has_head_size=False
    )
    spec = sizes.spec(**all_biases(True), causal=False)
    layers = depth(fields, "n_layers", "num_hidden_layers")
    return ModelSpec(name=name, family="distilbert", layers=fold([spec] * layers))


def vit(fields: Fields, name: str) -> ModelSpec:
    """ViT: one flag for the biases of queries, keys and values, always one in the output."""
    bias = fields.flag("qkv_bias", default=True)
    spec = _encoder_sizes(fields).spec(
        query_bias=bias,
        key_bias=bias,
        value_bias=bias,
        output_bias=True,
        causal=False,
        norm_before=layer_norm(fields, "layer_norm_eps", fmpq(1, 10**12)),
    )
    return ModelSpec(name=name, family="vit", layers=fold([spec] * depth(fields)))


def gemma3(fields: Fields, name: str) -> ModelSpec:
    """Gemma 3 with its image encoder (SigLIP): the layers of both."""
    text = fields.section("text_config")
    if text is None:
        raise InputError(
            "is missing; add it, or use model_type gemma3_text", field=fields.name("text_config")
        )
    text.require("model_type", "gemma3_text", "gemma3_text")
    words = gemma3_text(text, name)
    text.finish("gemma3_text")
    layers = tuple(replace(group, name=f"text {group.name}") for group in words.layers)
    vision = fields.section("vision_config")
    if vision is not None:
        vision.require("model_type", "siglip_vision_model", "siglip_vision_model")
        vision.require("vision_use_head", False, True)
        spec = _encoder_sizes(vision).spec(
            **all_biases(True),
            causal=False,
            norm_before=layer_norm(vision, "layer_norm_eps", fmpq(1, 10**6)),
        )
        vision.finish("siglip_vision_model")
        layers += fold([spec] * depth(vision), "image layers")
    return ModelSpec(name=name, family="gemma3", layers=layers)


def t5(fields: Fields, name: str) -> ModelSpec:
    """T5: no biases, unscaled scores, one relative-bias table for the encoder, one for the decoder."""
    fields.require("is_encoder_decoder", True, True)
    heads = fields.size("num_heads")
    buckets = fields.size("relative_attention_num_buckets", default=32)
    distance = fields.size("relative_attention_max_distance", default=128)
    norm = rms_norm(fields, "layer_norm_epsilon", fmpq(1, 10**6))
    encoder_depth = depth(fields, "num_layers")
    decoder_depth = depth(fields, "num_decoder_layers") if fields.has("num_decoder_layers") else encoder_depth
    cross = AttentionSpec.of(
        fields.size("d_model"),
        heads,
        heads,
        fields.size("d_kv"),
        source_width=fields.size("d_model"),
        causal=False,
        scale_squared=fmpq(1),
        norm_before=norm,
    )

    def own(bidirectional: bool) -> AttentionSpec:
        try:
            table = RelativeBias(buckets=buckets, max_distance=distance, bidirectional=bidirectional)
        except InputError as error:
            field = "relative_attention_max_distance" if error.field == "max_distance" else None
            message = str(error).removeprefix(f"{error.field}: ")
            raise InputError(message, field=field or "relative_attention_num_buckets") from None
        return replace(cross, source_width=None, causal=not bidirectional, relative_bias=table)

    encoder = fold([own(True)] * encoder_depth, "encoder")
    decoder = fold([own(False)] * decoder_depth, "decoder")
    return ModelSpec(
        name=name,
        family="t5",
        layers=(*encoder, *decoder, *_cross(cross, decoder_depth)),
        shared_relative_bias=(frozenset({encoder[0].name}), frozenset({decoder[0].name})),
    )


def _cross(spec: AttentionSpec, layers: int) -> tuple[Layers, ...]:
    """The cross-attention layers of a decoder."""
    return tuple(replace(group, name=f"{group.name} cross") for group in fold([spec] * layers, "decoder"))


def whisper(fields: Fields, name: str) -> ModelSpec:
    """Whisper: biases in queries, values and output, never in keys; encoder, decoder and cross-attention."""
    width = fields.size("d_model")
    norm = layer_norm(fields, None, fmpq(1, 10**5))

    def stack(side: str, causal: bool) -> AttentionSpec:
        heads = fields.size(f"{side}_attention_heads")
        if width % heads:
            raise InputError(
                f"{heads} heads do not divide the width {width} (d_model); change one of the two",
                field=f"{side}_attention_heads",
            )
        return AttentionSpec.of(
            width, heads, query_bias=True, value_bias=True, output_bias=True, causal=causal, norm_before=norm
        )

    encoder, decoder = stack("encoder", False), stack("decoder", True)
    encoder_depth, decoder_depth = depth(fields, "encoder_layers"), depth(fields, "decoder_layers")
    cross = replace(decoder, causal=False, source_width=width)
    layers = (
        *fold([encoder] * encoder_depth, "encoder"),
        *fold([decoder] * decoder_depth, "decoder"),
        *_cross(cross, decoder_depth),
    )
    return ModelSpec(name=name, family="whisper", layers=layers)
