"""The certificate of a rounding: exact distances, and bounds that no tokens exceed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq
from plain_attention import outputs
from test_transformations import BIASES, LAYER, RMS, SPECS, random_weights, spec

from exactattn.checkpoint import AttentionWeights, Dyadic, fold_norms, layer_change, rebalance
from exactattn.exceptions import InputError
from exactattn.identify import AttentionSpec, Latent


def rounded(weights: AttentionWeights, bits: int = 8) -> AttentionWeights:
    """All numbers with so many leading bits."""
    arrays = {}
    for name, array in weights.parameters.items():
        fractions, exponents = np.frexp(array)
        arrays[name] = np.ldexp(np.round(np.ldexp(fractions, bits)), exponents - bits)
    return weights.with_parameters(arrays)


def exact_score_matrix(weights: AttentionWeights, head: int) -> Dyadic:
    h = weights.head(head)
    return (
        weights.exact_products(head).query_key_affine
        if h.query_bias is not None
        else (Dyadic.of(h.query).T @ Dyadic.of(h.key))
    )


@pytest.mark.parametrize("name", ["plain", "biased", "ungrouped"])
def test_distances_are_those_of_the_products(name: str) -> None:
    """Breaks: the exact numbers that the certificate states, against the matrices written out."""
    old = random_weights(SPECS[name])
    new = rounded(rebalance(old).weights)
    change = layer_change(old, new)
    assert len(change.heads) == 4
    for number, head in enumerate(change.heads):
        difference = exact_score_matrix(new, number) - exact_score_matrix(old, number)
        assert head.score_squared == difference.frobenius_squared() > 0
        values = new.exact_products(number).value_output - old.exact_products(number).value_output
        assert head.value_squared == values.frobenius_squared() > 0
        assert head.value_size_squared == old.exact_products(number).value_output.frobenius_squared()
    assert (change.constant_squared > 0) == ("biased" in name or name == "ungrouped")


def test_rotated_distances_are_those_of_all_relative_positions() -> None:
    """Breaks: planes: the complex square is that of the change at angle 0 and at a quarter turn."""
    old = random_weights(SPECS["rotated"])
    new = rounded(old)
    head = layer_change(old, new).heads[3]
    total = fmpq(0)
    for i, j in ((0, 2), (1, 3)):
        for sign in (1, -1):  # angle 0, and a quarter turn
            changes = []
            for weights in (old, new):
                h = weights.head(3)
                assert h.query_bias is not None
                assert h.key_bias is not None
                q = np.column_stack([h.query, h.query_bias])
                k = np.column_stack([h.key, h.key_bias])
                rows = [(q[i], k[i]), (q[j], k[j])] if sign == 1 else [(q[i], k[j]), (-q[j], k[i])]
                changes.append(
                    Dyadic.of(rows[0][0]) @ Dyadic.of(rows[0][1]).T
                    + Dyadic.of(rows[1][0]) @ Dyadic.of(rows[1][1]).T
                )
            total += (changes[1] - changes[0]).frobenius_squared()
    assert head.score_squared == total


def token_sets(width: int, norm: float) -> Any:
    rng = np.random.default_rng(3)
    for n in (1, 2, 7):
        x = rng.standard_normal((n, width))
        yield x * (norm / np.linalg.norm(x, axis=1, keepdims=True))


@pytest.mark.parametrize("bits", [4, 8, 20])
@pytest.mark.parametrize("name", SPECS)
def test_no_tokens_exceed_the_bound(name: str, bits: int) -> None:
    """Breaks: the certificate: outputs before and after; norms, sinks, caps, rotation, windows included."""
    old = random_weights(SPECS[name])
    moved = rebalance(old).weights.parameters
    new = rounded(old.with_parameters(dict(moved)), bits)
    same = {key: array for key, array in old.parameters.items() if np.array_equal(array, moved[key])}
    new = new.with_parameters(same)
    norm = fmpq(2)
    given = None if old.spec.norm_before is not None else norm
    bound = layer_change(old, new, given).output_bound
    assert bound is not None
    largest = 0.0
    for tokens in token_sets(10, 2.0):
        moved = np.linalg.norm((outputs(new, tokens) - outputs(old, tokens)).astype(float), axis=1).max()
        largest = max(largest, float(moved))
    assert 0 < largest <= bound
    if bits == 20:
        assert bound < 20_000 * largest


@pytest.mark.parametrize("name", ["normed", "normed, no key bias", "RMS-normed"])
def test_folded_norms_are_compared_with_what_reads_them(name: str) -> None:
    """Breaks: certificates of folding: exact where products of floats are, bounded where they are rounded."""
    old = random_weights(SPECS[name])
    coarse = rounded(old, 10)
    assert layer_change(coarse, fold_norms(coarse).weights).output_bound is not None
    new = rounded(fold_norms(old).weights, 12)
    bound = layer_change(old, new).output_bound
    assert bound is not None
    for tokens in token_sets(10, 3.0):
        moved = np.linalg.norm((outputs(new, tokens) - outputs(old, tokens)).astype(float), axis=1).max()
        assert moved <= bound


def test_an_exact_transformation_is_called_so() -> None:
    """Breaks: "unchanged": a change of basis by powers of two is exact, and its bound is 0."""
    old = random_weights(SPECS["biased"])
    factors = {"query": 2.0, "query bias": 2.0, "key": 0.5, "key bias": 0.5, "value": 4.0}
    factors |= {"value bias": 4.0, "output": 0.25}
    new = old.with_parameters({name: old.parameters[name] * x for name, x in factors.items()})
    change = layer_change(old, new, fmpq(1))
    assert change.unchanged
    assert change.output_bound == arb(0)
    broken = new.with_parameters({"query bias": new.parameters["query bias"] * 2})
    assert not layer_change(old, broken).unchanged


def test_an_inert_bias_does_not_count_and_a_seen_one_does() -> None:
    """Breaks: invariants that leave out a key bias that scores do see."""
    for name, seen in (
        ("biased", False),
        ("alibi", False),
        ("rotated", True),
        ("sinks", True),
        ("capped", True),
    ):
        old = random_weights(SPECS[name])
        new = old.with_parameters({"key bias": old.parameters["key bias"] + 1})
        assert layer_change(old, new).unchanged is not seen


def test_bounds_need_something_that_bounds_tokens() -> None:
    """Breaks: bounds out of nothing: no norm, another sequence, projections before a norm."""
    old = random_weights(SPECS["plain"])
    assert "bounds the norm of the tokens" in layer_change(old, rounded(old)).no_bound
    heads = random_weights(SPECS["normed heads"])
    moved = heads.with_parameters({"query": heads.parameters["query"] * 1.5})
    change = layer_change(heads, moved, fmpq(1))
    assert change.output_bound is None
    assert "in front of a norm" in change.no_bound
    assert change.inner_squared > 0
    with pytest.raises(InputError, match="must be positive"):
        layer_change(old, old, fmpq(0))
    with pytest.raises(InputError, match="different architectures"):
        layer_change(old, random_weights(SPECS["biased"]))


def test_latent_norms_bound_what_up_projections_read() -> None:
    """Breaks: bounds of latent attention: the scale of the latent norm counts, the token norm does not."""
    latent = Latent(rank=5, norm=RMS)
    architecture = spec(groups=4, query_latent=latent, key_value_latent=latent, norm_before=RMS)
    old = random_weights(architecture)
    new = rounded(old, 12)
    new = new.with_parameters({n: old.parameters[n] for n in old.parameters if " down" in n})
    change = layer_change(old, new.with_parameters({"before scale": old.parameters["before scale"]}))
    assert change.output_bound is not None
    assert change.inner_squared == 0
    larger = {"query latent scale": 2 * old.parameters["query latent scale"]}
    doubled = [
        w.with_parameters(larger) for w in (old, old.with_parameters({"query": new.parameters["query"]}))
    ]
    plain = layer_change(old, old.with_parameters({"query": new.parameters["query"]})).heads[0].score_bound
    twice = layer_change(*doubled).heads[0].score_bound
    assert plain is not None
    assert twice is not None
    assert twice > 1.99 * plain


def test_the_norm_of_cross_attention_is_not_that_of_the_other_sequence() -> None:
    """Breaks: bounding keys by the norm before, which only queries pass."""
    architecture = AttentionSpec.of(10, 2, source_width=8, causal=False, norm_before=LAYER, **BIASES)
    old = random_weights(architecture)
    assert layer_change(old, rounded(old)).no_bound
    assert layer_change(old, rounded(replace(old)), fmpq(3)).output_bound is not None
