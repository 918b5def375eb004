"""Recovery in a prime field: heads found, counts kept, exceptional probes mended, refusals."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from flint import fmpq
from numpy.typing import NDArray
from prime_samples import canonical_heads, is_recovered, random_prime_layer

from exactattn.exceptions import GenericityExhausted, InconsistentAnswers, InputError
from exactattn.model import Attention, Head, Query, evaluate, token
from exactattn.model.affine import AffineAttention, AffineHead
from exactattn.numbers import PrimeNumbers
from exactattn.prime import (
    UNDEFINED,
    WORD_PRIMES,
    BlockPlan,
    PrimeField,
    PrimeLayer,
    ProbeGroup,
    answers,
    recover_prime,
    run_first,
    solve_block,
    solve_first,
)
from exactattn.recovery import published_count

SIZES = [(1, 1), (1, 3), (2, 2), (3, 5), (4, 8), (7, 6), (12, 16)]


@pytest.mark.parametrize("prime", WORD_PRIMES)
@pytest.mark.parametrize("bias", [False, True])
def test_every_prime_recovers(prime: int, bias: bool) -> None:
    """Breaks: lifting by Chinese remainders, which needs all of them."""
    layer = random_prime_layer(PrimeField(prime), 3, 6, bias=bias)
    found = recover_prime(layer, 3, 6, layer.field, bias=bias)
    assert is_recovered(found, layer)
    assert (found.queries, found.mended) == (published_count(3, 6, bias=bias), 0)


@pytest.mark.parametrize(("heads", "dim"), SIZES)
@pytest.mark.parametrize("bias", [False, True])
def test_every_size_recovers(heads: int, dim: int, bias: bool) -> None:
    """Breaks: sizes at the edges: one head, one entry, odd sizes, blocks of one row."""
    layer = random_prime_layer(PrimeField(), heads, dim, bias=bias)
    assert is_recovered(recover_prime(layer, heads, dim, bias=bias, seed=3), layer)


@pytest.mark.parametrize("bound", [5, 7])
def test_duplicate_and_cancelling_heads(bound: int) -> None:
    """Breaks: canonical forms: two heads merge, two vanish, and the bound may be larger than what is left."""
    layer = random_prime_layer(PrimeField(), 5, 4)
    W, v = layer.W.copy(), layer.v.copy()
    W[1], W[3], v[3] = W[0], W[2], -v[2]
    planted = PrimeLayer(layer.field, W, v)
    found = recover_prime(planted, bound, 4)
    assert len(found.v) == 2
    assert is_recovered(found, planted)


def test_no_heads_at_all() -> None:
    """Breaks: a layer that is constant."""
    W, v = np.zeros((2, 4, 3), np.int64), np.array([[1, 2, 3], [-1, -2, -3]])
    found = recover_prime(PrimeLayer(PrimeField(), W, v, 7), 2, 3, bias=True)
    assert (len(found.v), found.constant) == (0, 7)


@pytest.mark.parametrize("bias", [False, True])
def test_answers_are_those_of_the_layer(bias: bool) -> None:
    """Breaks: an oracle that is not honest. The scalar evaluator of the package is the second engine."""
    field = PrimeField()
    layer = random_prime_layer(field, 3, 4, bias=bias, size=9)
    signed = np.where(field.order // 2 < layer.W, layer.W - field.order, layer.W)
    numbers = PrimeNumbers(field.prime)
    plain: Attention
    if bias:
        heads = [AffineHead.of(W.tolist(), v.tolist()) for W, v in zip(signed, layer.v, strict=True)]
        plain = AffineAttention.of(heads, layer.constant).lifted()
    else:
        plain = Attention.of([Head.of(W.tolist(), v.tolist()) for W, v in zip(signed, layer.v, strict=True)])
    rng = np.random.default_rng(5)
    last, filler, extra = rng.integers(-9, 9, 4), rng.integers(-9, 9, (6, 4)), rng.integers(-9, 9, (6, 4))

    def lifted(tok: Sequence[int]) -> tuple[fmpq, ...]:
        return token(*([1] * bias), *tok)

    for further in (None, extra):
        (found,) = layer.group_answers([ProbeGroup(last, filler, further)], (0, 1, 2, 5))
        for k, m in enumerate((0, 1, 2, 5)):
            for j in range(6):
                runs = [(lifted(filler[j].tolist()), m)]
                if further is not None:
                    runs.append((lifted(further[j].tolist()), 1))
                query = Query.of(runs, lifted(last.tolist()))
                assert int(found[k, j]) == int(evaluate(plain, query, numbers))
    assert layer.alone(last) == int(evaluate(plain, Query.of([], lifted(last.tolist())), numbers))


def test_blocks_in_any_order_on_any_executor() -> None:
    """Breaks: parallel and resumed runs must give what one process gives, bit for bit."""
    layer = random_prime_layer(PrimeField(), 3, 64)
    assert len(BlockPlan(3, 64).blocks) >= 2
    alone = recover_prime(layer, 3, 64)
    with ThreadPoolExecutor(2) as pool:
        spread = recover_prime(layer, 3, 64, executor=pool)
    forked = recover_prime(layer, 3, 64, workers=2)
    for other in (spread, forked):
        assert (other.W == alone.W).all()
        assert (other.v == alone.v).all()
    assert is_recovered(alone, layer)


def with_coincidence(layer: PrimeLayer, plan: BlockPlan, i: int, j: int, kind: str) -> PrimeLayer:
    """The layer with W of head 1 changed so that the probe (b_i, u_j) fails in a given way."""
    W, v, field = layer.W.copy(), layer.v.copy(), layer.field
    b, u = plan.b[i], plan.u[j]

    def score(h: int) -> int:
        return sum(int(x) * int(w) * int(y) for x, row in zip(b, W[h], strict=True)
                   for w, y in zip(row, u, strict=True))  # fmt: skip

    row = int(np.flatnonzero(np.abs(b) == 1)[0])
    column = int(np.flatnonzero(np.abs(u) == 1)[0])
    unit = int(b[row]) * int(u[column])
    if kind == "poles coincide":
        W[1, row, column] = (int(W[1, row, column]) + unit * (score(0) - score(1))) % field.order
    elif kind == "a denominator vanishes":
        wanted = field.scalar.log(-2 % field.prime)  # 2 + exp(score) = 0
        W[1, row, column] = (int(W[1, row, column]) + unit * (wanted - score(1))) % field.order
    else:
        value = sum(int(x) * int(y) for x, y in zip(v[1], u, strict=True))
        v[1, column] = (int(v[1, column]) - int(u[column]) * value) % field.prime
    return PrimeLayer(field, W, v)


def unit_probe(plan: BlockPlan) -> tuple[int, int]:
    """Some row and column after the first whose b and u have an entry ±1."""
    rows = [i for i in range(1, plan.dim) if (np.abs(plan.b[i]) == 1).any()]
    columns = [j for j in range(1, plan.dim) if (np.abs(plan.u[j]) == 1).any()]
    return rows[0], columns[0]


@pytest.mark.parametrize("kind", ["poles coincide", "a denominator vanishes", "a residue vanishes"])
@pytest.mark.parametrize("place", ["first row", "first column", "inside"])
def test_exceptional_probes_are_mended(kind: str, place: str) -> None:
    """Breaks: accidents modulo a word-sized prime; they are mended, counted, and never dropped."""
    seed = next(
        seed
        for seed in range(200)
        for plan in [BlockPlan(3, 6, seed)]
        if (np.abs(plan.b[0]) == 1).any()
        and (np.abs(plan.u[0]) == 1).any()
        and any((np.abs(b) == 1).any() for b in plan.b[1:])
        and any((np.abs(u) == 1).any() for u in plan.u[1:])
    )
    plan = BlockPlan(3, 6, seed)
    row, column = unit_probe(plan)
    i, j = {"first row": (0, column), "first column": (row, 0), "inside": (row, column)}[place]
    layer = with_coincidence(random_prime_layer(PrimeField(), 3, 6), plan, i, j, kind)
    found = recover_prime(layer, 3, 6, seed=seed)
    assert is_recovered(found, layer)
    assert found.mended >= 1
    assert found.further > 0
    first_answers = answers(layer, plan, plan.blocks[0])
    undefined = bool((first_answers == UNDEFINED).any())
    assert undefined == (kind == "a denominator vanishes" and place == "first row")


def test_a_vanishing_discrepancy_takes_no_further_query() -> None:
    """Breaks: sequences that are not regular; the same answers suffice. With residues that make the first
    moment vanish, Σ ĉ_h = 0."""
    plan, field = BlockPlan(2, 2, 0), PrimeField()
    layer = random_prime_layer(field, 2, 2)
    p = field.prime
    (values,) = [answers(layer, plan, plan.blocks[0])]
    first = solve_first(plan, field, values, layer.alone(plan.b[0]))

    def weight(h: int) -> int:  # ĉ_h = weight · c_h at the probe (b_1, u_1)
        r = field.scalar.power(int(first.exponents[h, 0]))
        total = 1
        for m in plan.copies:
            total = total * (m + r) % p
        return pow(total, -1, p)

    heads = [int(np.flatnonzero((layer.v @ plan.u[0]) % p == int(c))[0]) for c in first.residues[:, 0]]
    v = layer.v.copy()
    wanted = -weight(0) * int(first.residues[0, 0]) * pow(weight(1), -1, p) % p
    change = (wanted - int(first.residues[1, 0])) % p
    k = int(np.flatnonzero(plan.u[0])[0])
    v[heads[1], k] = (int(v[heads[1], k]) + change * pow(int(plan.u[0][k]), -1, p)) % p
    planted = PrimeLayer(field, layer.W, v)
    found = recover_prime(planted, 2, 2)
    assert is_recovered(found, planted)
    assert (found.mended, found.further) == (1, 0)


def test_without_an_oracle_further_queries_are_refused() -> None:
    """Breaks: a solver that sees recorded answers only must say what it lacks."""
    plan = BlockPlan(2, 3, 1)
    layer = random_prime_layer(PrimeField(), 2, 3)
    first = run_first(plan, layer.field, layer)
    block = plan.blocks[1]
    recorded = answers(layer, plan, block)
    assert (
        solve_block(plan, block, recorded, first).exponents
        == solve_block(plan, block, recorded, first, layer).exponents
    ).all()
    recorded[0, 0] = UNDEFINED
    with pytest.raises(GenericityExhausted):
        solve_block(plan, block, recorded, first)


@pytest.mark.parametrize("probe", [0, 1, 4, 9])
def test_wrong_answers_are_refused(probe: int) -> None:
    """Breaks: trust in the result; one changed answer must not go through unnoticed."""
    plan = BlockPlan(2, 3, 1)
    layer = random_prime_layer(PrimeField(), 2, 3)
    first = run_first(plan, layer.field, layer)
    block = plan.blocks[1]
    recorded = answers(layer, plan, block)
    recorded[1, probe] = (int(recorded[1, probe]) + 1) % layer.field.prime
    with pytest.raises((InconsistentAnswers, GenericityExhausted)):
        solve_block(plan, block, recorded, first)


def test_too_small_a_bound_is_refused() -> None:
    """Breaks: a bound below the number of heads must not end in wrong heads."""
    layer = random_prime_layer(PrimeField(), 4, 5)
    with pytest.raises((InconsistentAnswers, GenericityExhausted)):
        recover_prime(layer, 3, 5)


def test_a_wrong_constant_is_refused() -> None:
    """Breaks: V·b_1 without a bias must be the answer at b_1 alone."""
    plan = BlockPlan(2, 3, 1)
    layer = random_prime_layer(PrimeField(), 2, 3, bias=True)
    unbiased = PrimeLayer(layer.field, layer.W[:, 1:], layer.v, layer.constant)
    with pytest.raises(InconsistentAnswers):
        run_first(plan, layer.field, unbiased)


def test_shapes_that_do_not_fit_are_refused() -> None:
    """Breaks: a layer of the wrong shape must be named."""
    with pytest.raises(InputError):
        PrimeLayer(PrimeField(), np.zeros((2, 3, 4), np.int64), np.zeros((2, 4), np.int64)[:1])
    for heads, dim in ((0, 4), (2, 0), (256, 4)):
        with pytest.raises(InputError):
            BlockPlan(heads, dim)


def test_samples_are_canonical() -> None:
    """Breaks: the comparison that all these tests rest on."""
    layer = random_prime_layer(PrimeField(), 2, 3)
    doubled = PrimeLayer(layer.field, np.repeat(layer.W, 2, axis=0), np.repeat(layer.v, 2, axis=0))
    assert len(canonical_heads(doubled)) == 2
    assert canonical_heads(doubled) != canonical_heads(layer)


def exact(x: NDArray[np.int64], W: NDArray[np.int64], y: NDArray[np.int64]) -> int:
    """x^T W y in integers."""
    return int(x.astype(object) @ W.astype(object) @ y.astype(object))


@pytest.mark.parametrize("kind", ["column", "row"])
@pytest.mark.parametrize("bias", [False, True])
def test_ambiguous_labels_are_settled_by_further_probes(kind: str, bias: bool) -> None:
    """Breaks: labels of heads of which one has two partners: scores and residues of heads 0 and 1 crosswise
    add up to those of head 2 at the probe that joins two others."""
    field = PrimeField()
    layer = random_prime_layer(field, 3, 5, bias=bias)
    for seed in range(500):
        plan = BlockPlan(3, 5, seed, bias)
        last = plan.b[1] if kind == "column" else plan.joined(1)
        joined = plan.u[0] + plan.u[2] if kind == "column" else plan.u[0]
        units = np.flatnonzero(np.abs(joined) == 1)
        lifted = np.concatenate([[1], last]) if bias else last
        rows = np.flatnonzero(np.abs(lifted[bias:]) == 1) + bias
        if len(units) and len(rows):
            break
    W, v = layer.W.copy(), layer.v.copy()

    def score(b: NDArray[np.int64], h: int, u: NDArray[np.int64]) -> int:
        return exact(np.concatenate([[1], b]) if bias else b, W[h], u)

    if kind == "column":
        wanted = score(plan.b[1], 0, plan.u[0]) + score(plan.b[1], 1, plan.u[2])
        values = int(v[0] @ plan.u[0]) + int(v[1] @ plan.u[2])
        residues = [None, None, values]
    else:
        first, second = score(plan.b[0], 0, plan.u[0]), score(plan.b[1], 1, plan.u[0])
        wanted = 2 * second - first if bias else first + second
        residues = [5, 5, 5]
    row, column = int(rows[0]), int(units[0])
    unit = int(lifted[row]) * int(joined[column])
    W[2, row, column] = (int(W[2, row, column]) + unit * (wanted - score(last, 2, joined))) % field.order
    for h, residue in enumerate(residues):
        if residue is not None:
            change = int(joined[column]) * (residue - int(v[h] @ joined))
            v[h, column] = (int(v[h, column]) + change) % field.prime
    planted = PrimeLayer(field, W, v, layer.constant)
    found = recover_prime(planted, 3, 5, seed=seed, bias=bias)
    assert is_recovered(found, planted)
    assert found.mended > 0
    assert found.further > 0
