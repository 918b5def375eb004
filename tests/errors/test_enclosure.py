"""A-posteriori enclosures: the truth is inside, they are sharp, and what cannot be told is refused."""

from __future__ import annotations

from random import Random

import pytest
from error_samples import LATTICE, random_error, sample_design, sample_layer, variants
from flint import arb, ctx, fmpq
from perturbed_runs import Run

from exactattn.errors import Design, Enclosure, ErrorTheorem, enclose, natural_unit
from exactattn.exceptions import CannotTell, ErrorsTooLarge, InconsistentAnswers, InputError
from exactattn.model import Attention
from exactattn.recovery import matches_layer


def noisy(run: Run, epsilon: fmpq, rng: Random) -> list[fmpq]:
    """Answers with random errors of at most ε."""
    return [x + random_error(rng, epsilon) for x in run.answers]


def enclosed(design: Design, answers: list[fmpq], epsilon: fmpq) -> Enclosure:
    """The enclosure in the units of the lattice."""
    with ctx.workprec(400):
        return enclose(design, answers, epsilon, natural_unit(LATTICE))


@pytest.mark.parametrize(("heads", "dim"), [(1, 2), (2, 2), (2, 3), (3, 3)])
def test_truth_is_inside_and_the_overhead_small(heads: int, dim: int) -> None:
    """If this fails, an enclosure misses a true parameter, or is far wider than first order demands."""
    rng = Random(7 * heads + dim)
    layer = sample_layer(heads, dim, 0)
    for design in variants(sample_design(layer))[: 4 if heads < 3 else 1]:
        run = Run(layer, design)
        for share in (2, 1000):
            epsilon = ErrorTheorem(run.first).epsilon0 / share
            found = enclosed(design, noisy(run, epsilon, rng), epsilon)
            assert matches_layer(found.heads, layer)
            with ctx.workprec(100):
                overhead = found.bounds.largest / arb(run.first.largest)
                assert overhead < (arb("1.2") if share == 2 else arb("1.01"))


@pytest.mark.slow
@pytest.mark.parametrize(("heads", "dim"), [(1, 2), (2, 2), (2, 3), (3, 3), (4, 4)])
def test_five_models_are_enclosed(heads: int, dim: int) -> None:
    """The same for five models of each size, with all the design's ε; refusals only at ε0 itself."""
    rng = Random(heads)
    for seed in range(5):
        layer = sample_layer(heads, dim, seed)
        design = sample_design(layer)
        for each in (design, design.direct()):
            run = Run(layer, each)
            epsilon0 = ErrorTheorem(run.first).epsilon0
            for share in (1, 2, 10, 1000, 10**30):
                epsilon = epsilon0 / share
                try:
                    found = enclosed(each, noisy(run, epsilon, rng), epsilon)
                except ErrorsTooLarge:
                    assert share == 1
                    continue
                assert matches_layer(found.heads, layer)


def test_refusals_are_named() -> None:
    """If this fails, hopeless noise is not refused by name, or a wrong number of heads is believed."""
    layer = sample_layer(2, 2, 0)
    design = sample_design(layer)
    run = Run(layer, design)
    epsilon = ErrorTheorem(run.first).epsilon0
    with pytest.raises(ErrorsTooLarge, match="probe") as error:
        enclosed(design, noisy(run, 100 * epsilon, Random(1)), 100 * epsilon)
    assert error.value.condition in {"poles", "residues", "matching"}
    assert error.value.probe
    assert issubclass(ErrorsTooLarge, CannotTell)
    with pytest.raises(InputError, match="positive"):
        enclosed(design, run.answers, fmpq(0))
    with pytest.raises(InputError, match="one a query"):
        enclosed(design, run.answers[1:], epsilon)
    one = Attention.of([layer.canonical().heads[0]])
    answers = [x + random_error(Random(2), epsilon) for x in _answers(one, design)]
    with pytest.raises(CannotTell):
        enclosed(design, answers, epsilon)


def _answers(layer: Attention, design: Design) -> list[fmpq]:
    from exactattn.oracle import ExactOracle

    return list(ExactOracle(layer).answer(design.queries(), LATTICE))


def test_answers_of_no_layer_are_inconsistent() -> None:
    """If this fails, answers that no layer gives to within the error are enclosed all the same."""
    layer = sample_layer(2, 2, 0)
    design = sample_design(layer)
    other = _answers(sample_layer(2, 2, 3), design)
    answers = Run(layer, design).answers
    place = design.families[design.links[0].z].start
    mixed = [*answers[:place], *other[place : place + 4], *answers[place + 4 :]]
    with pytest.raises((InconsistentAnswers, ErrorsTooLarge)):
        enclosed(design, mixed, fmpq(1, 10**30))


def test_exact_answers_with_a_stated_error_are_enclosed_tightly() -> None:
    """If this fails, rounding of the centre is not counted, or counts for more than a millionth."""
    layer = sample_layer(2, 2, 1)
    design = sample_design(layer)
    run = Run(layer, design)
    epsilon = fmpq(1, 10**80)
    found = enclosed(design, run.answers, epsilon)
    assert epsilon <= found.error < epsilon * fmpq(1000001, 1000000)
    assert matches_layer(found.heads, layer)
    assert found.widest_radius < arb("1e-70")
