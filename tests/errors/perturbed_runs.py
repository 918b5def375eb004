"""Runs on perturbed exact answers: recovered numbers as narrow balls, compared with the true ones."""

from __future__ import annotations

from random import Random

from error_samples import LATTICE
from flint import arb, ctx, fmpq

from exactattn.errors import Bounds, Centre, Design, FirstOrder, centre_of_layer, natural_unit, recovered
from exactattn.model import Attention
from exactattn.oracle import ExactOracle

__all__ = ["Run", "entry_checks"]


class Run:
    """A layer, a design, its exact answers and its derivative."""

    def __init__(self, layer: Attention, design: Design) -> None:
        self.layer, self.design = layer, design
        self.centre = centre_of_layer(design, layer, LATTICE)
        self.first = FirstOrder(self.centre)
        self.answers = list(ExactOracle(layer).answer(design.queries(), LATTICE))

    def worst_row(self) -> dict[int, fmpq]:
        """The derivative of the parameter with the largest constant."""
        entries = {
            (h, i, j): x
            for h, rows in enumerate(self.first.matrix_constants)
            for i, row in enumerate(rows)
            for j, x in enumerate(row)
        }
        place = max(entries, key=lambda key: entries[key])
        vectors = {(h, k): x for h, row in enumerate(self.first.vector_constants) for k, x in enumerate(row)}
        other = max(vectors, key=lambda key: vectors[key])
        if entries[place] >= vectors[other]:
            return self.first.matrix_entry(*place)
        return self.first.vector_entry(*other)

    def random_row(self, rng: Random) -> dict[int, fmpq]:
        """The derivative of some parameter."""
        d, h = self.design.dim, rng.randrange(self.centre.heads)
        if rng.random() < 0.7:
            return self.first.matrix_entry(h, rng.randrange(d), rng.randrange(d))
        return self.first.vector_entry(h, rng.randrange(d))

    def adversarial(self, row: dict[int, fmpq], epsilon: fmpq) -> list[fmpq]:
        """Errors of size ε with the signs of a derivative."""
        return [epsilon if row.get(n, 0) >= 0 else -epsilon for n in range(self.design.count)]


def entry_checks(run: Run, bounds: Bounds, errors: list[fmpq]) -> tuple[int, arb]:
    """Recover from perturbed answers; the number of entries compared, and the largest ratio of an entry's
    error to its bound (every comparison in balls far narrower than the bound)."""
    answers = [x + e for x, e in zip(run.answers, errors, strict=True)]
    digits = 200 + 2 * int(1 / bounds.epsilon).bit_length()
    centre, heads = recovered(run.design, answers, digits)
    canonical = run.layer.canonical().heads
    checked, worst = 0, arb(0)
    with ctx.workprec(digits):
        unit = natural_unit(LATTICE)
        for h, place in enumerate(_places(centre, run.centre)):
            true = [x * unit for row in canonical[h].W for x in row] + list(canonical[h].v)
            limits = [x for row in bounds.matrix[h] for x in row] + list(bounds.vector[h])
            for x, y, limit in zip(heads[place].entries, true, limits, strict=True):
                worst = worst.max(abs(x - y) / (limit * arb(bounds.epsilon)))
                checked += 1
    return checked, arb(worst.upper())


def _places(found: Centre, true: Centre) -> list[int]:
    """The place of every true head among the recovered ones: by the poles of the first family."""
    places = []
    for r in true.poles[0]:
        distances = [abs(arb(x / r).log()) for x in found.poles[0]]
        places.append(min(range(len(distances)), key=lambda k: distances[k].mid().fmpq()))
    assert len(set(places)) == len(places)
    return places
