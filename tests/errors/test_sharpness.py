"""Sharpness: at half of ε0 every enclosure exists and is at most a fifth wider than first order demands."""

from __future__ import annotations

from random import Random

import pytest
from error_samples import sample_design, sample_layer, variants
from flint import arb, ctx, fmpq
from perturbed_runs import Run
from sharp_runs import inflation, perturbations, widening

from exactattn.errors import (
    Centre,
    Design,
    ErrorTheorem,
    Limit,
    response,
)
from exactattn.errors.box import Box, FamilyBounds
from exactattn.errors.conditions import Conditions
from exactattn.errors.nearby import around
from exactattn.errors.recovery_map import interpolate_all


@pytest.mark.parametrize(
    ("heads", "dim", "seeds"),
    [
        (1, 2, 2),
        (2, 2, 3),
        (2, 3, 1),
        pytest.param(1, 2, 5, marks=pytest.mark.slow),
        pytest.param(2, 2, 5, marks=pytest.mark.slow),
        pytest.param(2, 3, 5, marks=pytest.mark.slow),
        pytest.param(3, 3, 5, marks=pytest.mark.slow),
        pytest.param(4, 4, 5, marks=pytest.mark.slow),
    ],
)
def test_enclosures_are_at_most_a_fifth_wider_than_first_order(heads: int, dim: int, seeds: int) -> None:
    """If this fails, the condition of sharpness does not give what it says: below ε0/2 some answers are
    refused, or their enclosure misses the truth or is more than 6/5 as wide as first order at the truth."""
    rng = Random(heads + 10 * dim)
    for seed in range(seeds):
        layer = sample_layer(heads, dim, seed)
        design = sample_design(layer)
        for each in (design, design.direct()):
            run = Run(layer, each)
            epsilon0 = ErrorTheorem(run.first).epsilon0
            for share in (2, 10, 1000):
                epsilon = epsilon0 / share
                number = 3 if share == 2 else 1
                for errors in perturbations(run, epsilon, rng, number):
                    assert inflation(run, errors, epsilon) < arb("1.2")
                if share == 2 and heads <= 2:
                    assert inflation(run, widening(run, epsilon), epsilon) < arb("1.2")


def test_sharpness_bounds_the_inflation_and_is_not_far_above() -> None:
    """If this fails, the bound over all centres is below what some centre has, or far above all of them."""
    for seed in (1, 2):
        layer = sample_layer(2, 2, seed)
        run = Run(layer, sample_design(layer))
        theorem = ErrorTheorem(run.first)
        epsilon = theorem.epsilon0 / 2
        bound = theorem.sharpness(epsilon)
        assert isinstance(bound, arb)
        found = inflation(run, widening(run, epsilon), epsilon)
        assert 1 < found < bound <= arb("1.2")
        assert bound - 1 < 3 * (found - 1)
        assert theorem.limit.condition == "sharpness"
        above = theorem.sharpness(theorem.epsilon0 * fmpq(17, 32))
        assert isinstance(above, Limit) or above > arb("1.2")


@pytest.mark.parametrize(("heads", "dim"), [(1, 2), (2, 2), (3, 2)])
def test_numbers_of_all_centres_bound_those_of_each(heads: int, dim: int) -> None:
    """If this fails, forms of poles and residues do not hold what noisy answers give, or a response at such a
    centre is larger than the bound for all of them."""
    rng = Random(heads)
    layer = sample_layer(heads, dim, 4)
    for design in variants(sample_design(layer)):
        run = Run(layer, design)
        at, epsilon = Conditions(run.first), ErrorTheorem(run.first).epsilon0 / 2
        for errors in (*perturbations(run, epsilon, rng, 2), widening(run, epsilon)):
            answers = [x + e for x, e in zip(run.answers, errors, strict=True)]
            noisy, _ = interpolate_all(design, answers, 400)
            with ctx.workprec(192):
                for n in range(len(design.families)):
                    box, beta = at.box(n, epsilon), at.beta(n, epsilon)
                    assert isinstance(box, Box)
                    assert isinstance(beta, arb)
                    bounds = around(at.families[n], box, arb(epsilon), beta)
                    assert isinstance(bounds, FamilyBounds)
                    compare(bounds, at_centre(design, noisy, n, run.centre))


def at_centre(design: Design, noisy: Centre, n: int, true: Centre) -> FamilyBounds:
    """The numbers of one family at a noisy centre, with the heads in the order of the truth."""
    logs = [arb(r).log() for r in true.poles[n]]
    order = [
        min(range(len(logs)), key=lambda k: abs(arb(noisy.poles[n][k]).log() - t).mid().fmpq()) for t in logs
    ]
    poles = [arb(noisy.poles[n][k]) for k in order]
    residues = [arb(noisy.residues[n][k]) for k in order]
    nodes = design.families[n].nodes
    return FamilyBounds(nodes, poles, residues, response(nodes, poles, residues))


def compare(bounds: FamilyBounds, found: FamilyBounds) -> None:
    """Upper bounds are above, balls are overlapped."""
    for name in ("S", "A", "S_residue"):
        for above, row in zip(getattr(bounds, name), getattr(found, name), strict=True):
            assert all(x <= y.upper() for x, y in zip(row, above, strict=True)), name
    for name in ("T", "A_constant", "T_residue", "total"):
        assert all(
            x <= y.upper() for x, y in zip(getattr(found, name), getattr(bounds, name), strict=True)
        ), name
    assert found.share <= bounds.share.upper()
    for name in ("poles", "logs", "residues"):
        assert all(x.overlaps(y) for x, y in zip(getattr(found, name), getattr(bounds, name), strict=True)), (
            name
        )
    for name in ("gaps", "q", "w", "near"):
        for row, balls in zip(getattr(found, name), getattr(bounds, name), strict=True):
            assert all(x.overlaps(y) for x, y in zip(row, balls, strict=True)), name
