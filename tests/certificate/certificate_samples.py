"""Runs to certify, built from known layers without any solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import fmpq

from exactattn.certificate import recovery_certificate
from exactattn.certificate.recovery import RecoveryRun, run_content, sealed_recovery
from exactattn.model import Attention, Evaluator, Head
from exactattn.numbers import LogLattice
from exactattn.recovery.draw import TokenRange
from exactattn.recovery.plan import PublishedPlan


@dataclass(frozen=True)
class KnownRun:
    """What a recovery of a known layer must return."""

    plan: PublishedPlan
    draws: tuple[PublishedPlan, ...]
    answers: list[fmpq]
    heads: tuple[Head, ...]
    system: LogLattice
    queries: int
    longest: int


def known_run(
    layer: Attention,
    bound: int,
    seed: int,
    tokens: TokenRange,
    replaced: tuple[set[tuple[str, int]], ...] = (),
    denominator: int | None = None,
) -> KnownRun:
    draws = [PublishedPlan.draw(bound, layer.dim, seed, tokens)]
    for vectors in replaced:
        draws.append(draws[-1].redrawn(vectors))
    system = LogLattice(denominator or layer.denominator())
    evaluator = Evaluator(layer, system)
    asked = {query for draw in draws for query in draw.queries()}
    return KnownRun(
        plan=draws[-1],
        draws=tuple(draws),
        answers=[evaluator(query) for query in draws[-1].queries()],
        heads=layer.canonical().heads,
        system=system,
        queries=len(asked),
        longest=max(query.length for query in asked),
    )


def unchecked_certificate(run: RecoveryRun, model: Attention | None = None) -> dict[str, Any]:
    """What the run would state, whether it is true or not."""
    return sealed_recovery(run_content(run, model))


ONE = Attention.of([Head.of([["-2"]], ["3/2"])])
TWO = Attention.of([Head.of([[1, 0], [2, -1]], [1, 2]), Head.of([[0, 1], [-1, 1]], [-1, 3])])
THREE = Attention.of(
    [
        Head.of([[0, 1, 0], [1, 0, -1], [0, 0, 1]], [1, 0, 1]),
        Head.of([[1, 0, 0], [0, -1, 0], [1, 0, 0]], [0, 1, "1/3"]),
        Head.of([[0, 0, 1], [-1, 1, 0], [0, 1, -1]], [2, 1, -1]),
    ]
)
LINE = Attention.of([Head.of([[1]], [2]), Head.of([[-1]], [5]), Head.of([["3"]], [-1])])
PLANTED = Attention.of(
    [
        TWO.heads[0],
        Head.of(TWO.heads[1].W, [4, 4]),
        Head.of([[2, 2], [0, 1]], [1, 1]),
        Head.of(TWO.heads[1].W, [-5, -1]),
        Head.of([[2, 2], [0, 1]], [-1, -1]),
        Head.of([[7, 7], [7, 7]], [0, 0]),
    ]
)
FRACTIONS = Attention.of(
    [Head.of([["1/2", 0], ["1/3", 1]], ["1/7", 2]), Head.of([[0, "-1/6"], ["1/2", "1/2"]], [1, "-5/3"])]
)
CANCELLED = Attention.of([Head.of([[1, 2], [3, 4]], [1, 1]), Head.of([[1, 2], [3, 4]], [-1, -1])])
FLAT = Attention.of([Head.of([[0, 0], [0, 0]], [3, "0x1ffffffffffffffff"])])
SMALL = TokenRange(last=1, difference=4)
MEDIUM = TokenRange(last=2, difference=9)


@dataclass(frozen=True)
class Sample:
    """A run that must be certified: the layer, the bound, the seed, and whether the model is public."""

    layer: Attention
    bound: int
    seed: int
    tokens: TokenRange = SMALL
    public: bool = True
    replaced: tuple[set[tuple[str, int]], ...] = ()

    def run(self) -> KnownRun:
        return known_run(self.layer, self.bound, self.seed, self.tokens, self.replaced)

    def certificate(self) -> dict[str, Any]:
        return recovery_certificate(self.run(), self.layer if self.public else None)


SAMPLES = {
    "one-head-one-entry": Sample(ONE, 1, 0),
    "two-heads": Sample(TWO, 2, 0),
    "two-heads-long-numbers": Sample(TWO, 2, -5, TokenRange(last=3, difference=40)),
    "two-heads-not-public": Sample(TWO, 2, 0, public=False),
    "three-heads": Sample(THREE, 3, 6, MEDIUM),
    "three-heads-one-entry": Sample(LINE, 3, 0),
    "duplicates-and-cancelled": Sample(PLANTED, 3, 0),
    "bound-above-heads": Sample(TWO, 3, 0),
    "bound-above-heads-not-public": Sample(TWO, 3, 0, public=False),
    "fractions": Sample(FRACTIONS, 2, 0),
    "zero-function": Sample(CANCELLED, 1, 0),
    "zero-function-not-public": Sample(CANCELLED, 1, 0, public=False),
    "zero-matrix-not-public": Sample(FLAT, 1, 0, public=False),
    "redrawn": Sample(TWO, 2, 0, replaced=({("u", 2)},)),
    "redrawn-twice-not-public": Sample(TWO, 2, 0, public=False, replaced=({("u", 2)}, {("b", 1), ("u", 2)})),
}
