"""Layouts of decoders: separate projections (Llama and its relatives), or one fused (GPT-2, BLOOM, …)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from exactattn.checkpoint.layouts.layout import Fusion, LayerPlaces, Layout, norm, projection, split_rows
from exactattn.checkpoint.place import Place
from exactattn.identify.features import Scope, Sinks
from exactattn.identify.spec import AttentionSpec

__all__ = ["FUSED", "SEPARATE", "fused", "separate"]

PARALLEL = "the feed-forward network beside the layer reads the same norm"


@dataclass(frozen=True)
class SeparateNames:
    """Names within one layer: its attention module, its projections and its norms."""

    own: str = "layers.{i}"
    attention: str = "self_attn"
    projections: tuple[str, str, str, str] = ("q_proj", "k_proj", "v_proj", "o_proj")
    before: str = "input_layernorm"
    after: str = ""
    query_norm: str = "q_norm"
    key_norm: str = "k_norm"
    norms_by_head: bool = False


def separate(names: SeparateNames) -> Callable[[AttentionSpec, str, int], LayerPlaces]:
    """One tensor each for queries, keys, values and output."""

    def places(spec: AttentionSpec, prefix: str, i: int) -> LayerPlaces:
        own = prefix + names.own.format(i=i)
        inner = f"{own}.{names.attention}" if names.attention else own
        found: LayerPlaces = {}
        biases = (spec.query_bias, spec.key_bias, spec.value_bias, spec.output_bias)
        for name, part, bias in zip(
            ("query", "key", "value", "output"), names.projections, biases, strict=True
        ):
            found |= projection(name, f"{inner}.{part}", bias)
        found |= norm("before", f"{own}.{names.before}", spec.norm_before)
        found |= norm("after", f"{own}.{names.after}", spec.norm_after)
        if spec.query_key_norm is not None:
            kind = spec.query_key_norm
            for side, tensor, count in (
                ("query norm", names.query_norm, spec.heads),
                ("key norm", names.key_norm, spec.groups),
            ):
                tensors = [f"{inner}.{tensor}"]
                if names.norms_by_head and kind.scope is Scope.SEPARATE:
                    tensors = [f"{inner}.{tensor}.norms.{h}" for h in range(count)]
                found |= norm(side, tensors, kind.norm)
        if spec.sinks is Sinks.LEARNED:
            found["sinks"] = (Place(f"{inner}.sinks"),)
        return found

    return places


@dataclass(frozen=True)
class FusedNames:
    """Names within one layer, and how the fused tensor is divided."""

    own: str
    joint: str
    output: str
    before: str
    fusion: Fusion
    transposed: bool


def fused(names: FusedNames) -> Callable[[AttentionSpec, str, int], LayerPlaces]:
    """One tensor for queries, keys and values."""

    def places(spec: AttentionSpec, prefix: str, i: int) -> LayerPlaces:
        own = prefix + names.own.format(i=i)
        rows = split_rows(spec, names.fusion)
        found: LayerPlaces = {}
        for name, bias in (
            ("query", spec.query_bias),
            ("key", spec.key_bias),
            ("value", spec.value_bias),
        ):
            found |= projection(name, f"{own}.{names.joint}", bias, rows[name], transposed=names.transposed)
        found |= projection("output", f"{own}.{names.output}", spec.output_bias, transposed=names.transposed)
        return found | norm("before", f"{own}.{names.before}", spec.norm_before)

    return places


LLAMA_ANCHOR = "layers.{i}.self_attn.q_proj.weight"


def _llama(*, shifted: bool = False, shared: str = "", within: str = "", **names: object) -> Layout:
    return Layout(
        anchor=LLAMA_ANCHOR,
        places=separate(SeparateNames(**names)),  # type: ignore[arg-type]
        norms_are_shifted=shifted,
        norm_is_shared=shared,
        not_within="vision",
        within=within,
    )


SEPARATE: dict[str, Layout] = {
    **dict.fromkeys(("llama", "mistral", "mixtral", "qwen2", "qwen3", "gpt_oss", "starcoder2"), _llama()),
    "gemma2": _llama(shifted=True, after="post_attention_layernorm"),
    "gemma3_text": _llama(shifted=True, after="post_attention_layernorm"),
    "olmo2": _llama(after="post_attention_layernorm"),
    "cohere": _llama(shared=PARALLEL),
    "phi": _llama(
        shared=PARALLEL,
        projections=("q_proj", "k_proj", "v_proj", "dense"),
        query_norm="q_layernorm",
        key_norm="k_layernorm",
    ),
    "stablelm": _llama(
        shared="the feed-forward network may read the same norm (use_parallel_residual)",
        query_norm="q_layernorm",
        key_norm="k_layernorm",
        norms_by_head=True,
    ),
    "opt": _llama(
        projections=("q_proj", "k_proj", "v_proj", "out_proj"),
        before="self_attn_layer_norm",
    ),
    "gptj": Layout(
        anchor="h.{i}.attn.q_proj.weight",
        places=separate(
            SeparateNames(
                own="h.{i}",
                attention="attn",
                projections=("q_proj", "k_proj", "v_proj", "out_proj"),
                before="ln_1",
            )
        ),
        norm_is_shared=PARALLEL,
    ),
}


def _fused(shared: str = "", *, own: str, joint: str, output: str, before: str, fusion: Fusion) -> Layout:
    names = FusedNames(own, joint, output, before, fusion, transposed=False)
    return Layout(anchor=f"{own}.{joint}.weight", places=fused(names), norm_is_shared=shared)


_BY_GROUP: dict[str, str] = {
    "own": "h.{i}",
    "joint": "self_attention.query_key_value",
    "output": "self_attention.dense",
}

FUSED: dict[str, tuple[Layout, ...]] = {
    "gpt2": (
        Layout(
            anchor="h.{i}.attn.c_attn.weight",
            places=fused(
                FusedNames("h.{i}", "attn.c_attn", "attn.c_proj", "ln_1", Fusion.BLOCKS, transposed=True)
            ),
        ),
    ),
    "bloom": (_fused(**_BY_GROUP, before="input_layernorm", fusion=Fusion.GROUPS),),
    "falcon": (
        Layout(
            anchor="h.{i}.ln_attn.weight",
            places=fused(FusedNames(**_BY_GROUP, before="ln_attn", fusion=Fusion.GROUPS, transposed=False)),
        ),
        _fused(PARALLEL, **_BY_GROUP, before="input_layernorm", fusion=Fusion.GROUPS),
    ),
    "gpt_neox": (
        _fused(
            own="layers.{i}",
            joint="attention.query_key_value",
            output="attention.dense",
            before="input_layernorm",
            fusion=Fusion.GROUPS,
        ),
    ),
    "mpt": (
        _fused(
            own="blocks.{i}",
            joint="attn.Wqkv",
            output="attn.out_proj",
            before="norm_1",
            fusion=Fusion.BLOCKS,
        ),
    ),
    "phi3": (
        _fused(
            own="layers.{i}",
            joint="self_attn.qkv_proj",
            output="self_attn.o_proj",
            before="input_layernorm",
            fusion=Fusion.BLOCKS,
        ),
    ),
}
