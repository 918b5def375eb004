"""The whole recovery: draw a plan, ask, solve; go on, redraw, raise precision or fall back, until done.

It serves every method: a method is a plan that can solve its own answers.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Literal, Protocol

from flint import arb

from exactattn.exceptions import (
    CannotTell,
    GenericityExhausted,
    InconsistentAnswers,
    InputError,
    PrecisionExhausted,
)
from exactattn.model.query import Query
from exactattn.numbers import Balls, Decision, LogLattice, PrimeNumbers
from exactattn.oracle import Oracle, RecordedOracle, Transcript
from exactattn.recovery.draw import TokenRange
from exactattn.recovery.genericity import NonGeneric, SameOutputs, vectors_to_replace
from exactattn.recovery.method import Plan
from exactattn.recovery.methods.staged_plan import StagedPlan
from exactattn.recovery.residues import rational_solution
from exactattn.recovery.result import Recovery
from exactattn.recovery.solution import Further, Solution
from exactattn.recovery.start import CLOSENESS, Method, fallback_plan, first_plan
from exactattn.recovery.verification import predicted

__all__ = ["Progress", "first_precision", "recover"]

DEFAULT_DIGITS = 40
MAX_REDRAWS = 40
MAX_PRECISION = 1 << 16
MAX_CLOSER = 4
MAX_RESTARTS = 3

_Outcome = Solution | Further | NonGeneric | SameOutputs | CannotTell


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


def first_precision(plan: Plan, digits: int) -> int:
    """Bits to start with: digits wanted, about 80 bits a head, which interpolation at the nodes 1 … 2H costs
    for unit-size heads (measured; see also the error constants of theory, section 6), and what closeness of
    tokens costs."""
    close = plan.closeness if isinstance(plan, StagedPlan) else 0
    return 64 + 80 * plan.heads + 4 * close + int(3.33 * max(0, digits - 20))


def recover(
    oracle: Oracle,
    heads: int | None,
    *,
    method: Method = "published",
    rank: int | Literal["auto"] | None = None,
    bias: bool = False,
    numbers: Literal["lattice", "balls", "prime"] = "lattice",
    denominator: int = 1,
    digits: int = DEFAULT_DIGITS,
    seed: int = 0,
    tokens: TokenRange | None = None,
    closeness: int = CLOSENESS,
    transcript: str | Path | None = None,
    max_redraws: int = MAX_REDRAWS,
    max_precision: int = MAX_PRECISION,
    progress: Progress | None = None,
) -> Recovery:
    """Recovers the canonical heads of a layer from nothing but an oracle's answers.

    ``heads`` is the number of heads or an upper bound H_0; None has it found out. ``method``:

    - "published": 4Hd² − 2H + 1 queries, all known before the first answer;
    - "consistent": 2H(d² + d − 1), labels from check equations;
    - "optimal": H(d² + d), as many as identified parameters; over balls labels by proximity of tokens
      (``closeness`` bits, doubled when it fails), and one further query verifies the result.

    On the lattice these two ask in rounds: coincidences that earlier answers foretell are not asked for, so
    that the count holds in all but the rarest runs. Recorded answers are those of the plan without rounds.

    ``rank`` (not published): an upper bound r on the rank of every W_h lowers the counts to those of rank r;
    "auto" finds it out row by row. ``bias``: scores (1, b)^T W a with W of (d+1)×d, and a constant output.

    No query has more than 2H + 1 tokens. ``numbers``: "lattice" (exact; ``denominator`` is the D with
    exp(s) = 2^{D s}), "prime" (published method; exp(s) = g^{D s} modulo a prime near 2^62, for layers
    whose numbers are within the bounds of :func:`~exactattn.recovery.residues.rational_solution`) or
    "balls" (enclosures with radius at most 10^−digits; the oracle is asked for more digits of the same
    answers while a decision is open, up to ``max_precision`` bits). ``seed`` draws the queries.
    ``transcript``: a file that keeps every answer, so that a run can be resumed.

    Non-generic queries are drawn again; those that changed are asked and counted. Where a method cannot tell
    two heads apart the published one takes over, and the result says so.

    Raises InconsistentAnswers (no such layer), GenericityExhausted, PrecisionExhausted, OracleError,
    TranscriptError, InputError. Source: theory, sections 3 to 5; arXiv 2608.03294.

    >>> from exactattn.model import random_layer
    >>> from exactattn.oracle import ExactOracle
    >>> layer = random_layer(heads=2, dim=2, seed=1)
    >>> result = recover(ExactOracle(layer), heads=2)
    >>> result.matches(layer), result.queries, result.longest
    (True, 29, 5)
    >>> result = recover(ExactOracle(layer), heads=2, method="optimal")
    >>> result.matches(layer), result.queries, result.longest
    (True, 12, 5)
    """
    if digits < 1:
        raise InputError(f"must be at least 1, not {digits}", field="digits")
    exact = numbers != "balls"
    if numbers == "prime" and (method != "published" or heads is None):
        raise InputError(
            "prime goes with the published method and a known number of heads or bound", field="numbers"
        )
    plan = first_plan(
        method, heads, oracle.dim, seed, exact=exact, tokens=tokens, bias=bias, rank=rank,
        closeness=closeness, rounds=not isinstance(oracle, RecordedOracle),
    )  # fmt: skip
    system: LogLattice | PrimeNumbers | Balls
    if exact:
        system = PrimeNumbers(denominator=denominator) if numbers == "prime" else LogLattice(denominator)
    else:
        system = Balls(min(first_precision(plan, digits), max_precision))
    identity = {**plan.identity(), "numbers": system.describe()}
    with Transcript(transcript, identity=identity, fingerprint=oracle.fingerprint) as record:
        run = _Run(oracle, record, plan, system, progress or _Silent())
        run.digits, run.max_redraws, run.max_precision = digits, max_redraws, max_precision
        run.found_out = heads is None or rank is not None
        run.restarts = MAX_RESTARTS if heads is None or rank == "auto" else int(rank is not None)
        return run.result()


class _Run:
    """The state of one run: draws so far, number system, and what was learnt on the way."""

    digits: int
    max_redraws: int
    max_precision: int
    found_out: bool
    restarts: int

    def __init__(
        self,
        oracle: Oracle,
        record: Transcript,
        plan: Plan,
        system: LogLattice | PrimeNumbers | Balls,
        report: Progress,
    ) -> None:
        self.started = time.perf_counter()
        self.oracle = oracle
        self.record = record
        self.begin = plan
        self.draws = [plan]
        self.system = system
        self.report = report
        self.reasons: list[str] = []
        self.notes: list[str] = []
        self.checks: set[Query] = set()
        self.asked: list[tuple[list[Query], list[Any]]] = []  # on the lattice: everything, attempt by attempt
        self.closer = 0
        self.earlier: list[_Outcome] = []  # outcomes of the present plan at lower precisions

    @property
    def plan(self) -> Plan:
        return self.draws[-1]

    def result(self) -> Recovery:
        while True:
            try:
                outcome, answers = self.attempt()
            except InconsistentAnswers as error:
                self.restart(error)
                continue
            if not self.is_settled(outcome):
                self.more_precise(outcome)
                self.earlier.append(outcome)
                continue
            self.earlier = []
            match outcome:
                case Solution():
                    return self.recovery(outcome, answers)
                case Further(plan=plan):
                    self.draws[-1] = plan
                    self.at_least(first_precision(plan, self.digits))
                case SameOutputs():
                    self.notes.append(
                        f"{outcome}: the {self.plan.method} method gave way to the published one"
                    )
                    self.draws[-1] = fallback_plan(self.plan, exact=self.system.exact)
                case NonGeneric():
                    self.redraw(outcome)

    def attempt(self) -> tuple[_Outcome, list[Any]]:
        """A solution with the wanted digits, or what is to be done instead; and the answers."""
        plan, queries = self.plan, self.plan.queries()
        answers: list[Any] = []
        try:
            self.report.stage("asking", len(queries))
            answers = self.record.ask(self.oracle, queries, self.system, progress=self.report.advance)
            self.keep(queries, answers)
            self.report.stage("solving", len(plan.probes))
            outcome = plan.solve(answers, self.system, self.report.advance)
            if isinstance(self.system, PrimeNumbers) and isinstance(outcome, Solution):
                outcome = rational_solution(outcome, self.system)
            if isinstance(outcome, Solution):
                self.require_digits(outcome)
                self.verify(outcome)
        except (NonGeneric, SameOutputs, CannotTell) as reason:
            return reason, answers
        return outcome, answers

    def keep(self, queries: list[Query], answers: list[Any]) -> None:
        """Remembers exact answers, those beside the last plan's for certificates."""
        if self.system.exact:
            self.asked.append((queries, answers))

    def others(self) -> tuple[tuple[Query, Any], ...]:
        """What was asked beside the present plan."""
        if len(self.asked) < 2:
            return ()
        answered = {q: a for queries, answers in self.asked for q, a in zip(queries, answers, strict=True)}
        for query in self.plan.queries():
            answered.pop(query, None)
        return tuple(sorted(answered.items(), key=lambda item: (item[0].runs, item[0].last)))

    def require_digits(self, solution: Solution) -> None:
        """Raises CannotTell if an enclosure is too wide."""
        bound = arb(10) ** -self.digits
        if not all(x.rad() <= bound for x in solution.entries if isinstance(x, arb)):
            raise CannotTell(f"an enclosure is wider than 10^-{self.digits}")

    def verify(self, solution: Solution) -> None:
        """Compares one further answer with the heads, if labels or sizes may be wrong without it."""
        query = self.plan.check_query
        if query is None or (self.system.exact and not self.found_out):
            return
        self.checks.add(query)
        system: Any = self.system
        (answer,) = self.record.ask(self.oracle, [query], system)
        self.keep([query], [answer])
        try:
            value = predicted(solution, query, self.system)
            differs = self.system.equal(value, answer) is Decision.NO
        except InputError:  # a score that the log-lattice of this run does not have
            value, differs = None, True
        if differs:
            if isinstance(self.plan, StagedPlan) and self.plan.closeness:
                raise NonGeneric([], True, too_far=True)
            raise InconsistentAnswers(
                "the recovered heads do not give the answer to a further query, so the answers are not those "
                f"of an attention layer with at most {self.plan.heads} heads of the stated rank"
            )
        if isinstance(value, arb) and value.rad() > arb(10) ** -(self.digits // 2) * (1 + abs(answer)):
            raise CannotTell("cannot tell whether the heads give the answer to a further query")

    def is_settled(self, outcome: _Outcome) -> bool:
        """Whether more digits of the same answers are no longer worth asking for.

        Over balls a number of heads below the bound, and probes that look non-generic, can never be proved;
        they are taken as they are when doubling the precision changed nothing.
        """
        if self.system.exact:
            return True
        previous = self.earlier[-1] if self.earlier else None
        match outcome:
            case Solution():
                confirmed = isinstance(previous, Solution) and len(previous.heads) == len(outcome.heads)
                return outcome.rank_proved or confirmed
            case Further():
                return outcome.proved or outcome == previous
            case SameOutputs():
                return outcome.proved or isinstance(previous, SameOutputs)
            case NonGeneric():
                if outcome.proved:
                    return True
                if not isinstance(previous, NonGeneric):
                    return False
                failed, before = ({probe for probe, _ in o.failures} for o in (outcome, previous))
                few = 2 * len(failed) < len(self.plan.probes) or len(self.earlier) >= len(self.plan.probes)
                return failed == before and few
        return False

    def more_precise(self, outcome: _Outcome) -> None:
        """Twice the precision. Raises PrecisionExhausted, with the open decision, at the limit."""
        bits = self.system.precision if isinstance(self.system, Balls) else 0
        if bits >= self.max_precision:
            why = {Solution: "the number of heads is unconfirmed", Further: "the size is unconfirmed"}
            raise PrecisionExhausted(
                f"undecided at {bits} bits ({why.get(type(outcome), str(outcome))}); allow more with "
                "--max-precision, or lower the bound on the number of heads"
            )
        self.system = Balls(min(2 * bits, self.max_precision))

    def at_least(self, bits: int) -> None:
        """A larger plan needs more precision."""
        if isinstance(self.system, Balls) and self.system.precision < bits:
            self.system = Balls(min(bits, self.max_precision))

    def restart(self, error: InconsistentAnswers) -> None:
        """Begins again with other vectors, if a coincidence may have given a wrong number of heads or rank;
        otherwise the error stands."""
        if not self.restarts:
            raise error
        self.restarts -= 1
        self.earlier = []
        self.reasons.append(f"the sizes found out do not fit: {error}")
        vectors = {("b", 1), *(("u", j) for j in range(1, self.begin.dim + 1))}
        self.begin = self.begin.redrawn(vectors)
        self.draws.append(self.begin)

    def redraw(self, outcome: NonGeneric) -> None:
        """The next draw: closer tokens, or other vectors in the probes that failed."""
        reason = str(outcome) or "the heads do not give the answer to a further query"
        if len(self.draws) > self.max_redraws or self.closer >= MAX_CLOSER:
            raise GenericityExhausted(
                f"queries stayed non-generic after {len(self.draws) - 1} redraws ({reason}); try another seed"
            )
        self.reasons.append(reason)
        if outcome.too_far and isinstance(self.plan, StagedPlan):
            self.closer += 1
            self.draws.append(self.plan.closer())
            self.at_least(first_precision(self.plan, self.digits))
        else:
            failed = [probe for probe, _ in outcome.failures]
            replaced = set(outcome.vectors) or vectors_to_replace(self.plan, failed)
            self.draws.append(self.plan.redrawn(replaced))

    def recovery(self, solution: Solution, answers: list[Any]) -> Recovery:
        return Recovery(
            heads=solution.heads,
            plan=self.plan,
            draws=tuple(self.draws),
            redraw_reasons=tuple(self.reasons),
            answers=answers,
            system=self.system,
            rank_proved=solution.rank_proved,
            queries=self.record.queries - len(self.checks),
            longest=self.record.longest,
            refinements=self.record.refinements,
            resent=self.record.resent,
            seconds=time.perf_counter() - self.started,
            constant=solution.constant,
            verifying=len(self.checks),
            notes=tuple(self.notes),
            others=self.others(),
        )
