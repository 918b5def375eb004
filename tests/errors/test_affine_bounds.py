"""Error bounds of layers with biases: derivative, theorem and enclosures, the constant output included."""

from __future__ import annotations

from random import Random

import pytest
from error_samples import LATTICE, random_error
from flint import arb, ctx, fmpq

from exactattn.errors import (
    Bounds,
    Design,
    ErrorTheorem,
    FirstOrder,
    answer_jacobian,
    centre_of_layer,
    enclose,
    generic_plan,
    natural_unit,
)
from exactattn.exceptions import InputError
from exactattn.model import random_layer
from exactattn.model.affine import AffineAttention, AffineHead
from exactattn.numbers import encloses
from exactattn.oracle.affine import AffineOracle
from exactattn.recovery import TokenRange

TOKENS = TokenRange(1, 1)


def affine_layer(heads: int, dim: int, seed: int) -> AffineAttention:
    """A random layer with query biases and a constant output."""
    rng = Random(f"{heads} {dim} {seed}")

    def vector() -> list[int]:
        return [rng.choice([-2, -1, 1, 2]) for _ in range(dim)]

    drawn = [AffineHead.of([vector() for _ in range(dim + 1)], vector()) for _ in range(heads)]
    return AffineAttention.of(drawn, fmpq(7, 3)).canonical()


@pytest.mark.parametrize(("heads", "dim"), [(1, 1), (1, 2), (2, 2)])
def test_derivative_is_a_left_inverse_with_biases(heads: int, dim: int) -> None:
    """If this fails, the derivative of recovery with biases is wrong in some parameter."""
    layer = affine_layer(heads, dim, 1)
    plan = generic_plan(layer, LATTICE, tokens=TOKENS)
    for design in (Design.published(plan), Design.published(plan).direct()):
        assert design.queries()[-1] == plan.queries()[-1]
        first = FirstOrder(centre_of_layer(design, layer, LATTICE))
        jacobian = answer_jacobian(layer, design.queries(), LATTICE)
        rows = [
            row
            for h in range(heads)
            for row in (
                *(first.matrix_entry(h, i, j) for i in range(dim + 1) for j in range(dim)),
                *(first.vector_entry(h, k) for k in range(dim)),
            )
        ] + [first.constant_entry()]
        for n, row in enumerate(rows):
            for column in range(len(rows)):
                product = sum((x * jacobian[place][column] for place, x in row.items()), fmpq(0))
                assert product == (n == column)


@pytest.mark.parametrize(("heads", "dim", "seed"), [(1, 2, 0), (2, 2, 1), (2, 2, 2)])
def test_enclosures_hold_biases_and_the_constant(heads: int, dim: int, seed: int) -> None:
    """If this fails, an enclosure of a layer with biases misses a parameter, or has no bound."""
    layer = affine_layer(heads, dim, seed)
    design = Design.published(generic_plan(layer, LATTICE, tokens=TOKENS))
    theorem = ErrorTheorem(FirstOrder(centre_of_layer(design, layer, LATTICE)))
    rng, epsilon = Random(3), theorem.epsilon0 / 3
    bounds = theorem.bounds(epsilon)
    assert isinstance(bounds, Bounds)
    assert bounds.constant > 0
    answers = [x + random_error(rng, epsilon) for x in AffineOracle(layer).answer(design.queries(), LATTICE)]
    with ctx.workprec(400):
        found = enclose(design, answers, epsilon, natural_unit(LATTICE))
        assert found.constant is not None
        assert found.constant.contains(arb(layer.constant))
        assert found.constant.rad() < 10 * bounds.constant * arb(epsilon)
    for head in layer.heads:
        true = [x for row in head.W for x in row] + list(head.v)
        inside = [all(encloses(x, y) for x, y in zip(h.entries, true, strict=True)) for h in found.heads]
        assert sum(inside) == 1


def test_designs_and_layers_must_both_have_biases() -> None:
    """If this fails, a layer without biases gets the bounds of one with them, or the other way round."""
    layer = affine_layer(2, 2, 1)
    design = Design.published(generic_plan(layer, LATTICE, tokens=TOKENS))
    with pytest.raises(InputError, match="biases"):
        centre_of_layer(design, random_layer(2, 2, seed=1), LATTICE)
