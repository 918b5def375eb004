"""Architectures in words: what each word means, and errors for what is no word."""

from __future__ import annotations

import pytest
from flint import fmpq
from published_configs import load

from exactattn.exceptions import InputError
from exactattn.identify import AttentionSpec, NormKind, Pairing, Scope, Sinks, parse_variant
from exactattn.identify.variant import VARIANT_WORDS


def variant(text: str) -> AttentionSpec:
    return parse_variant(text).layers[0].attention


def test_words_build_the_same_layers_as_configs() -> None:
    """A word would mean another feature than the config field it stands for."""
    text = "mha E=768 H=12 bias=qkvo before=layer+shift eps=1e-5"
    assert variant(text) == load("gpt2")[0]
    qwen = variant("gqa E=3584 H=28 G=4 R=all bias=qkv before=rms eps=1e-6")
    published = load("qwen2.5-7b")[0]
    assert (qwen.groups, qwen.rotated, qwen.value_bias, qwen.norm_before) == (
        published.groups,
        published.rotated,
        published.value_bias,
        published.norm_before,
    )


def test_each_word() -> None:
    """A word would be accepted and do nothing."""
    spec = variant(
        "gqa E=32 H=8 G=4 D=6 C=2 R=4 pairing=interleaved bias=ko qknorm=rms:separate eps=0 "
        "sinks=one softcap=5/2 window=9 bidirectional after=layer+shift"
    )
    assert (spec.groups, spec.head_size, spec.value_size, spec.rotated) == (4, 6, 2, 4)
    assert spec.rotary is not None
    assert spec.rotary.pairing is Pairing.INTERLEAVED
    assert (spec.query_bias, spec.key_bias, spec.value_bias, spec.output_bias) == (False, True, False, True)
    assert spec.query_key_norm is not None
    assert spec.query_key_norm.scope is Scope.SEPARATE
    assert (spec.sinks, spec.soft_cap, spec.window, spec.causal) == (Sinks.ONE, fmpq(5, 2), 9, False)
    assert spec.norm_after is not None
    assert (spec.norm_after.kind, spec.norm_after.shift) == (NormKind.LAYER, True)
    mla = variant("mla E=32 H=4 D=12 R=4 C=6 r=8 r_q=6 latentnorm=rms eps=1e-6")
    assert mla.rotary is not None
    assert mla.rotary.shared_key
    assert mla.query_latent is not None
    assert mla.query_latent.rank == 6
    assert variant("mqa E=8 H=4").groups == 1
    assert variant("mha E=8 H=4 alibi").alibi
    assert variant("mha E=8 H=4 F=6").source_width == 6
    assert variant("mha E=8 H=4 relbias=8 distance=20").relative_bias is not None
    assert parse_variant("mha E=8 H=4 layers=7").depth == 7
    assert len(variant("gqa E=8 H=4 G=2 tie=heads,key=value").ties) == 2


ERRORS = {
    "": "starts with one of",
    "moe E=8 H=2": "starts with one of",
    "mha E=8": "H: is missing",
    "gqa E=8 H=2": "G: is missing",
    "mla E=8 H=2": "r: is missing",
    "mha E=8 H=3": "3 heads do not divide the width 8",
    "gqa E=8 H=4 G=3": "do not divide",
    "mha E=8 H=4 G=2": "mha has G = 4",
    "mha E=8 H=2 latentnom=rms": "did you mean latentnorm",
    "mha E=8 H=2 zzz=3": "is not a word",
    "mha E=8 H=2 E=8": "stands twice",
    "mha E=8 H=2 alibi=1": "stands alone",
    "mha E=8 H=2 softcap": "needs a value",
    "mha E=8 H=2 softcap=abc": "softcap: 'abc' is not a number",
    "mha E=8 H=2 bias=qx": "letters q, k, v, o",
    "mha E=8 H=2 qknorm=rms eps=0": "shared, separate, width",
    "mha E=8 H=2 qknorm=batch:shared eps=0": "rms, layer",
    "mha E=8 H=2 before=rms": "eps: is missing",
    "mha E=8 H=2 before=rms+scale eps=0": "layer+shift",
    "mha E=8 H=2 R=3": "odd",
    "mha E=8 H=2 R=6": "do not fit",
    "mha E=8 H=2 r=3": "r: has no effect",
    "mha E=8 H=2 eps=0": "eps: has no effect",
    "mha E=8 H=2 pairing=interleaved": "pairing: has no effect",
    "mha E=8 H=2 distance=9": "distance: has no effect",
    "mha E=8 H=2 sinks=kitchen": "learned, one",
    "mha E=0 H=2": "positive integer",
    "mha E=99999999999999 H=2": "positive integer",
    "mha E=8 H=2 tie=all": "must be one of",
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text: str) -> None:
    """A slip in a variant would be ignored or end in a traceback."""
    with pytest.raises(InputError) as caught:
        parse_variant(text)
    assert ERRORS[text] in str(caught.value)


def test_every_word_is_explained() -> None:
    """The help would list a word without its meaning."""
    assert all(len(meaning) > 4 for meaning in VARIANT_WORDS.values())
