"""An adversary that breaks recovery: perturbations just large enough that the run goes wrong.

It pushes along the signs of first-order rows of single families, the ones that move a pole or a residue
fastest, and doubles the size until some family has no positive distinct poles or a label is wrong. What it
finds bounds the largest bearable ε from above; ε0 of the theorem bounds it from below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from exactattn.errors.centre import Centre
from exactattn.errors.first_order import FirstOrder, Row
from exactattn.errors.recovery_map import recovered
from exactattn.exceptions import ErrorsTooLarge

__all__ = ["Break", "breaking_perturbation", "signs"]

# Sizes are tried in steps of about a quarter of a doubling.
STEP = fmpq(19, 16)
MAX_STEPS = 40
TRIED_FAMILIES = 3


@dataclass(frozen=True)
class Break:
    """A perturbation of size ``epsilon`` that breaks the run, and how."""

    epsilon: fmpq
    errors: tuple[fmpq, ...]
    reason: str


def signs(row: Row, number: int) -> list[int]:
    """The signs that make a first-order row largest, +1 where it is 0."""
    return [1 if row.get(place, 0) >= 0 else -1 for place in range(number)]


def breaking_perturbation(
    first: FirstOrder, answers: Sequence[fmpq], epsilon0: fmpq, bits: int
) -> Break | None:
    """The smallest breaking perturbation the adversary finds, in sizes ε0·(19/16)^k, k < 40; None if none of
    its directions breaks the run.

    ``first``: the derivative at the true layer; ``answers``: its exact answers.
    """
    best: Break | None = None
    for direction in _directions(first):
        pattern = signs(direction, first.centre.design.count)
        epsilon = epsilon0
        for _ in range(MAX_STEPS):
            if best is not None and epsilon >= best.epsilon:
                break
            errors = tuple(sign * epsilon for sign in pattern)
            reason = _what_breaks(first.centre, answers, errors, bits)
            if reason is not None:
                best = Break(epsilon, errors, reason)
                break
            epsilon *= STEP
    return best


def _directions(first: FirstOrder) -> Iterator[Row]:
    """Rows of poles and residues in the families whose first-order constants are largest, both ways."""
    sizes: list[tuple[fmpq, int, int, Row]] = []
    for n, residues in enumerate(first.centre.residues):
        for h, c in enumerate(residues):
            for row, scale in ((first.residue(n, h), abs(c)), (first.log_pole(n, h), fmpq(1))):
                sizes.append((sum((abs(x) for x in row.values()), fmpq(0)) / scale, n, len(sizes), row))
    sizes.sort(key=lambda entry: (-entry[0], entry[2]))
    seen: dict[int, int] = {}
    for _, n, _, row in sizes:
        if n not in seen and len(seen) == TRIED_FAMILIES:
            continue
        seen[n] = seen.get(n, 0) + 1
        if seen[n] <= 2:
            yield row
            yield {place: -x for place, x in row.items()}


def _what_breaks(true: Centre, answers: Sequence[fmpq], errors: Sequence[fmpq], bits: int) -> str | None:
    """How the run with these errors goes wrong, if it does."""
    try:
        found, _ = recovered(true.design, [x + e for x, e in zip(answers, errors, strict=True)], bits)
    except ErrorsTooLarge as error:
        return str(error)
    # the right labels: the heads of every base family in one order, each nearest to its own true pole
    orders = set()
    d = true.design.dim
    for n in range(len(true.design.b) * d):
        orders.add(tuple(_nearest(r, true.poles[n]) for r in found.poles[n]))
    return None if len(orders) == 1 else "a label is wrong"


def _nearest(r: fmpq, poles: Sequence[fmpq]) -> int:
    distances = [abs(arb(r / other).log()).mid().fmpq() for other in poles]
    return distances.index(min(distances))
