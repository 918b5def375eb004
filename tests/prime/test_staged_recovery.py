"""The consistency and the optimal method in a prime field: counts, heads, exceptional probes, refusals."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prime_samples import is_recovered, random_prime_layer

from exactattn.exceptions import GenericityExhausted, InputError, PrecisionExhausted
from exactattn.prime import (
    UNDEFINED,
    WORD_PRIMES,
    PrimeField,
    PrimeLayer,
    PrimeRecovery,
    StagedBlockPlan,
    recover_prime,
    run_first,
    solve_staged_block,
    staged_answers,
)
from exactattn.prime.labels import unique_labels
from exactattn.prime.logarithms import logarithms
from exactattn.prime.staged_first import StagedFirst
from exactattn.recovery.counts import consistency_count, identified_count

Method = Literal["consistent", "optimal"]
methods = pytest.mark.parametrize("method", ["consistent", "optimal"])


def low_rank_layer(field: PrimeField, heads: int, dim: int, rank: int, *, bias: bool = False) -> PrimeLayer:
    """Products of small integral factors."""
    rng = np.random.default_rng([heads, dim, rank])
    left = rng.integers(-2, 3, (heads, dim + bias, rank))
    right = rng.integers(-2, 3, (heads, rank, dim))
    return PrimeLayer(field, left @ right, rng.integers(0, field.prime, (heads, dim)), 3 * bias)


def is_recovered_modulo(found: PrimeRecovery, layer: PrimeLayer) -> bool:
    """Whether the heads are the layer's, W compared modulo the order of the subgroup; W of the layer is
    short."""
    order = layer.field.order
    signed = np.where(order < 2 * layer.W, layer.W - order, layer.W) % found.order
    wanted = sorted((v.tolist(), W.tolist()) for W, v in zip(signed, layer.v, strict=True))
    heads = [(v.tolist(), W.tolist()) for W, v in zip(found.W, found.v, strict=True)]
    return heads == wanted and found.constant == layer.constant


@pytest.mark.parametrize("prime", WORD_PRIMES)
@pytest.mark.parametrize("bias", [False, True])
@methods
def test_every_prime_recovers(prime: int, bias: bool, method: Method) -> None:
    """Breaks: both methods in fields that lifting needs."""
    layer = random_prime_layer(PrimeField(prime), 3, 6, bias=bias, size=2**20)
    found = recover_prime(layer, 3, 6, layer.field, method=method, bias=bias)
    assert is_recovered_modulo(found, layer)


@pytest.mark.parametrize(("heads", "dim"), [(1, 1), (1, 2), (2, 2), (2, 3), (4, 9), (12, 16)])
@pytest.mark.parametrize("bias", [False, True])
@methods
def test_every_size_recovers_with_the_stated_count(heads: int, dim: int, bias: bool, method: Method) -> None:
    """Breaks: sizes at the edges, and query counts. With an odd number of columns the optimal method asks H
    more a row."""
    layer = random_prime_layer(PrimeField(), heads, dim, bias=bias, size=2**20)
    found = recover_prime(layer, heads, dim, method=method, bias=bias)
    assert is_recovered_modulo(found, layer)
    if method == "consistent":
        assert found.queries == consistency_count(heads, dim, bias=bias)
        assert is_recovered(found, layer)
    else:
        odd = heads * (dim % 2) * (dim + bias - 1)
        assert found.queries == identified_count(heads, dim, bias=bias) + odd


@pytest.mark.parametrize(("heads", "dim", "rank"), [(2, 4, 2), (3, 8, 2), (3, 8, 7), (12, 32, 6), (2, 9, 4)])
@pytest.mark.parametrize("bias", [False, True])
@methods
def test_low_rank(heads: int, dim: int, rank: int, bias: bool, method: Method) -> None:
    """Breaks: head sizes below the width, as real layers have."""
    layer = low_rank_layer(PrimeField(), heads, dim, rank, bias=bias)
    found = recover_prime(layer, heads, dim, method=method, rank=rank, bias=bias)
    assert is_recovered_modulo(found, layer)
    if method == "consistent":
        assert found.queries == consistency_count(heads, dim, rank, bias=bias)
    elif rank % 2 == 0 and dim % 2 == 0:
        assert found.queries == identified_count(heads, dim, rank, bias=bias)


@methods
def test_too_low_a_rank_is_refused(method: Method) -> None:
    """Breaks: a matrix that is not the layer's; the scores of whole rows contradict it."""
    layer = low_rank_layer(PrimeField(), 2, 8, 4)
    with pytest.raises(PrecisionExhausted):
        recover_prime(layer, 2, 8, method=method, rank=2)


@methods
def test_scores_that_do_not_fit_are_refused(method: Method) -> None:
    """Breaks: below full rank, scores that wrapped around must not pass for small ones."""
    layer = low_rank_layer(PrimeField(), 2, 8, 4)
    longer = PrimeLayer(layer.field, layer.W * 10**8, layer.v)
    with pytest.raises(PrecisionExhausted):
        recover_prime(longer, 2, 8, method=method, rank=4)


@methods
def test_bound_above_the_number_of_heads(method: Method) -> None:
    """Breaks: merged heads under an upper bound."""
    layer = random_prime_layer(PrimeField(), 3, 4, size=2**20)
    W, v = layer.W.copy(), layer.v.copy()
    W[1] = W[0]
    found = recover_prime(PrimeLayer(layer.field, W, v), 4, 4, method=method)
    merged = PrimeLayer(layer.field, W[1:], np.stack([v[0] + v[1], v[2]]))
    assert is_recovered_modulo(found, merged)


@methods
def test_equal_outputs_are_refused(method: Method) -> None:
    """Breaks: labels by v_h·u cannot tell such heads apart, and must not guess."""
    layer = random_prime_layer(PrimeField(), 2, 4, size=2**20)
    same = PrimeLayer(layer.field, layer.W, np.stack([layer.v[0], layer.v[0]]))
    with pytest.raises(GenericityExhausted, match="published"):
        recover_prime(same, 2, 4, method=method)


@pytest.mark.parametrize("bias", [False, True])
@methods
def test_undefined_answers_are_mended(method: Method, bias: bool) -> None:
    """Breaks: denominators that vanish modulo p; every probe of a block is lost in turn."""
    layer = random_prime_layer(PrimeField(), 2, 5, bias=bias, size=2**20)
    plan = StagedBlockPlan(method, 2, 5, bias=bias)
    first = run_first(plan, layer.field, layer)
    assert isinstance(first, StagedFirst)
    block = plan.blocks[1]
    recorded = staged_answers(plan, block, first, layer)
    whole = solve_staged_block(plan, block, recorded, first)
    assert (whole.mended, whole.further) == (0, 0)
    for probe in range(recorded.shape[1]):
        damaged = recorded.copy()
        damaged[1, probe] = UNDEFINED
        mended = solve_staged_block(plan, block, damaged, first, layer)
        assert (mended.exponents == whole.exponents).all()
        assert mended.mended > 0
        assert mended.further > 0
        with pytest.raises(GenericityExhausted):
            solve_staged_block(plan, block, damaged, first)


@methods
def test_coinciding_poles_are_mended(method: Method) -> None:
    """Breaks: two heads with equal scores at one probe. At b_2 all scores of head 2 are those of head 1."""
    seeds = (seed for seed in range(99) if (np.abs(StagedBlockPlan(method, 2, 4, seed).b[1]) == 1).any())
    seed = next(seeds)
    row = StagedBlockPlan(method, 2, 4, seed).b[1]
    layer = random_prime_layer(PrimeField(), 2, 4, size=2**10)
    W = np.where(layer.field.order // 2 < layer.W, layer.W - layer.field.order, layer.W)
    unit = next(i for i in range(4) if abs(row[i]) == 1)
    W[1, unit] += row[unit] * (row @ W[0] - row @ W[1])
    assert (row @ W[0] == row @ W[1]).all()
    planted = PrimeLayer(layer.field, W, layer.v)
    with pytest.raises(GenericityExhausted):  # poles coincide in every direction
        recover_prime(planted, 2, 4, method=method, seed=seed)
    W[1, unit, 0] += row[unit]  # in all but a few
    near = PrimeLayer(layer.field, W, layer.v)
    assert is_recovered_modulo(recover_prime(near, 2, 4, method=method, seed=seed), near)


def test_workers_give_the_same() -> None:
    """Breaks: parallel runs."""
    layer = random_prime_layer(PrimeField(), 2, 300, size=2**20)
    assert len(StagedBlockPlan("optimal", 2, 300).blocks) > 2
    one = recover_prime(layer, 2, 300, method="optimal")
    two = recover_prime(layer, 2, 300, method="optimal", workers=2)
    assert (one.W == two.W).all()
    assert is_recovered_modulo(one, layer)


def test_options_that_do_not_fit_are_refused() -> None:
    """Breaks: options that would be ignored."""
    layer = random_prime_layer(PrimeField(), 2, 3)
    wrong = ({"rank": 2}, {"order": 15}, {"method": "optimal", "order": 7}, {"method": "optimal", "rank": 4})
    for options in wrong:
        with pytest.raises(InputError):
            recover_prime(layer, 2, 3, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("prime", WORD_PRIMES)
def test_logarithms_invert_powers(prime: int) -> None:
    """Breaks: scores; the scalar logarithm is the second engine."""
    field = PrimeField(prime)
    x = np.random.default_rng(3).integers(1, prime, (2, 50)).astype(np.uint64)
    x[0, :2] = 1, prime - 1
    found, zero = logarithms(x, field)
    assert not zero.any()
    assert found.tolist() == [[field.scalar.log(value) for value in row] for row in x.tolist()]


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=3, max_size=3),
    st.permutations(range(3)),
)
def test_labels_are_never_guessed(rows: list[list[bool]], truth: list[int]) -> None:
    """Breaks: right heads with wrong scores. The truth is among the candidates; a label is given only if it
    is the one perfect matching."""
    for h, k in enumerate(truth):
        rows[h][k] = True
    labels, bad = unique_labels(np.array(rows)[:, :, None])
    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    matchings = [order for order in orders if all(rows[h][k] for h, k in enumerate(order))]
    assert bool(bad[0]) == (len(matchings) > 1)
    if not bad[0]:
        assert labels[:, 0].tolist() == list(truth)
