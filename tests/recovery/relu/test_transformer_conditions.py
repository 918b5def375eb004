"""Planted violations of the conditions: handled, or ended by a named refusal; nothing silently wrong."""

from __future__ import annotations

from typing import Any

import pytest
from flint import fmpq
from relu_cases import kink_spacing, recovered, require_equal, teacher

from exactattn.exceptions import ConditionViolated, ExactAttnError, InconsistentAnswers
from exactattn.model import Query, random_layer
from exactattn.model.random_transformer import Plant
from exactattn.model.relu_form import flat
from exactattn.model.transformer import Neuron, Transformer, stacked_outputs
from exactattn.numbers import LogLattice
from exactattn.oracle import FunctionOracle
from exactattn.oracle.transformer import TransformerOracle
from exactattn.recovery.relu import recover_transformer
from exactattn.recovery.relu.frozen import FrozenPath

LATTICE = LogLattice()
HANDLED: list[tuple[Plant, int, int, int]] = [
    ("duplicate neuron", 2, 3, 4),
    ("opposite neuron", 2, 3, 4),
    ("linear pair", 2, 3, 4),
    ("duplicate head", 2, 3, 3),
    ("cancelling heads", 3, 3, 3),
    ("hidden head", 2, 3, 4),
    ("wedge head", 2, 3, 4),
    ("zero block sum", 2, 3, 4),
    ("parallel block sums", 2, 3, 4),
]
REFUSED: list[tuple[Plant, int, int, int]] = [
    ("zero block sum", 2, 2, 3),
    ("parallel block sums", 2, 2, 4),
]
EITHER: list[tuple[Plant, int, int, int]] = [
    ("dependent block sums", 2, 3, 4),
    ("dependent block sums", 2, 2, 4),
]
GAPS = (4, 8, 12, 16, 20)


def exact_or_refused(model: Transformer, seed: int, **options: Any) -> bool:
    """True for an exact answer, False for a named refusal; a wrong answer fails."""
    try:
        result = recovered(model, seed, **options)
    except ConditionViolated:
        return False
    require_equal(result, model, queries=10)
    return True


@pytest.mark.parametrize(("plant", "heads", "dim", "neurons"), HANDLED)
def test_handled_plants(plant: Plant, heads: int, dim: int, neurons: int) -> None:
    """Breaks: coincidences that the method covers, by merging, region recovery or the frozen walk."""
    for seed in range(100, 102):
        assert exact_or_refused(teacher(heads, dim, neurons, seed, plant=plant), seed)


@pytest.mark.slow
@pytest.mark.parametrize(("plant", "heads", "dim", "neurons"), HANDLED)
def test_fifty_handled_plants(plant: Plant, heads: int, dim: int, neurons: int) -> None:
    """Breaks: the same, for fifty models each."""
    for seed in range(50):
        assert exact_or_refused(teacher(heads, dim, neurons, seed, plant=plant), seed), seed


@pytest.mark.parametrize(("plant", "heads", "dim", "neurons"), REFUSED)
def test_refused_plants(plant: Plant, heads: int, dim: int, neurons: int) -> None:
    """Breaks: for d ≤ H such neurons do not show, and the refusal must say so."""
    with pytest.raises(ConditionViolated, match="blocks add up to 0, two whose sums are parallel"):
        recovered(teacher(heads, dim, neurons, 100, plant=plant), 100)


@pytest.mark.slow
@pytest.mark.parametrize(("plant", "heads", "dim", "neurons"), REFUSED)
def test_fifty_refused_plants(plant: Plant, heads: int, dim: int, neurons: int) -> None:
    """Breaks: the same, for fifty models each."""
    for seed in range(50):
        assert not exact_or_refused(teacher(heads, dim, neurons, seed, plant=plant), seed), seed


@pytest.mark.parametrize(("plant", "heads", "dim", "neurons"), EITHER)
def test_dependent_sums_are_never_wrong(plant: Plant, heads: int, dim: int, neurons: int) -> None:
    """Breaks: a bump that looks like one piece; other paths, or the frozen walk, or a refusal."""
    assert all(exact_or_refused(teacher(heads, dim, neurons, s, plant=plant), s) for s in range(100, 102))


@pytest.mark.slow
@pytest.mark.parametrize(("plant", "heads", "dim", "neurons"), EITHER)
def test_fifty_dependent_sums(plant: Plant, heads: int, dim: int, neurons: int) -> None:
    """Breaks: the same, for fifty models each; most must be answered."""
    answered = sum(
        exact_or_refused(teacher(heads, dim, neurons, seed, plant=plant), seed) for seed in range(50)
    )
    assert answered >= 45


@pytest.mark.parametrize("gap", GAPS)
def test_near_parallel_pairs(gap: int) -> None:
    """Breaks: kinks 2^-20 apart; with K known the answer is exact, however long the walk."""
    for seed in range(100, 102):
        assert exact_or_refused(teacher(2, 3, 4, seed, plant="near-parallel pair", gap=gap), seed)


@pytest.mark.parametrize("gap", [60, 90])
def test_pairs_nearer_than_any_bracket(gap: int) -> None:
    """Breaks: kinks closer than the narrowest bracket: exact, or a named refusal, also in frozen walks."""
    for seed in range(4):
        exact_or_refused(teacher(2, 3, 3, seed, plant="near-parallel pair", gap=gap), seed)


def test_a_hidden_pair_is_missed_when_nothing_is_known() -> None:
    """Breaks: the label. Answers that a pair 2^-40 apart does not change cannot show it: some runs end with
    another function, and none of them may be called certified."""
    results = []
    for seed in range(6):
        model = teacher(2, 2, 3, seed, plant="near-parallel pair", gap=40)
        result = recovered(model, seed, neurons=None)
        assert not result.certified
        assert "unknown completeness" in result.completeness
        results.append(result.matches(model))
    assert not all(results)


@pytest.mark.slow
@pytest.mark.parametrize("gap", GAPS)
def test_fifty_near_parallel_pairs(gap: int) -> None:
    """Breaks: the same, for fifty models each, with K known, and with the kink spacing known."""
    for seed in range(50):
        model = teacher(2, 3, 4, seed, plant="near-parallel pair", gap=gap)
        result = recovered(model, seed)
        require_equal(result, model, queries=10)
        if not isinstance(result.path, FrozenPath):
            assert exact_or_refused(model, seed, kink_spacing=kink_spacing(model, result.path))


def test_spacing_with_neurons_that_do_not_show() -> None:
    """Breaks: with δ alone, two parallel sums look like one kink, and a zero sum like none: never a wrong
    answer that is called certified."""
    for plant in ("zero block sum", "parallel block sums"):
        for seed in range(8):
            model = teacher(2, 2, 3, seed, plant=plant)
            try:
                result = recovered(model, seed, kink_spacing=fmpq(1, 1 << 12))
            except ExactAttnError:
                continue
            assert result.matches(model)


def test_a_function_that_antisymmetric_queries_miss_entirely() -> None:
    """Breaks: F = |β·(z_1 − z_2)| vanishes on single tokens and has no antisymmetric part at all."""
    for seed in range(3):
        layer = random_layer(2, 3, seed=seed)
        beta = [layer.heads[0].v, tuple(-x for x in layer.heads[0].v)]
        minus = [tuple(-x for x in block) for block in beta]
        neurons = [Neuron.of(1, beta), Neuron.of(1, minus)]
        model = Transformer.of([h.W for h in layer.heads], neurons, dim=3)
        result = recovered(model, seed)
        require_equal(result, model, queries=10)
        assert isinstance(result.path, FrozenPath)


def biased(model: Transformer, seed: int) -> FunctionOracle:
    """The same network with a bias in every neuron."""

    def value(query: Query) -> fmpq:
        z = [x for row in stacked_outputs(model.matrices, model.residual, query, LATTICE) for x in row]
        total = fmpq(0)
        for k, neuron in enumerate(model.neurons):
            inner = sum((b * x for b, x in zip(flat(neuron.beta), z, strict=True)), fmpq(0))
            total += neuron.a * max(fmpq(0), inner + 1 + (seed + k) % 7)
        return total

    return FunctionOracle(value, model.dim)


@pytest.mark.parametrize("seed", range(3))
def test_biases_are_refused(seed: int) -> None:
    """Breaks: a network with biases is not homogeneous, and the refusal must name that."""
    with pytest.raises(ConditionViolated, match="biases") as caught:
        recover_transformer(biased(teacher(2, 3, 3, seed), seed), 2, neurons=3, seed=seed)
    assert caught.value.condition == "no biases in the network"


@pytest.mark.slow
def test_fifty_networks_with_biases() -> None:
    """Breaks: the same, for fifty networks."""
    for seed in range(50):
        test_biases_are_refused(seed)


def test_the_largest_entry_of_the_last_token() -> None:
    """Breaks: max(x, y) = (x + y + |x − y|)/2 is a network with a residual and no head, and is found as one;
    without a residual it is refused."""
    largest = FunctionOracle(lambda query: max(query.last), 2)
    result = recover_transformer(largest, 1, neurons=1, residual=True)
    assert result.heads == ()
    assert result.form.kinks == ((1, ((fmpq(1), fmpq(-1)),)),)
    with pytest.raises(InconsistentAnswers, match="is there a residual"):
        recover_transformer(largest, 1, neurons=1)


@pytest.mark.parametrize("seed", range(4))
def test_two_hidden_layers_are_refused(seed: int) -> None:
    """Breaks: a deeper network is homogeneous and piecewise linear too; it must not pass for this one."""
    inner, outer = teacher(2, 3, 2, seed), teacher(2, 3, 1, seed + 50)

    def value(query: Query) -> fmpq:
        return abs(inner(query, LATTICE)) + max(fmpq(0), inner(query, LATTICE) - outer(query, LATTICE))

    for neurons in (3, 4):
        with pytest.raises(ExactAttnError):
            recover_transformer(FunctionOracle(value, 3), 2, neurons=neurons, seed=seed)


@pytest.mark.parametrize("seed", range(3))
def test_wrong_numbers_of_neurons_are_noticed(seed: int) -> None:
    """Breaks: a number of neurons that is not true must not give a certified wrong answer here."""
    model = teacher(2, 3, 4, seed)
    oracle = TransformerOracle(model)
    with pytest.raises(ConditionViolated):
        recover_transformer(oracle, 2, neurons=5, seed=seed)
    with pytest.raises((ConditionViolated, InconsistentAnswers)):
        recover_transformer(oracle, 2, neurons=3, seed=seed)


def test_too_few_heads_are_refused() -> None:
    """Breaks: more heads than the bound."""
    with pytest.raises(InconsistentAnswers):
        recovered(teacher(3, 3, 3, 1), 1, heads=2)


def test_tokens_of_one_entry_are_refused() -> None:
    """Breaks: on a line every path from b to −b meets 0, where all kinks are."""
    with pytest.raises(ConditionViolated, match="at least 2 entries"):
        recovered(teacher(1, 1, 1, 1), 1)


def test_residual_without_the_frozen_walk_is_refused() -> None:
    """Breaks: the frozen walk keeps the last token, so it cannot see the residual's block."""
    with pytest.raises(ConditionViolated, match="with a residual"):
        recovered(teacher(2, 3, 3, 1, plant="zero block sum", residual=True), 1)
