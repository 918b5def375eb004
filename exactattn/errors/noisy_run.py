"""Recovery from an oracle with errors: ask, enclose, and where that fails ask other queries."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from flint import arb, ctx, fmpq

from exactattn.errors.centre import AnyLayer, natural_unit
from exactattn.errors.design import Design
from exactattn.errors.enclosure import Enclosure, enclose
from exactattn.errors.head_count import proved_heads
from exactattn.errors.noisy import rough_poles
from exactattn.errors.recovery_map import known_value
from exactattn.errors.robust import noise_tokens, with_best_nodes
from exactattn.exceptions import ErrorsTooLarge, InputError
from exactattn.numbers import Balls, LogLattice, NumberSystem, Vector, rational, rational_text
from exactattn.oracle import Oracle, Transcript
from exactattn.recovery import Progress, PublishedPlan, RecoveredHead, TokenRange, matches_layer

__all__ = ["NoisyRecovery", "recover_with_error"]

MAX_REDRAWS = 4


@dataclass(frozen=True)
class NoisyRecovery:
    """Enclosures of all parameters from answers with errors, and what was asked.

    ``answers``: exact rationals, in the order of ``enclosure.design.queries()``. ``stated_error``: the bound
    on their errors, radii of answers included. ``refusals``: one a redraw, why other query vectors were
    needed.
    """

    enclosure: Enclosure
    answers: tuple[fmpq, ...]
    stated_error: fmpq
    system: LogLattice | Balls
    seed: int
    robust: bool
    refusals: tuple[str, ...]
    queries: int
    longest: int
    seconds: float

    @property
    def constant(self) -> arb | None:
        """The enclosure of the constant output; None without biases."""
        return self.enclosure.constant

    @property
    def heads(self) -> tuple[RecoveredHead, ...]:
        """The recovered heads."""
        return self.enclosure.heads

    @property
    def error(self) -> fmpq:
        """The bound on the errors of the answers, with what rounding took."""
        return self.enclosure.error

    @property
    def digits(self) -> int:
        """Decimal digits after the point that all enclosures give: the largest n with every radius ≤ 10^-n/2
        (may be negative)."""
        widest = 2 * self.enclosure.widest_radius.fmpq()
        n = 0
        while widest > fmpq(1, 10) ** n if n >= 0 else widest > fmpq(10) ** -n:
            n -= 1
        while widest <= fmpq(1, 10) ** (n + 1):
            n += 1
        return n

    def matches(self, layer: AnyLayer) -> bool:
        """Whether each canonical head of a layer lies in exactly one enclosed head, and its constant output
        (after a run with biases) in its enclosure."""
        return matches_layer(self.heads, layer, self.constant)


def recover_with_error(
    oracle: Oracle,
    heads: int,
    output_error: Any,
    *,
    bias: bool = False,
    numbers: Literal["lattice", "balls"] = "balls",
    denominator: int = 1,
    robust: bool = False,
    longest: int | None = None,
    seed: int = 0,
    tokens: TokenRange | None = None,
    max_redraws: int = MAX_REDRAWS,
    transcript: str | Path | None = None,
    progress: Progress | None = None,
) -> NoisyRecovery:
    """Certified enclosures of the canonical heads of a layer from answers with errors.

    Every answer of the oracle is within ``output_error`` of the truth; answers over balls may have radii of
    their own, which are added. ``heads`` is the number of canonical heads (that there are no fewer is proved,
    that there are no more cannot be). ``bias``: the layer has query biases and a constant output, which are
    enclosed too. ``robust``: single-token queries for V·b, and a second pass with copy
    ratios near the minimax ones for the poles of the first, within ``longest`` tokens (default 2H + 1).
    ``numbers``: "balls" for base e, "lattice" if exp(s) is 2^{D s}, D = ``denominator``.

    Raises ErrorsTooLarge, naming condition and probe, if no draw of queries gives enclosures (other vectors
    are tried ``max_redraws`` times); InconsistentAnswers, OracleError, TranscriptError, InputError.
    Source: theory, section 6.

    >>> from exactattn.model import random_layer
    >>> from exactattn.oracle import FunctionOracle
    >>> from exactattn.model.evaluate import evaluate
    >>> layer = random_layer(heads=1, dim=2, seed=1, size=1)
    >>> oracle = FunctionOracle(lambda query: evaluate(layer, query, Balls(80)).mid(), dim=2)
    >>> result = recover_with_error(oracle, 1, "1e-20")
    >>> result.matches(layer), result.digits > 10, result.queries
    (True, True, 15)
    """
    started = time.perf_counter()
    error = rational(output_error)
    if error < 0:
        raise InputError(f"must not be negative, it is {rational_text(error)}", field="output error")
    system: LogLattice | Balls = LogLattice(denominator) if numbers == "lattice" else Balls(_bits(error))
    chosen = tokens or noise_tokens(system, oracle.dim)
    first = PublishedPlan.draw(heads, oracle.dim, seed, chosen, bias=bias)
    identity = {
        **first.identity(),
        "numbers": system.describe(),
        "output error": rational_text(error),
        "robust": robust,
    }
    refusals: list[str] = []
    with Transcript(transcript, identity=identity, fingerprint=oracle.fingerprint) as record:
        asked = _Asked(oracle, record, system, error, progress)
        for attempt in range(max_redraws + 1):
            plan = PublishedPlan.draw(heads, oracle.dim, seed + attempt, chosen, bias=bias)
            design = Design.published(plan)
            try:
                if robust:
                    design = _second_design(design.direct(), asked, longest or 2 * heads + 1)
                answers, bound = asked.answers(design)
                with ctx.workprec(_bits(bound)):
                    found = enclose(design, answers, bound, natural_unit(system))
            except ErrorsTooLarge as reason:
                refusals.append(str(reason))
                last, failed = reason, design
                continue
            return NoisyRecovery(
                found,
                tuple(answers),
                bound,
                system,
                seed + attempt,
                robust,
                tuple(refusals),
                record.queries,
                record.longest,
                time.perf_counter() - started,
            )
        answers, bound = asked.answers(failed)
        raise ErrorsTooLarge(
            f"{last} ({max_redraws + 1} draws of queries were tried; in the last one the answers prove at "
            f"least {proved_heads(failed, answers, bound)} of {heads} heads)",
            condition=last.condition,
            probe=last.probe,
        )


def _bits(error: fmpq) -> int:
    """A working precision at which rounding does not count beside the error."""
    return 128 + (int(1 / error).bit_length() if error else 128)


@dataclass(frozen=True)
class _Asked:
    """Asks a design's queries once; answers as exact rationals with one bound on their errors."""

    oracle: Oracle
    record: Transcript
    system: LogLattice | Balls
    error: fmpq
    progress: Progress | None

    def answers(self, design: Design) -> tuple[list[fmpq], fmpq]:
        queries = design.queries()
        if self.progress is not None:
            self.progress.stage("asking", len(queries))
        advance = None if self.progress is None else self.progress.advance
        system: NumberSystem[Any, Any] = self.system
        given = self.record.ask(self.oracle, queries, system, progress=advance)
        middles = [x.mid().fmpq() if isinstance(x, arb) else x for x in given]
        radii = [x.rad().fmpq() for x in given if isinstance(x, arb)]
        return middles, self.error + max(radii, default=fmpq(0))


def _second_design(design: Design, asked: _Asked, longest: int) -> Design:
    """The design with the best nodes for the poles that a first pass shows roughly."""
    answers, _ = asked.answers(design)
    sizes = []
    none: Vector = tuple(fmpq(0) for _ in design.u)  # a direct design does not derive V
    for family in design.families:
        samples = answers[family.start : family.start + len(family.nodes)]
        sizes.append(rough_poles(family.nodes, known_value(family, answers, none), samples))
    return with_best_nodes(design, sizes, longest)
