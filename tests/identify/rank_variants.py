"""Architectures for rank certificates: every row of the tables of theory, section 8, at three sizes or so."""

from __future__ import annotations

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

ZERO, SMALL = fmpq(0), fmpq(1, 100000)
HALF, INTERLEAVED = Pairing.HALF_SPLIT, Pairing.INTERLEAVED
of = AttentionSpec.of


def biases(letters: str) -> dict[str, bool]:
    names = {"q": "query_bias", "k": "key_bias", "v": "value_bias", "o": "output_bias"}
    return {names[letter]: True for letter in letters}


def rotary(size: int, pairing: Pairing = HALF, **more: Any) -> Rotary:
    return Rotary(size=size, pairing=pairing, **more)


def rms(eps: fmpq = ZERO, **more: Any) -> Norm:
    return Norm(kind=NormKind.RMS, eps=eps, **more)


def layer(eps: fmpq = ZERO, **more: Any) -> Norm:
    return Norm(kind=NormKind.LAYER, eps=eps, **more)


def normed(scope: Scope, norm: Norm) -> QueryKeyNorm:
    return QueryKeyNorm(norm=norm, scope=scope)


def table(buckets: int, distance: int, bidirectional: bool) -> RelativeBias:
    return RelativeBias(buckets=buckets, max_distance=distance, bidirectional=bidirectional)


def latent(rank: int, norm: Norm | None = None, bias: bool = False) -> Latent:
    return Latent(rank=rank, norm=norm, bias=bias)


SHARED, SEPARATE, WIDTH = Scope.SHARED, Scope.SEPARATE, Scope.WIDTH
DECOUPLED = rotary(2, INTERLEAVED, shared_key=True)

VARIANTS: dict[str, list[AttentionSpec]] = {
    "plain": [of(2, 1), of(4, 2), of(6, 3), of(6, 2)],
    "head sizes apart": [
        of(5, 2, head_size=3, value_size=2),
        of(4, 1, head_size=2, value_size=3),
        of(3, 3, head_size=1),
    ],
    "groups": [of(4, 2, 1), of(6, 3, 1), of(4, 4, 2), of(5, 4, 2, head_size=2, value_size=1)],
    "larger than the width": [
        of(3, 1, head_size=5),
        of(2, 2, head_size=3),
        of(3, 2, head_size=4, value_size=5),
        of(3, 1, value_size=4, **biases("vo")),
        of(3, 2, 1, head_size=5, **biases("qkvo")),
        of(2, 4, 2, head_size=7, **biases("qv")),
        of(3, 2, value_size=5, head_size=2, **biases("v")),
        of(2, 2, head_size=6, rotary=rotary(2), **biases("qkvo")),
    ],
    "all biases": [of(4, 2, **biases("qkvo")), of(6, 3, **biases("qkvo")), of(6, 2, **biases("qkvo"))],
    "some biases": [
        of(4, 2, **biases("q")),
        of(4, 2, **biases("kv")),
        of(6, 2, 1, **biases("qo")),
        of(4, 4, **biases("ko")),
    ],
    "no output bias": [
        of(4, 2, **biases("qkv")),
        of(6, 2, **biases("qkv")),
        of(6, 3, 1, **biases("v")),
        of(4, 2, value_size=3, **biases("v")),
    ],
    "rotation": [
        of(4, 2, rotary=rotary(2)),
        of(8, 2, rotary=rotary(4)),
        of(6, 1, rotary=rotary(6, INTERLEAVED)),
        of(8, 2, rotary=rotary(4, base=fmpq(10000))),
        of(9, 1, head_size=8, rotary=rotary(8, base=fmpq(10000))),
    ],
    "partial rotation": [
        of(6, 2, rotary=rotary(2)),
        of(8, 2, rotary=rotary(2, INTERLEAVED)),
        of(5, 1, rotary=rotary(4)),
        of(6, 2, rotary=rotary(2, base=fmpq(10000)), **biases("kvo")),
    ],
    "rotation, groups and biases": [
        of(4, 2, 1, rotary=rotary(2), **biases("qkvo")),
        of(8, 4, 2, rotary=rotary(2), **biases("qkv")),
        of(8, 2, 1, rotary=rotary(4, base=fmpq(500000)), **biases("qkv")),
        of(6, 2, 1, rotary=rotary(2), **biases("qkvo")),
    ],
    "normed queries and keys": [
        of(5, 2, head_size=2, query_key_norm=normed(SHARED, rms())),
        of(5, 2, 1, head_size=3, query_key_norm=normed(SHARED, rms())),
        of(6, 2, head_size=4, query_key_norm=normed(SHARED, rms())),
        of(5, 2, head_size=2, query_key_norm=normed(SEPARATE, rms())),
        of(5, 2, head_size=3, query_key_norm=normed(SHARED, rms(scale=False))),
    ],
    "normed and rotated": [
        of(5, 2, head_size=2, rotary=rotary(2), query_key_norm=normed(SHARED, rms())),
        of(5, 2, 1, head_size=4, rotary=rotary(4, base=fmpq(10000)), query_key_norm=normed(SHARED, rms())),
        of(6, 2, head_size=4, rotary=rotary(2), query_key_norm=normed(SHARED, rms())),
        of(6, 2, 1, head_size=3, rotary=rotary(2), query_key_norm=normed(SEPARATE, rms())),
        of(6, 2, head_size=3, rotary=rotary(2), query_key_norm=normed(SHARED, rms(scale=False))),
    ],
    "normed at positive eps": [
        of(5, 2, head_size=2, query_key_norm=normed(SHARED, rms(SMALL))),
        of(5, 2, 1, head_size=3, rotary=rotary(2), query_key_norm=normed(SHARED, rms(SMALL))),
        of(6, 2, head_size=4, rotary=rotary(4), query_key_norm=normed(SHARED, rms(SMALL)), **biases("qk")),
    ],
    "normed over the full width": [
        of(6, 2, head_size=2, rotary=rotary(2), query_key_norm=normed(WIDTH, rms())),
        of(7, 2, 1, head_size=3, rotary=rotary(2), query_key_norm=normed(WIDTH, rms())),
        of(9, 2, head_size=4, rotary=rotary(4), query_key_norm=normed(WIDTH, rms())),
        of(7, 2, head_size=3, query_key_norm=normed(WIDTH, rms(SMALL))),
    ],
    "layer norm of queries and keys": [
        of(6, 2, head_size=4, query_key_norm=normed(SHARED, layer())),
        of(6, 2, head_size=4, query_key_norm=normed(SEPARATE, layer(shift=True))),
        of(6, 2, 1, head_size=4, rotary=rotary(2), query_key_norm=normed(SEPARATE, layer(SMALL, shift=True))),
        of(6, 1, head_size=5, query_key_norm=normed(SHARED, layer(scale=False)), **biases("qk")),
    ],
    "latent": [
        of(4, 2, key_value_latent=latent(3)),
        of(5, 2, head_size=2, key_value_latent=latent(4)),
        of(6, 2, head_size=2, value_size=3, key_value_latent=latent(4), query_latent=latent(3)),
    ],
    "normed latent": [
        of(4, 2, key_value_latent=latent(3, rms())),
        of(5, 2, head_size=2, key_value_latent=latent(4, rms())),
        of(6, 2, head_size=2, value_size=3, key_value_latent=latent(4, rms(SMALL), bias=True)),
    ],
    "latent with decoupled rotated key": [
        of(5, 2, head_size=3, value_size=2, key_value_latent=latent(3), rotary=DECOUPLED),
        of(5, 2, head_size=4, value_size=2, key_value_latent=latent(4, rms()), rotary=DECOUPLED),
        of(
            6,
            2,
            head_size=4,
            value_size=2,
            key_value_latent=latent(4, rms(SMALL), bias=True),
            rotary=DECOUPLED,
        ),
    ],
    "query latent": [
        of(5, 2, head_size=3, value_size=2, key_value_latent=latent(3, rms()), query_latent=latent(3, rms())),
        of(
            6,
            2,
            head_size=3,
            key_value_latent=latent(3, rms()),
            query_latent=latent(4, rms()),
            rotary=DECOUPLED,
        ),
        of(
            6,
            2,
            head_size=4,
            key_value_latent=latent(4, rms(SMALL)),
            query_latent=latent(3, rms(SMALL)),
            rotary=DECOUPLED,
        ),
    ],
    "sinks with biases": [
        of(4, 2, sinks=Sinks.LEARNED, **biases("qkvo")),
        of(6, 2, 1, sinks=Sinks.LEARNED, rotary=rotary(2), **biases("qkvo")),
        of(4, 2, sinks=Sinks.ONE, **biases("qkvo")),
        of(2, 2, head_size=4, sinks=Sinks.LEARNED, **biases("qkvo")),
    ],
    "soft-capping": [
        of(4, 2, soft_cap=fmpq(50), **biases("qkvo")),
        of(6, 2, 1, soft_cap=fmpq(50), rotary=rotary(2)),
        of(6, 3, soft_cap=fmpq(30), **biases("k")),
    ],
    "linear biases of scores": [
        of(4, 2, alibi=True, **biases("qkvo")),
        of(8, 8, alibi=True),
        of(6, 3, alibi=True),
    ],
    "relative-bias table": [
        of(4, 2, relative_bias=table(6, 5, True), causal=False),
        of(4, 2, relative_bias=table(4, 4, False)),
        of(6, 3, relative_bias=table(8, 9, True), causal=False),
        of(4, 2, relative_bias=table(6, 5, True), causal=False, sinks=Sinks.LEARNED, **biases("qkvo")),
        of(2, 2, head_size=4, relative_bias=table(4, 4, False), sinks=Sinks.ONE, **biases("qkvo")),
    ],
    "norm after": [
        of(4, 2, norm_after=rms()),
        of(6, 2, norm_after=rms(), **biases("qkvo")),
        of(4, 2, norm_after=rms(SMALL)),
        of(6, 2, norm_after=layer(shift=True), **biases("vo")),
        of(4, 2, value_size=3, norm_after=layer(SMALL, shift=True), **biases("v")),
    ],
    "norm before": [
        of(4, 2, norm_before=rms()),
        of(6, 2, 1, norm_before=rms(SMALL), rotary=rotary(2)),
        of(6, 2, norm_before=layer(SMALL, shift=True), **biases("qkvo")),
        of(4, 2, norm_before=layer(shift=True)),
        of(6, 2, norm_before=layer(), rotary=rotary(2), **biases("q")),
        of(4, 2, head_size=3, norm_before=layer(shift=True), rotary=rotary(2), **biases("q")),
        of(
            5,
            2,
            head_size=3,
            norm_before=rms(SMALL),
            key_value_latent=latent(3, rms(SMALL)),
            rotary=DECOUPLED,
        ),
    ],
    "cross-attention": [
        of(4, 2, source_width=3, causal=False),
        of(6, 2, source_width=5, causal=False, **biases("qkvo")),
        of(4, 2, 1, source_width=6, causal=False, norm_before=layer(SMALL, shift=True), **biases("qvo")),
    ],
    "tied projections": [
        *(
            of(4, 2, 1 if tie is Tie.QUERY_HEADS else 2, ties=frozenset({tie}), **biases("qkvo"))
            for tie in Tie
        ),
        of(6, 2, ties=frozenset({Tie.QUERY_KEY, Tie.KEY_VALUE}), **biases("qkvo")),
        of(6, 2, ties=frozenset({Tie.KEY_VALUE}), rotary=rotary(2), **biases("kv")),
        of(6, 2, ties=frozenset({Tie.QUERY_KEY}), rotary=rotary(2)),
    ],
}

CASES = [(f"{name} {k}", spec) for name, specs in VARIANTS.items() for k, spec in enumerate(specs)]
