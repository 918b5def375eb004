"""Layers with biases or several outputs, and factors: exact, at the stated counts."""

from __future__ import annotations

import random
from typing import Any

import pytest
import sympy
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_layers import integral_layer

from exactattn.exceptions import InconsistentAnswers
from exactattn.identify import AttentionSpec, count_layer
from exactattn.model import Query, evaluate
from exactattn.model.affine import AffineAttention, AffineHead, BiasedHead, evaluate_with_biases
from exactattn.model.vector import VectorAttention, VectorHead
from exactattn.numbers import LogLattice, NumberSystem, encloses, to_matrix
from exactattn.oracle import ExactOracle, FunctionOracle
from exactattn.oracle.affine import AffineOracle
from exactattn.recovery import RecoveredHead, identified_count, matches_layer, published_count, recover
from exactattn.recovery.counts import consistency_count, matrix_count
from exactattn.recovery.factors import canonical_factors
from exactattn.recovery.outputs import recover_outputs

METHODS = ("published", "optimal", "consistent")


def biased_heads(heads: int, dim: int, size: int, seed: int) -> list[BiasedHead]:
    rng = random.Random(f"{heads} {dim} {size} {seed}")

    def numbers(*shape: int) -> Any:
        if len(shape) == 1:
            return [rng.randint(-2, 2) for _ in range(shape[0])]
        return [numbers(*shape[1:]) for _ in range(shape[0])]

    return [
        BiasedHead.of(numbers(size, dim), numbers(size), numbers(size, dim), numbers(size),
                      [rng.randint(1, 9) * rng.choice((-1, 1)) for _ in range(dim)])
        for _ in range(heads)
    ]  # fmt: skip


def affine(heads: list[BiasedHead], constant: Any) -> AffineAttention:
    return AffineAttention.of([head.affine() for head in heads], constant)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("heads", "dim"), [(1, 1), (1, 3), (2, 2), (2, 3), (3, 4)])
def test_biased_layers(method: Any, heads: int, dim: int) -> None:
    """Breaks: query bias, matrix, v and constant come back exactly, at 4Hd² + 4Hd − 2H + 1, H(d² + 2d) + 1
    and 2H(d² + 2d − 1) + 1 queries."""
    layer = affine(biased_heads(heads, dim, dim, seed=4), fmpq(7, 3)).canonical()
    result = recover(AffineOracle(layer), heads, method=method, bias=True)
    assert [(h.W, h.v) for h in result.heads] == [(h.W, h.v) for h in layer.heads]
    assert result.constant == layer.constant
    H, d = heads, dim
    counts = {
        "published": 4 * H * d * d + 4 * H * d - 2 * H + 1,
        "optimal": H * (d * d + 2 * d) + 1,
        "consistent": 2 * H * (d * d + 2 * d - 1) + 1,
    }
    assert result.formula == counts[method]
    assert result.published == counts["published"] == published_count(H, d, bias=True)
    assert result.identified == counts["optimal"] == identified_count(H, d, bias=True)
    assert counts["consistent"] == consistency_count(H, d, bias=True)
    assert (result.queries == result.formula) == (result.redraws == 0)
    assert result.longest <= 2 * H + 1


@pytest.mark.parametrize("method", METHODS)
def test_biased_layers_over_balls(method: Any) -> None:
    """Breaks: the same for real weights: every parameter in its enclosure."""
    heads = [
        AffineHead.of([["0.3", "-0.2"], ["1.1", "0.4"], ["-0.7", "0.9"]], ["0.5", "1.5"]),
        AffineHead.of([["-0.6", "0.8"], ["0.2", "-1.3"], ["0.4", "0.1"]], ["-1.2", "0.7"]),
    ]
    layer = AffineAttention.of(heads, "0.25")
    result = recover(AffineOracle(layer), 2, method=method, bias=True, numbers="balls")
    assert encloses(result.constant, layer.constant)
    for head in layer.heads:
        exact = [*(x for row in head.W for x in row), *head.v]
        fits = [all(encloses(x, y) for x, y in zip(f.entries, exact, strict=True)) for f in result.heads]
        assert sum(fits) == 1


def test_biased_rank_and_number_of_heads() -> None:
    """Breaks: biased layers of low rank, at H(r(2d + 1 − r) + d) + 1 queries; no bound on heads."""
    heads = biased_heads(2, 4, 2, seed=1)
    layer = affine(heads, 1).canonical()
    result = recover(AffineOracle(layer), 2, method="optimal", bias=True, rank=2)
    assert [(h.W, h.v) for h in result.heads] == [(h.W, h.v) for h in layer.heads]
    assert result.formula == 2 * (2 * (2 * 4 + 1 - 2) + 4) + 1
    free = recover(AffineOracle(layer), None, method="optimal", bias=True)
    assert free.heads == result.heads
    assert free.queries <= 2 * (16 + 8) + 1 + 2 or free.redraws


@pytest.mark.parametrize("method", METHODS)
def test_the_key_bias_leaves_no_trace(method: Any) -> None:
    """Breaks: a changed key bias must give the same transcript, answer by answer; a query bias not."""
    heads = biased_heads(2, 2, 2, seed=3)

    def answers(layer: list[BiasedHead]) -> list[Any]:
        oracle = FunctionOracle(
            lambda query: evaluate_with_biases(layer, fmpq(5), query, LogLattice()), layer[0].v.__len__()
        )
        return recover(oracle, 2, method=method, bias=True).answers

    def changed(**entries: Any) -> list[BiasedHead]:
        first = heads[0]
        stored = {k: getattr(first, k) for k in ("W_Q", "b_Q", "W_K", "b_K", "v")}
        return [BiasedHead(**{**stored, **entries}), *heads[1:]]

    assert answers(changed(b_K=(fmpq(40), fmpq(-17)))) == answers(heads)
    assert answers(changed(b_Q=(heads[0].b_Q[0] + 1, heads[0].b_Q[1]))) != answers(heads)


def test_affine_evaluation_agrees_with_the_lifted_layer() -> None:
    """Breaks: one of the two evaluations of a layer with biases."""
    heads = biased_heads(2, 3, 2, seed=5)
    rng = random.Random(1)
    for _ in range(20):
        tokens = [tuple(fmpq(rng.randint(-3, 3)) for _ in range(3)) for _ in range(3)]
        query = Query.of([(tokens[0], 2), (tokens[1], 1)], tokens[2])
        (value,) = AffineOracle(affine(heads, 2)).answer([query], LogLattice())
        assert value == evaluate_with_biases(heads, fmpq(2), query, LogLattice())


# ---- several outputs ----


def vector_layer(heads: int, dim: int, outputs: int, seed: int) -> VectorAttention:
    rng = random.Random(f"{heads} {dim} {outputs} {seed}")
    base = integral_layer(heads, dim, dim, seed)
    matrices = [[[rng.randint(-5, 5) for _ in range(dim)] for _ in range(outputs)] for _ in base.heads]
    return VectorAttention.of([VectorHead.of(h.W, V) for h, V in zip(base.heads, matrices, strict=True)])


def answering(layer: VectorAttention) -> Any:
    units = [tuple(fmpq(i == k) for i in range(layer.outputs)) for k in range(layer.outputs)]

    def function(query: Query, system: NumberSystem[Any, Any]) -> list[Any]:
        return [evaluate(layer.output(unit), query, system) for unit in units]

    return function


@pytest.mark.parametrize("method", METHODS)
def test_several_outputs(method: Any) -> None:
    """Breaks: W_h and V_h exactly, with the queries of one output; equal W merged over all."""
    layer = vector_layer(2, 3, 4, seed=1)
    layer = VectorAttention.of([*layer.heads, VectorHead(layer.heads[0].W, layer.heads[1].V)])
    found = recover_outputs(answering(layer), 3, 4, heads=2, method=method)
    assert set(found.heads) == {(h.W, h.V) for h in layer.canonical().heads}
    assert (found.run.queries == found.run.formula) == (found.run.redraws == 0)


def test_several_outputs_over_balls_and_a_false_one() -> None:
    """Breaks: enclosures of every V_h; and an output that is no output of such a layer is refused."""
    layer = vector_layer(2, 2, 2, seed=2)
    found = recover_outputs(answering(layer), 2, 2, heads=2, numbers="balls", method="optimal")
    for head in layer.canonical().heads:
        entries = [x for row in (*head.W, *head.V) for x in row]
        fits = [
            all(encloses(x, y) for x, y in zip([x for row in (*W, *V) for x in row], entries, strict=True))
            for W, V in found.heads
        ]
        assert sum(fits) == 1
    honest = answering(layer)
    with pytest.raises(InconsistentAnswers):
        recover_outputs(
            lambda query, system: [honest(query, system)[0], fmpq(query.length) ** 2], 2, 2, heads=2
        )


def affine_outputs(heads: int, dim: int, outputs: int, seed: int) -> list[AffineAttention]:
    """One layer with biases for each output; all share the matrices."""
    rng = random.Random(f"outputs {heads} {dim} {outputs} {seed}")
    matrices = [head.affine().W for head in biased_heads(heads, dim, dim, seed)]
    return [
        AffineAttention.of(
            [AffineHead.of(W, [rng.randint(1, 9) for _ in range(dim)]) for W in matrices], rng.randint(-9, 9)
        )
        for _ in range(outputs)
    ]


@pytest.mark.parametrize("numbers", ["lattice", "balls"])
@pytest.mark.parametrize("method", METHODS)
def test_several_outputs_with_biases(method: Any, numbers: Any) -> None:
    """Breaks: query biases, V_h and a constant for every output, without a query more than one output needs:
    H(d² + 2d) + 1 by the optimal method."""
    layers = affine_outputs(2, 2, 3, seed=2)

    def function(query: Query, system: NumberSystem[Any, Any]) -> list[Any]:
        return [next(iter(AffineOracle(layer).answer([query], system))) for layer in layers]

    found = recover_outputs(function, 2, 3, heads=2, method=method, bias=True, numbers=numbers, seed=1)
    counts = {
        "published": published_count(2, 2, bias=True),
        "optimal": 2 * (4 + 4) + 1,
        "consistent": consistency_count(2, 2, bias=True),
    }
    assert found.run.queries == found.run.formula == counts[method]
    assert found.constants is not None
    for k, layer in enumerate(layers):
        heads = [RecoveredHead(W, V[k]) for W, V in found.heads]
        assert matches_layer(heads, layer, found.constants[k])


def test_outputs_that_are_constants() -> None:
    """Breaks: no heads at all: every output is its constant, without a bias 0."""
    found = recover_outputs(lambda query, system: [fmpq(3), fmpq(-1, 2)], 2, 2, heads=1, bias=True)
    assert (found.V, found.constants) == ((), (3, fmpq(-1, 2)))
    with pytest.raises(InconsistentAnswers):
        recover_outputs(lambda query, system: [fmpq(3), fmpq(-1, 2)], 2, 2, heads=1)


# ---- factors ----


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.data())
def test_factors_are_one_representative_of_the_orbit(rows: int, columns: int, data: st.DataObject) -> None:
    """Breaks: the gauge fixing. The factors give the product back exactly, do not change when the
    factors that the matrix came from are changed by any S ∈ GL(r), and agree with sympy's echelon form."""
    rank = data.draw(st.integers(1, min(rows, columns)))
    entries = st.integers(-3, 3)

    def matrix(n: int, m: int) -> fmpq_mat:
        return fmpq_mat(n, m, data.draw(st.lists(entries, min_size=n * m, max_size=n * m)))

    A, B, S = matrix(rows, rank), matrix(rank, columns), matrix(rank, rank)
    product = A * B
    if S.det() == 0 or product.rank() == 0:
        return
    moved = (A * S.inv()) * (S * B)
    factors = canonical_factors(product.tolist())
    assert canonical_factors(moved.tolist()) == factors
    assert factors.product() == tuple(map(tuple, product.tolist()))
    echelon, pivots = sympy.Matrix([[sympy.Rational(str(x)) for x in row] for row in product.tolist()]).rref()
    assert pivots == factors.pivots
    assert (
        sympy.Matrix([[sympy.Rational(str(x)) for x in row] for row in factors.right])
        == echelon[: len(pivots), :]
    )


@pytest.mark.parametrize(("dim", "rank"), [(2, 1), (3, 2), (4, 2), (5, 3), (4, 4)])
def test_free_numbers_are_the_identified_parameters(dim: int, rank: int) -> None:
    """Breaks: the circle. A recovered head of rank r has factors with exactly 2dr − r² free numbers; that is
    what the count of identified parameters says of query and key weights of width d and head size r: what
    is unidentified is what recovery cannot return."""
    layers = (integral_layer(2, dim, rank, seed) for seed in range(20))
    layer = next(x for x in layers if all(to_matrix(h.W).rank() == rank for h in x.heads))
    result = recover(ExactOracle(layer), 2, method="optimal", rank=rank)
    assert result.matches(layer)
    for head in result.heads:
        factors = canonical_factors(head.W)
        assert factors.product() == head.W
        assert to_matrix(factors.right).rank() == rank
        if factors.pivots != tuple(range(rank)):
            continue  # not generic: fewer numbers are free
        assert factors.free_numbers == matrix_count(dim, rank) == 2 * dim * rank - rank * rank
    spec = AttentionSpec.of(width=dim, heads=1, head_size=rank)
    count = count_layer(spec)
    # query and key, then value and output: the same products of d×r and r×d factors
    assert count.identified == 2 * matrix_count(dim, rank)
