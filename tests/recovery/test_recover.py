"""Recovery end to end: the canonical form comes back exactly, at the published count.

The oracle is built from a layer; the solver gets answers only, and the comparison comes after recovery.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from flint import arb, fmpq

from exactattn.exceptions import GenericityExhausted, InconsistentAnswers, PrecisionExhausted
from exactattn.model import Attention, Head, Query, random_layer
from exactattn.oracle import ExactOracle, FunctionOracle
from exactattn.recovery import TokenRange, recover

SIZES = [(H, d) for H in (1, 2, 3, 4, 6) for d in (1, 2, 3, 4, 5, 8)]
FAST = [(H, d) for H, d in SIZES if H * H * d * d <= 300]


def planted(heads: int, dim: int, seed: int) -> Attention:
    """A layer with a mix of duplicate and cancelling heads that depends on the seed."""
    rng = random.Random(f"{heads} {dim} {seed}")
    cancel = rng.randint(0, heads // 2)
    duplicates = rng.randint(0, max(0, heads - 2 * cancel - 1))
    if dim == 1:
        return random_layer(heads, dim, seed=seed, size=40, cancel=cancel, duplicates=duplicates)
    return random_layer(heads, dim, seed=seed, cancel=cancel, duplicates=duplicates)


def check_run(layer: Attention, bound: int, seed: int) -> None:
    """One run: exactly the canonical form, and the published counts."""
    result = recover(ExactOracle(layer), bound, denominator=layer.denominator(), seed=seed)
    assert result.matches(layer)
    assert result.layer.same_function(layer)
    assert result.longest <= 2 * bound + 1
    d = layer.dim
    formula = 4 * bound * d * d - 2 * bound + 1
    assert result.formula == formula
    if result.redraws == 0:
        assert result.queries == formula
        assert result.longest == 2 * bound + 1
    else:
        assert formula < result.queries <= formula * (1 + result.redraws)


@pytest.mark.parametrize(("heads", "dim"), FAST)
def test_random_layers_come_back_exactly(heads: int, dim: int) -> None:
    """Breaks: the main promise. Plain heads; then planted duplicates and cancellations; then H_0 > H."""
    size = 40 if dim == 1 else 5
    check_run(random_layer(heads, dim, seed=1, size=size), heads, seed=1)
    check_run(planted(heads, dim, 2), heads, seed=2)
    if heads * dim <= 12:
        check_run(planted(heads, dim, 3), heads + 1, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize(("heads", "dim"), SIZES)
def test_sweep_of_random_layers(heads: int, dim: int) -> None:
    """Breaks: the same over all sizes, twelve runs each (360 in all)."""
    size = 40 if dim == 1 else 5
    for seed in range(4):
        check_run(random_layer(heads, dim, seed=10 + seed, size=size), heads, seed)
        check_run(planted(heads, dim, 20 + seed), heads, seed)
        check_run(planted(heads, dim, 30 + seed), heads + 1 + seed % 2, seed)


def test_rational_layer_through_the_common_denominator() -> None:
    """Breaks: the specialisation lemma's use: rational W, exponents cleared by D, W itself returned."""
    layer = random_layer(2, 3, seed=4, denominator=6)
    assert layer.denominator() == 6
    check_run(layer, 2, seed=0)


def test_zero_function() -> None:
    """Breaks: all heads cancelled, and a layer without heads."""
    layer = random_layer(2, 2, seed=1, cancel=1)
    for zero in (layer, Attention.of([], dim=2)):
        result = recover(ExactOracle(zero), 2)
        assert result.heads == ()
        assert result.queries == 29


def test_bound_three_times_the_count() -> None:
    """Breaks: H_0 = 3H: 4·H_0·d² − 2·H_0 + 1 queries, rank decided, completeness said with its condition."""
    layer = random_layer(2, 2, seed=6)
    result = recover(ExactOracle(layer), 6)
    assert result.matches(layer)
    assert result.queries == 4 * 6 * 4 - 12 + 1
    assert "probability one" in result.completeness


def test_bound_below_the_number_of_heads_is_refused() -> None:
    """Breaks: a wrong bound must end in a named refusal, not in a wrong layer."""
    with pytest.raises(InconsistentAnswers):
        recover(ExactOracle(random_layer(3, 2, seed=1)), 2)


def test_coincidences_are_redrawn_and_counted() -> None:
    """Breaks: non-generic queries. Two heads equal on b = (1, 0): tokens of size 1 meet it often."""
    layer = Attention.of([Head.of([[1, 2], [3, 1]], [1, 2]), Head.of([[1, 2], [0, 4]], [2, -1])])
    redraws = []
    for seed in range(12):
        result = recover(ExactOracle(layer), 2, seed=seed, tokens=TokenRange(last=1, difference=3))
        assert result.matches(layer)
        redraws.append(result.redraws)
        assert (result.queries == 29) == (result.redraws == 0)
    assert any(redraws)


def test_redraws_end_in_a_named_error() -> None:
    """Breaks: an endless loop, when no redraw is allowed and the queries are not generic."""
    layer = Attention.of([Head.of([[1, 2], [3, 1]], [1, 2]), Head.of([[1, 2], [0, 4]], [2, -1])])
    tokens = TokenRange(last=1, difference=3)
    unlucky = next(s for s in range(40) if recover(ExactOracle(layer), 2, seed=s, tokens=tokens).redraws)
    with pytest.raises(GenericityExhausted):
        recover(ExactOracle(layer), 2, seed=unlucky, tokens=tokens, max_redraws=0)


def test_same_seed_same_run() -> None:
    """Breaks: reproducibility from the printed seed."""
    layer = random_layer(2, 3, seed=9)
    first, second = (recover(ExactOracle(layer), 2, seed=5) for _ in range(2))
    assert first.heads == second.heads
    assert first.plan == second.plan
    assert first.answers == second.answers


@pytest.mark.parametrize("wrong", [0, 1, 7, 20, 28])
def test_one_wrong_answer_is_refused(wrong: int) -> None:
    """Breaks: a lying oracle. Whichever answer is off, the run must end in a named refusal."""
    layer = random_layer(2, 2, seed=3)
    honest = ExactOracle(layer)
    asked: list[Query] = []

    def lie(query: Query) -> fmpq:
        from exactattn.numbers import LogLattice

        asked.append(query)
        (value,) = honest.answer([query], LogLattice())
        return value + fmpq(1, 1000) if len(asked) == wrong + 1 else value

    with pytest.raises(InconsistentAnswers):
        recover(FunctionOracle(lie, 2), 2)


def float_layer(heads: int, dim: int, seed: int) -> tuple[Attention, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    W, v = rng.standard_normal((heads, dim, dim)), rng.standard_normal((heads, dim))
    return Attention.of([Head.of(W[h].tolist(), v[h].tolist()) for h in range(heads)]), W, v


def assert_bit_for_bit(heads: int, dim: int, seed: int) -> None:
    layer, W, v = float_layer(heads, dim, seed)
    result = recover(ExactOracle(layer), heads, numbers="balls", seed=seed)
    assert result.matches(layer)
    assert result.queries == result.formula
    assert result.widest_radius() <= arb(10) ** -40
    found_W, found_v = result.float64()
    order = np.lexsort(found_v.T), np.lexsort(v.T)
    assert np.array_equal(found_W[order[0]], W[order[1]])
    assert np.array_equal(found_v[order[0]], v[order[1]])


@pytest.mark.parametrize(("heads", "dim"), [(1, 1), (2, 2), (3, 4), (6, 8)])
def test_float64_layers_come_back_bit_for_bit(heads: int, dim: int) -> None:
    """Breaks: real layers over balls; each enclosure holds exactly one float64, the true one."""
    assert_bit_for_bit(heads, dim, seed=7)


@pytest.mark.slow
@pytest.mark.parametrize(("heads", "dim"), [(6, 8), (8, 16)])
@pytest.mark.parametrize("seed", range(20))
def test_float64_layers_over_twenty_seeds(heads: int, dim: int, seed: int) -> None:
    """Breaks: the same at the size of the largest published extraction, and beyond."""
    assert_bit_for_bit(heads, dim, seed)


def test_balls_with_a_bound_say_unknown() -> None:
    """Breaks: honesty. Balls cannot prove that there is no further head; the heads found are right."""
    layer, _, _ = float_layer(2, 2, 1)
    result = recover(ExactOracle(layer), 3, numbers="balls")
    assert result.matches(layer)
    assert result.completeness.startswith("unknown")
    assert result.refinements > 0


def test_balls_agree_with_the_lattice() -> None:
    """Breaks: one of the two engines. A rational layer is recovered by both (base 2 scores and base e)."""
    layer = random_layer(2, 3, seed=11, denominator=4)
    exact = recover(ExactOracle(layer), 2, denominator=4)
    balls = recover(ExactOracle(layer), 2, numbers="balls")
    assert exact.matches(layer)
    assert balls.matches(exact.layer)


def test_float_answers_are_refused_not_guessed() -> None:
    """Breaks: a noisy oracle must end in a named refusal. float64 answers, taken as exact, are not those of
    any attention layer."""
    layer, _, _ = float_layer(2, 2, 3)
    from exactattn.model import evaluate
    from exactattn.numbers import Balls

    def rounded(query: Query) -> float:
        return float(evaluate(layer, query, Balls(128)))

    with pytest.raises((InconsistentAnswers, PrecisionExhausted)):
        recover(FunctionOracle(rounded, 2), 2, numbers="balls", max_precision=4096)
