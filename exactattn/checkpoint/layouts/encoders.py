"""Layouts of encoders, of encoders with decoders, and of image encoders."""

from __future__ import annotations

from exactattn.checkpoint.layouts.decoders import SeparateNames, separate
from exactattn.checkpoint.layouts.layout import LayerPlaces, Layout
from exactattn.checkpoint.place import Place
from exactattn.identify.spec import AttentionSpec

__all__ = ["BERT", "IMAGE", "T5", "VIT", "WHISPER"]

BERT = (
    Layout(
        anchor="encoder.layer.{i}.attention.self.query.weight",
        places=separate(
            SeparateNames(
                own="encoder.layer.{i}",
                attention="attention",
                projections=("self.query", "self.key", "self.value", "output.dense"),
            )
        ),
        norm_below=("encoder.layer.{i}.output.LayerNorm", "embeddings.LayerNorm"),
    ),
    Layout(
        anchor="transformer.layer.{i}.attention.q_lin.weight",
        places=separate(
            SeparateNames(
                own="transformer.layer.{i}",
                attention="attention",
                projections=("q_lin", "k_lin", "v_lin", "out_lin"),
            )
        ),
        norm_below=("transformer.layer.{i}.output_layer_norm", "embeddings.LayerNorm"),
    ),
)

VIT = (
    Layout(
        anchor="encoder.layer.{i}.attention.attention.query.weight",
        places=separate(
            SeparateNames(
                own="encoder.layer.{i}",
                attention="attention",
                projections=("attention.query", "attention.key", "attention.value", "output.dense"),
                before="layernorm_before",
            )
        ),
    ),
    Layout(
        anchor="layers.{i}.attention.q_proj.weight",
        places=separate(SeparateNames(attention="attention", before="layernorm_before")),
    ),
)

IMAGE = Layout(
    anchor="layers.{i}.self_attn.q_proj.weight",
    places=separate(
        SeparateNames(projections=("q_proj", "k_proj", "v_proj", "out_proj"), before="layer_norm1")
    ),
    within="vision",
)


def _t5(side: str, block: str, sublayer: int) -> Layout:
    """``block``: the name of the attention module; the first layer holds the stack's relative biases."""
    own = f"{side}.block.{{i}}.layer.{sublayer}"
    inner = separate(
        SeparateNames(own=own, attention=block, projections=("q", "k", "v", "o"), before="layer_norm")
    )

    def places(spec: AttentionSpec, prefix: str, i: int) -> LayerPlaces:
        found = inner(spec, prefix, i)
        if spec.relative_bias is not None:
            table = f"{prefix}{own.format(i=0)}.{block}.relative_attention_bias.weight"
            found["relative bias"] = (Place(table, transposed=True),)
        return found

    return Layout(anchor=f"{own}.{block}.q.weight", places=places)


T5 = {
    ("encoder", False): _t5("encoder", "SelfAttention", 0),
    ("decoder", False): _t5("decoder", "SelfAttention", 0),
    ("decoder", True): _t5("decoder", "EncDecAttention", 1),
}


def _whisper(side: str, attention: str) -> Layout:
    own = f"{side}.layers.{{i}}"
    return Layout(
        anchor=f"{own}.{attention}.q_proj.weight",
        places=separate(
            SeparateNames(
                own=own,
                attention=attention,
                projections=("q_proj", "k_proj", "v_proj", "out_proj"),
                before=f"{attention}_layer_norm",
            )
        ),
    )


WHISPER = {
    ("encoder", False): _whisper("encoder", "self_attn"),
    ("decoder", False): _whisper("decoder", "self_attn"),
    ("decoder", True): _whisper("decoder", "encoder_attn"),
}
