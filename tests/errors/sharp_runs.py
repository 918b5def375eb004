"""Enclosures from perturbed exact answers, and how much wider they are than first order at the truth."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from error_samples import LATTICE, random_error
from flint import arb, ctx, fmpq
from perturbed_runs import Run

from exactattn.errors import Centre, FirstOrder, enclose, natural_unit
from exactattn.errors.recovery_map import in_order, interpolate_all, nearest_labels
from exactattn.recovery import matches_layer

__all__ = ["inflation", "perturbations", "widening"]


def inflation(run: Run, errors: list[fmpq], epsilon: fmpq) -> arb:
    """C_post/C1 of the enclosure from answers with these errors; the truth must be inside."""
    answers = [x + e for x, e in zip(run.answers, errors, strict=True)]
    with ctx.workprec(400):
        found = enclose(run.design, answers, epsilon, natural_unit(LATTICE))
    assert matches_layer(found.heads, run.layer)
    with ctx.workprec(100):
        return found.bounds.largest / arb(run.first.largest)


def perturbations(run: Run, epsilon: fmpq, rng: Random, number: int) -> Iterator[list[fmpq]]:
    """Random errors, and errors along rows of the derivative, both ways."""
    for _ in range(number):
        yield [random_error(rng, epsilon) for _ in run.answers]
        yield run.adversarial(run.random_row(rng), epsilon)
    for size in (epsilon, -epsilon):
        yield run.adversarial(run.worst_row(), size)


def widening(run: Run, epsilon: fmpq) -> list[fmpq]:
    """Errors along the gradient of the largest first-order constant at the noisy centre, by differences."""

    def constant(answers: list[fmpq]) -> arb:
        found, _ = interpolate_all(run.design, answers, 160)
        centre = in_order(found, nearest_labels(found))
        balls = [[tuple(map(arb, row)) for row in part] for part in (centre.poles, centre.residues)]
        top: arb = FirstOrder(Centre(run.design, tuple(balls[0]), tuple(balls[1]))).largest
        return top

    with ctx.workprec(160):
        start, step = constant(run.answers), epsilon / 1000
        errors = []
        for n, x in enumerate(run.answers):
            moved = constant([*run.answers[:n], x + step, *run.answers[n + 1 :]])
            errors.append(epsilon if moved > start else -epsilon)
    return errors
