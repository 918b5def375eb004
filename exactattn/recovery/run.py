"""The whole recovery: draw a plan, ask, solve; redraw non-generic queries, raise precision, until done."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Literal, Protocol

from flint import arb

from exactattn.exceptions import (
    CannotTell,
    GenericityExhausted,
    InputError,
    PrecisionExhausted,
)
from exactattn.numbers import Balls, LogLattice
from exactattn.oracle import Oracle, Transcript
from exactattn.recovery.draw import TokenRange
from exactattn.recovery.genericity import NonGeneric, vectors_to_replace
from exactattn.recovery.plan import PublishedPlan
from exactattn.recovery.result import Recovery
from exactattn.recovery.solution import Solution
from exactattn.recovery.solve import solve

__all__ = ["Progress", "first_precision", "recover"]

DEFAULT_DIGITS = 40
MAX_REDRAWS = 40
MAX_PRECISION = 1 << 16

_Outcome = Solution | NonGeneric | CannotTell


class Progress(Protocol):
    """Told about progress: ``stage`` starts one with its total, ``advance`` counts it on."""

    def stage(self, name: str, total: int) -> None:
        """A stage begins."""

    def advance(self, steps: int) -> None:
        """So many steps of the stage are done."""


class _Silent:
    def stage(self, name: str, total: int) -> None:
        pass

    def advance(self, steps: int) -> None:
        pass


def first_precision(heads: int, digits: int) -> int:
    """Bits to start with: digits wanted, and about 80 bits a head, which interpolation at the nodes
    1 … 2H costs for unit-size heads (measured; see also the error constants of theory, section 6)."""
    return 64 + 80 * heads + int(3.33 * max(0, digits - 20))


def recover(
    oracle: Oracle,
    heads: int,
    *,
    numbers: Literal["lattice", "balls"] = "lattice",
    denominator: int = 1,
    digits: int = DEFAULT_DIGITS,
    seed: int = 0,
    tokens: TokenRange | None = None,
    transcript: str | Path | None = None,
    max_redraws: int = MAX_REDRAWS,
    max_precision: int = MAX_PRECISION,
    progress: Progress | None = None,
) -> Recovery:
    """Recovers the canonical heads of a layer from nothing but an oracle's answers.

    ``heads`` is the number of heads or an upper bound H_0; asks 4·heads·d² − 2·heads + 1 queries of at most
    2·heads + 1 tokens, all known before the first answer. ``numbers``: "lattice" (exact; ``denominator`` is
    the D with exp(s) = 2^{D s}) or "balls" (enclosures with radius at most 10^−digits; the oracle is asked
    for more digits of the same answers while a decision is open, up to ``max_precision`` bits). ``seed``
    draws the queries. ``transcript``: a file that keeps every answer, so that a run can be resumed.

    Non-generic queries are drawn again; those that changed are asked and counted.

    Raises InconsistentAnswers (no such layer), GenericityExhausted, PrecisionExhausted, OracleError,
    TranscriptError, InputError. Source: theory, sections 3 and 4; arXiv 2608.03294.

    >>> from exactattn.model import random_layer
    >>> from exactattn.oracle import ExactOracle
    >>> layer = random_layer(heads=2, dim=2, seed=1)
    >>> result = recover(ExactOracle(layer), heads=2)
    >>> result.matches(layer), result.queries, result.longest
    (True, 29, 5)
    """
    started = time.perf_counter()
    report = progress or _Silent()
    if digits < 1:
        raise InputError(f"must be at least 1, not {digits}", field="digits")
    system: LogLattice | Balls
    if numbers == "lattice":
        system = LogLattice(denominator)
        chosen = tokens or TokenRange.for_lattice(max(heads, 1), oracle.dim)
    else:
        system = Balls(min(first_precision(heads, digits), max_precision))
        chosen = tokens or TokenRange.for_balls(oracle.dim)
    plan = PublishedPlan.draw(heads, oracle.dim, seed, chosen)
    identity = {**plan.identity(), "numbers": system.describe()}
    draws, reasons = [plan], []
    previous: _Outcome | None = None
    with Transcript(transcript, identity=identity, fingerprint=oracle.fingerprint) as record:
        while True:
            outcome, answers = _attempt(record, oracle, draws[-1], system, digits, report)
            if not _is_settled(outcome, previous, draws[-1], system):
                system, previous = _more_precise(system, outcome, max_precision), outcome
            elif isinstance(outcome, NonGeneric):
                if len(draws) > max_redraws:
                    raise GenericityExhausted(
                        f"queries stayed non-generic after {max_redraws} redraws ({outcome}); "
                        "try another seed"
                    )
                failed = [probe for probe, _ in outcome.failures]
                reasons.append(str(outcome))
                draws.append(draws[-1].redrawn(vectors_to_replace(draws[-1], failed)))
                previous = None
            elif isinstance(outcome, Solution):
                return Recovery(
                    heads=outcome.heads,
                    plan=draws[-1],
                    draws=tuple(draws),
                    redraw_reasons=tuple(reasons),
                    answers=answers,
                    system=system,
                    rank_proved=outcome.rank_proved,
                    queries=record.queries,
                    longest=record.longest,
                    refinements=record.refinements,
                    resent=record.resent,
                    seconds=time.perf_counter() - started,
                )


def _attempt(
    record: Transcript,
    oracle: Oracle,
    plan: PublishedPlan,
    system: LogLattice | Balls,
    digits: int,
    report: Progress,
) -> tuple[_Outcome, list[Any]]:
    """A solution with the wanted digits, or the reason why there is none yet; and the answers."""
    queries = plan.queries()
    answers: list[Any] = []
    try:
        report.stage("asking", len(queries))
        answers = record.ask(oracle, queries, system, progress=report.advance)
        report.stage("solving", len(plan.probes))
        solution = solve(plan, answers, system, report.advance)
    except (NonGeneric, CannotTell) as reason:
        return reason, answers
    bound = arb(10) ** -digits
    if all(x.rad() <= bound for h in solution.heads for x in h.entries if isinstance(x, arb)):
        return solution, answers
    return CannotTell(f"an enclosure is wider than 10^-{digits}"), answers


def _is_settled(
    outcome: _Outcome, previous: _Outcome | None, plan: PublishedPlan, system: LogLattice | Balls
) -> bool:
    """Whether more digits of the same answers are no longer worth asking for.

    Over balls a number of heads below the bound, and probes that look non-generic, can never be proved;
    they are taken as they are when doubling the precision changed nothing.
    """
    if isinstance(system, LogLattice):
        return True
    if isinstance(outcome, Solution):
        confirmed = isinstance(previous, Solution) and len(previous.heads) == len(outcome.heads)
        return outcome.rank_proved or confirmed
    if isinstance(outcome, NonGeneric) and isinstance(previous, NonGeneric):
        failed, before = ({probe for probe, _ in o.failures} for o in (outcome, previous))
        return failed == before and 2 * len(failed) < len(plan.probes)
    return False


def _more_precise(system: LogLattice | Balls, outcome: _Outcome, max_precision: int) -> Balls:
    """Twice the precision. Raises PrecisionExhausted, with the open decision, at the limit."""
    bits = system.precision if isinstance(system, Balls) else 0
    if bits >= max_precision:
        why = f"{len(outcome.heads)} heads, unconfirmed" if isinstance(outcome, Solution) else str(outcome)
        raise PrecisionExhausted(
            f"undecided at {bits} bits ({why}); allow more with --max-precision, or lower the bound on the "
            "number of heads"
        )
    return Balls(min(2 * bits, max_precision))
