"""Architectures from one line of text, such as "gqa E=4096 H=32 G=8 R=all bias=qkv"."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from enum import Enum
from typing import Any, TypeVar

from exactattn.exceptions import InputError
from exactattn.identify.features import (
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
from exactattn.identify.spec import AttentionSpec, Layers, ModelSpec
from exactattn.numbers import rational

__all__ = ["VARIANT_WORDS", "parse_variant"]

KINDS = ("mha", "gqa", "mqa", "mla")
VARIANT_WORDS: Mapping[str, str] = {
    "E": "width",
    "H": "query heads",
    "G": "key/value groups (gqa)",
    "D": "query/key head size, E/H unless given; the rotated part is included",
    "C": "value head size, D unless given",
    "F": "width of the other sequence; makes it cross-attention",
    "R": "rotated dimensions of a head, or all",
    "pairing": "half-split (unless given) or interleaved",
    "r": "rank of the key/value latent (mla); with R, its rotated key is one for all heads",
    "r_q": "rank of the query latent (mla)",
    "latentnorm": "rms: a norm with scales on each latent",
    "bias": "those of the letters q, k, v, o that have one, or none",
    "qknorm": "rms or layer, then where: shared, separate or width, as in rms:shared",
    "before": "norm before the layer: rms, layer, or layer+shift",
    "after": "norm after it",
    "eps": "ε of all norms, such as 1e-6 or 0; needed where there is a norm",
    "sinks": "learned or one",
    "softcap": "c of c·tanh(score/c)",
    "alibi": "a word of its own: linear biases of scores",
    "relbias": "buckets of a relative-bias table",
    "distance": "largest distance with a bucket of its own range, 128 unless given",
    "window": "how many tokens a query sees",
    "bidirectional": "a word of its own: no causal mask",
    "tie": "query=key, key=value or heads; several with commas",
    "layers": "how many such layers, 1 unless given",
}
FLAGS = frozenset({"alibi", "bidirectional"})
TIES = {"query=key": Tie.QUERY_KEY, "key=value": Tie.KEY_VALUE, "heads": Tie.QUERY_HEADS}

Choice = TypeVar("Choice", bound=Enum)


def parse_variant(text: str) -> ModelSpec:
    """The model a line describes: mha, gqa, mqa or mla, then words key=value (:data:`VARIANT_WORDS`).

    Raises InputError for unknown, repeated or missing words, and for sizes that contradict each other.

    >>> model = parse_variant("gqa E=64 H=8 G=2 R=all bias=qkv layers=12")
    >>> model.layers[0].attention.groups, model.depth
    (2, 12)
    """
    kind, words = _words(text)
    heads = _size(words, "H")
    groups = {"mha": heads, "mla": heads, "mqa": 1}.get(kind)
    if groups is None:
        groups = _size(words, "G")
    elif words.pop("G", str(groups)) != str(groups):
        raise InputError(f"{kind} has G = {groups}; drop the word or use gqa", field="G")
    width = _size(words, "E")
    latents = _latents(kind, words)
    size = _optional_size(words, "D")
    if size is None and width % heads:
        raise InputError(f"{heads} heads do not divide the width {width}; give D", field="H")
    size = size or width // heads
    source = _optional_size(words, "F")
    causal = words.pop("bidirectional", None) is None and source is None
    layers = _optional_size(words, "layers") or 1
    spec = AttentionSpec.of(
        width,
        heads,
        groups,
        size,
        _optional_size(words, "C"),
        source_width=source,
        causal=causal,
        window=_optional_size(words, "window"),
        rotary=_rotary(words, size, kind),
        alibi=words.pop("alibi", None) is not None,
        relative_bias=_relative_bias(words, not causal),
        sinks=_choice(words, "sinks", Sinks),
        soft_cap=_number(words, "softcap"),
        ties=_ties(words),
        **latents,
        **_biases(words),
        **_norms(words),
    )
    if spec.norm_before or spec.norm_after or spec.query_key_norm or latents.get("key_value_latent"):
        words.pop("eps", None)
    if words:
        word = next(iter(words))
        raise InputError(f"has no effect on {kind} as described; drop the word", field=word)
    name = f"layers 0–{layers - 1}" if layers > 1 else "layer"
    return ModelSpec(
        name=text.strip(), family=kind, layers=(Layers(name=name, attention=spec, repeat=layers),)
    )


def _words(text: str) -> tuple[str, dict[str, str]]:
    first, *rest = text.split() or [""]
    if first not in KINDS:
        raise InputError(
            f"a variant starts with one of {', '.join(KINDS)}, not {first[:40]!r}", field="variant"
        )
    words: dict[str, str] = {}
    for word in rest:
        key, equals, value = word.partition("=")
        if key not in VARIANT_WORDS:
            close = get_close_matches(key, VARIANT_WORDS, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(VARIANT_WORDS)}"
            raise InputError(f"{word[:40]!r} is not a word for a variant; {hint}", field="variant")
        if bool(equals) == (key in FLAGS) or (equals and not value):
            raise InputError("stands alone" if key in FLAGS else f"needs a value: {key}=…", field=key)
        if key in words:
            raise InputError("stands twice; keep one", field=key)
        words[key] = value
    return first, words


def _optional_size(words: dict[str, str], key: str) -> int | None:
    value = words.pop(key, None)
    if value is None:
        return None
    if not (value.isascii() and value.isdigit()) or len(value) > 12 or int(value) == 0:
        raise InputError(f"must be a positive integer, not {value[:40]!r}", field=key)
    return int(value)


def _size(words: dict[str, str], key: str) -> int:
    value = _optional_size(words, key)
    if value is None:
        raise InputError(f"is missing; add {key}=… ({VARIANT_WORDS[key]})", field=key)
    return value


def _number(words: dict[str, str], key: str) -> Any:
    value = words.pop(key, None)
    try:
        return None if value is None else rational(value)
    except InputError as error:
        raise InputError(str(error), field=key) from None


def _choice(words: dict[str, str], key: str, kinds: type[Choice]) -> Choice | None:
    value = words.pop(key, None)
    return None if value is None else _named(value, key, {kind.value: kind for kind in kinds})


def _named(value: str, key: str, table: Mapping[str, Choice]) -> Choice:
    if value not in table:
        raise InputError(f"must be one of {', '.join(table)}, not {value[:40]!r}", field=key)
    return table[value]


def _latents(kind: str, words: dict[str, str]) -> dict[str, Latent | None]:
    if kind != "mla":
        return {}
    name = words.pop("latentnorm", None)
    norm = None if name is None else _norm(words, "latentnorm", name)
    query = _optional_size(words, "r_q")
    return {
        "key_value_latent": Latent(rank=_size(words, "r"), norm=norm),
        "query_latent": None if query is None else Latent(rank=query, norm=norm),
    }


def _rotary(words: dict[str, str], size: int, kind: str) -> Rotary | None:
    if "R" not in words:
        return None
    pairing = _choice(words, "pairing", Pairing) or Pairing.HALF_SPLIT
    rotated = size if words.get("R") == "all" else _size(words, "R")
    words.pop("R", None)
    return Rotary(size=rotated, pairing=pairing, shared_key=kind == "mla")


def _relative_bias(words: dict[str, str], bidirectional: bool) -> RelativeBias | None:
    buckets = _optional_size(words, "relbias")
    if buckets is None:
        return None
    distance = _optional_size(words, "distance") or 128
    return RelativeBias(buckets=buckets, max_distance=distance, bidirectional=bidirectional)


def _ties(words: dict[str, str]) -> frozenset[Tie]:
    value = words.pop("tie", None)
    return frozenset() if value is None else frozenset(_named(name, "tie", TIES) for name in value.split(","))


def _biases(words: dict[str, str]) -> dict[str, bool]:
    letters = words.pop("bias", "none")
    letters = "" if letters == "none" else letters
    names = {"q": "query_bias", "k": "key_bias", "v": "value_bias", "o": "output_bias"}
    if not set(letters) <= set(names) or len(set(letters)) != len(letters):
        raise InputError(f"must be some of the letters q, k, v, o, not {letters[:40]!r}", field="bias")
    return {names[letter]: True for letter in letters}


def _norm(words: dict[str, str], key: str, name: str) -> Norm:
    kind, plus, shift = name.partition("+")
    if plus and shift != "shift":
        raise InputError(f"must be rms, layer or layer+shift, not {name[:40]!r}", field=key)
    if "eps" not in words:
        raise InputError("is missing; add eps=1e-6, or eps=0", field="eps")
    eps = _number({"eps": words["eps"]}, "eps")
    table = {each.value: each for each in NormKind}
    return Norm(kind=_named(kind, key, table), eps=eps, shift=bool(plus))


def _norms(words: dict[str, str]) -> dict[str, Any]:
    """The norms around the layer and of queries and keys; ends the words of norms."""
    found: dict[str, Any] = {}
    for key, field in (("before", "norm_before"), ("after", "norm_after")):
        if key in words:
            found[field] = _norm(words, key, words.pop(key))
    if "qknorm" in words:
        kind, _, scope = words.pop("qknorm").partition(":")
        where = _named(scope, "qknorm (after the colon)", {each.value: each for each in Scope})
        found["query_key_norm"] = QueryKeyNorm(norm=_norm(words, "qknorm", kind), scope=where)
    return found
