"""Every transformation leaves the layer's function as it is; where it would not, it is refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, reject
from hypothesis import strategies as st
from plain_attention import outputs

from exactattn.checkpoint import (
    AttentionWeights,
    Moved,
    Which,
    canonical_basis,
    canonicalize,
    centre_output,
    fold_norms,
    imbalance,
    move_value_bias,
    permute_heads,
    rebalance,
    reorder_dimensions,
    zero_key_bias,
)
from exactattn.checkpoint.rebalance import balanced_symmetries
from exactattn.exceptions import InputError
from exactattn.identify import AttentionSpec, Norm, NormKind, Pairing, QueryKeyNorm, Rotary, Scope, Sinks
from exactattn.identify.parameters import parameter_shapes

BIASES = {"query_bias": True, "key_bias": True, "value_bias": True, "output_bias": True}
RMS = Norm(kind=NormKind.RMS, eps=fmpq(1, 100))
LAYER = Norm(kind=NormKind.LAYER, eps=fmpq(1, 100), shift=True)
HALVES = Rotary(size=4, pairing=Pairing.HALF_SPLIT)


def spec(**features: Any) -> AttentionSpec:
    features = {"groups": 2, "head_size": 4, "value_size": 3, **features}
    return AttentionSpec.of(10, 4, **features)


SPECS = {
    "plain": spec(),
    "biased": spec(**BIASES),
    "ungrouped": spec(groups=4, **BIASES),
    "rotated": spec(rotary=HALVES, **BIASES),
    "interleaved": spec(head_size=6, rotary=Rotary(size=4, pairing=Pairing.INTERLEAVED), **BIASES),
    "partly rotated": spec(head_size=6, rotary=HALVES, **BIASES),
    "sinks": spec(sinks=Sinks.LEARNED, **BIASES),
    "capped": spec(soft_cap=fmpq(3), **BIASES),
    "alibi": spec(alibi=True, **BIASES),
    "window": spec(window=3, causal=False),
    "normed": spec(norm_before=LAYER, **BIASES),
    "normed, no key bias": spec(norm_before=LAYER, **{**BIASES, "key_bias": False, "value_bias": False}),
    "RMS-normed": spec(norm_before=RMS, rotary=HALVES),
    "normed heads": spec(query_key_norm=QueryKeyNorm(norm=RMS, scope=Scope.SHARED), rotary=HALVES),
    "layer-normed heads": spec(query_key_norm=QueryKeyNorm(norm=LAYER, scope=Scope.SHARED), **BIASES),
}


def random_weights(architecture: AttentionSpec, seed: int = 0, shifted: bool = False) -> AttentionWeights:
    rng = np.random.default_rng(seed)
    arrays = {name: rng.standard_normal(shape) for name, shape in parameter_shapes(architecture).items()}
    scales = frozenset(name for name in arrays if name.endswith(" scale")) if shifted else frozenset()
    return AttentionWeights(0, "layers 0", architecture, arrays, scales)


def tokens(width: int = 10) -> Any:
    return np.random.default_rng(99).standard_normal((6, width))


def assert_same(old: AttentionWeights, new: AttentionWeights, but_a_mean: bool = False) -> None:
    before, after = outputs(old, tokens()), outputs(new, tokens())
    if but_a_mean:
        before = before - before.mean(axis=1, keepdims=True)
        after = after - after.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(after.astype(float), before.astype(float), rtol=1e-10, atol=1e-10)


def attempted(transformation: Callable[[AttentionWeights], Moved], weights: AttentionWeights) -> Any:
    try:
        return transformation(weights)
    except InputError as error:
        return error


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("name", SPECS)
def test_rebalancing_keeps_the_function_and_balances(name: str, shifted: bool) -> None:
    """Breaks: I 5.2: W_Q W_Qᵀ = W_K W_Kᵀ after rebalancing, planes and groups and norm scales included."""
    old = random_weights(SPECS[name], shifted=shifted)
    moved = rebalance(old)
    assert_same(old, moved.weights)
    assert moved.notes == ()
    assert imbalance(old) > 1e-2
    assert imbalance(moved.weights) < 1e-13
    assert len(moved.elements) == len(list(balanced_symmetries(old.spec)))
    once = rebalance(moved.weights).weights.parameters
    for key, array in moved.weights.parameters.items():
        np.testing.assert_allclose(once[key], array, atol=1e-11)


@pytest.mark.parametrize("which", Which)
def test_only_what_is_asked_for_moves(which: Which) -> None:
    """Breaks: --which."""
    old = random_weights(SPECS["biased"])
    new = rebalance(old, which).weights.parameters
    moved = {name for name, array in old.parameters.items() if not np.array_equal(array, new[name])}
    qk, vo = {"query", "query bias", "key", "key bias"}, {"value", "value bias", "output"}
    assert moved == {Which.QUERY_KEY: qk, Which.VALUE_OUTPUT: vo, Which.ALL: qk | vo}[which]


def test_no_balanced_weights_are_nearer() -> None:
    """Breaks: "nearest to the old weights": every rotation of the balanced pair is further away."""
    old = random_weights(spec(groups=4))
    new = rebalance(old).weights

    def distance(parameters: Any) -> float:
        return sum(float(((parameters[n] - old.parameters[n])[:4] ** 2).sum()) for n in ("query", "key"))

    rng = np.random.default_rng(1)
    for size in (1e-3, 0.1, 1.0):
        for _ in range(20):
            turn = np.linalg.qr(np.eye(4) + size * rng.standard_normal((4, 4)))[0]
            other = {n: turn @ new.parameters[n][:4] for n in ("query", "key")}
            assert distance({n: np.vstack([other[n], new.parameters[n][4:]]) for n in other}) >= distance(
                new.parameters
            )


@given(st.sampled_from(sorted(SPECS)), st.integers(0, 2**20))
def test_layers_equal_up_to_symmetry_have_one_canonical_form(name: str, seed: int) -> None:
    """Breaks: "unique": a random element of the symmetry group before does not show after."""
    old = random_weights(SPECS[name], seed)
    source, moved = random.Random(seed), dict(old.parameters)
    for symmetry, _ in balanced_symmetries(old.spec):
        try:
            moved = symmetry.transformed(moved, source, lambda x: float(x.p) / float(x.q))
        except ZeroDivisionError:  # the matrix drawn has no inverse
            reject()
        moved = {key: np.asarray(array, dtype=float) for key, array in moved.items()}
    other = old.with_parameters(moved)
    form, same = canonicalize(old), canonicalize(other)
    assert_same(old, form.weights)
    if not any("too close" in note for note in form.notes):
        for key, array in form.weights.parameters.items():
            np.testing.assert_allclose(same.weights.parameters[key], array, rtol=1e-6, atol=1e-6)


def test_canonical_singular_values_fall_and_signs_are_fixed() -> None:
    """Breaks: the stated form: Σ^(1/2) Uᵀ and Σ^(1/2) Vᵀ, largest entries of the keys positive."""
    new = canonical_basis(random_weights(SPECS["plain"])).weights.parameters
    key = new["key"][:4]
    gram = key @ key.T
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-12)
    assert (np.diff(np.diag(gram)) < 0).all()
    assert (key[np.arange(4), np.abs(key).argmax(axis=1)] > 0).all()


def test_lower_rank_is_left_alone_and_noted() -> None:
    """Breaks: elements that are not invertible: a dead dimension has no balanced form."""
    old = random_weights(SPECS["plain"])
    old.parameters["query"][[0, 4]] = 0
    moved = rebalance(old)
    assert_same(old, moved.weights)
    (note,) = moved.notes
    assert note.startswith("basis of queries and keys, group 0")
    assert "lower rank" in note


def test_equal_singular_values_are_noted() -> None:
    """Breaks: calling a form unique that is not."""
    old = random_weights(spec(groups=4, head_size=2))
    old.parameters["query"][:2] = np.eye(2, 10)
    old.parameters["key"][:2] = np.eye(2, 10)
    assert any("too close" in note for note in canonical_basis(old).notes)


KEY_BIAS = {
    "plain": "no key bias",
    "rotated": "depend on the position",
    "sinks": "sinks see",
    "capped": "soft-capping",
    "normed heads": "no key bias",
    "layer-normed heads": "norm of the keys mixes",
}


@pytest.mark.parametrize("name", ["biased", "alibi", "partly rotated", "interleaved", *KEY_BIAS])
def test_key_bias(name: str) -> None:
    """Breaks: I 4.7.1 with its hypotheses: inert for plain softmax, else refused with the reason."""
    old = random_weights(SPECS[name])
    if name in KEY_BIAS:
        with pytest.raises(InputError, match=KEY_BIAS[name]):
            zero_key_bias(old)
        return
    new = zero_key_bias(old)
    assert_same(old, new.weights)
    bias = new.weights.parameters["key bias"].reshape(2, -1)
    assert not bias[:, old.spec.rotated :].any()
    assert bool(new.notes) == bool(old.spec.rotated) == bool(bias.any())


@pytest.mark.parametrize("name", ["rotated", "sinks", "capped"])
def test_a_refused_key_bias_matters(name: str) -> None:
    """Breaks: a refusal without need: dropping the bias there does change the function."""
    old = random_weights(SPECS[name])
    dropped = old.with_parameters({"key bias": np.zeros_like(old.parameters["key bias"])})
    assert np.abs(outputs(old, tokens()) - outputs(dropped, tokens())).max() > 1e-3


def test_value_bias() -> None:
    """Breaks: I 4.7.2 with its hypotheses: into the output bias, not with sinks, not without one."""
    for name in ("biased", "rotated", "capped", "normed"):
        old = random_weights(SPECS[name])
        new = move_value_bias(old).weights
        assert_same(old, new)
        assert not new.parameters["value bias"].any()
    for architecture, reason in (
        (SPECS["sinks"], "do not sum to 1"),
        (SPECS["plain"], "no value bias"),
        (spec(value_bias=True), "no output bias"),
    ):
        with pytest.raises(InputError, match=reason):
            move_value_bias(random_weights(architecture))


@pytest.mark.parametrize("name", ["normed", "normed, no key bias", "RMS-normed"])
@pytest.mark.parametrize("shifted", [False, True])
def test_norms_fold_into_projections(name: str, shifted: bool) -> None:
    """Breaks: γ and β in the next projections; β through an inert key, and through values to b_O."""
    old = random_weights(SPECS[name], shifted=shifted)
    new = fold_norms(old).weights
    assert_same(old, new)
    scale = new.parameters["before scale"]
    assert (scale == (0 if shifted else 1)).all()
    assert not new.parameters.get("before shift", np.zeros(1)).any()


def test_norms_that_cannot_fold_are_refused() -> None:
    """Breaks: folding a norm that something else reads, or a shift with no bias to take it."""
    shared = replace(random_weights(SPECS["normed"]), norm_is_shared="the feed-forward network reads it")
    no_bias = spec(norm_before=LAYER, rotary=HALVES)
    open_rows = spec(norm_before=LAYER, **{**BIASES, "value_bias": False}, sinks=Sinks.LEARNED)
    rotated_key = spec(norm_before=LAYER, **{**BIASES, "key_bias": False}, rotary=HALVES)
    for weights, reason in (
        (random_weights(SPECS["plain"]), "no norm with scales"),
        (shared, "feed-forward"),
        (random_weights(no_bias), "a bias in the query projection"),
        (random_weights(open_rows), "a bias in the value projection"),
        (random_weights(rotated_key), "a bias in the key projection"),
    ):
        with pytest.raises(InputError, match=reason):
            fold_norms(weights)


def test_centring() -> None:
    """Breaks: outputs of mean 0 only where layer norms read them."""
    old = random_weights(SPECS["normed"])
    new = centre_output(old).weights
    assert_same(old, new, but_a_mean=True)
    np.testing.assert_allclose(outputs(new, tokens()).mean(axis=1).astype(float), 0, atol=1e-12)
    for architecture, reason in (
        (SPECS["RMS-normed"], "RMS norms"),
        (SPECS["plain"], "not known"),
        (spec(norm_after=RMS), "RMS norm after"),
    ):
        with pytest.raises(InputError, match=reason):
            centre_output(random_weights(architecture))


def test_heads_change_places_within_their_groups_only() -> None:
    """Breaks: permuting grouped heads across groups."""
    for name in ("biased", "rotated", "sinks", "normed heads"):
        old = random_weights(SPECS[name])
        assert_same(old, permute_heads(old, [3, 2, 0, 1]).weights)
    old = random_weights(SPECS["biased"])
    for order, reason in (([0, 2, 1, 3], "across groups"), ([0, 0, 1, 2], "each once")):
        with pytest.raises(InputError, match=reason):
            permute_heads(old, order)
    with pytest.raises(InputError, match="ALiBi"):
        permute_heads(random_weights(SPECS["alibi"]), [1, 0, 2, 3])


def test_rotated_dimensions_stay_where_they_are() -> None:
    """Breaks: another pairing of rotated dimensions: only unrotated ones may be reordered."""
    for name, order in (("biased", [3, 1, 0, 2]), ("partly rotated", [0, 1, 2, 3, 5, 4])):
        old = random_weights(SPECS[name])
        assert_same(old, reorder_dimensions(old, order).weights)
    for name, order in (("partly rotated", [0, 2, 1, 3, 4, 5]), ("rotated", [1, 0, 3, 2])):
        with pytest.raises(InputError, match="partner and its angle"):
            reorder_dimensions(random_weights(SPECS[name]), order)
    with pytest.raises(InputError, match="normed or latent"):
        reorder_dimensions(random_weights(SPECS["normed heads"]), [0, 1, 3, 2])
    with pytest.raises(InputError, match="each once"):
        reorder_dimensions(random_weights(SPECS["biased"]), [0, 1, 2])


def test_canonical_form_does_what_is_allowed_and_notes_the_rest() -> None:
    """Breaks: canonicalize on architectures that forbid some of it."""
    new = canonicalize(random_weights(SPECS["sinks"]), norms=True)
    assert_same(random_weights(SPECS["sinks"]), new.weights)
    assert [note.split(":")[0] for note in new.notes] == ["norm kept", "key bias kept", "value bias kept"]
    both = canonicalize(random_weights(SPECS["normed"]), norms=True)
    assert both.notes == ()
    assert not both.weights.parameters["key bias"].any()
    assert canonicalize(random_weights(SPECS["biased"]), biases=False).weights.parameters["key bias"].any()
