"""What running the evidence of a claim gives: a verdict with everything it rests on.

The functions that make an outcome keep the rules: a step that does not hold, or no step at all, makes the
verdict ``unknown``; a refutation needs its counterexample; certificates count once the checker accepts them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from exactattn.ledger.checks import accepted
from exactattn.ledger.exact import exact_text
from exactattn.ledger.step import Step
from exactattn.ledger.verdict import Verdict

__all__ = ["Counterexample", "Outcome", "out_of_scope", "proved", "proved_for", "refuted", "unknown"]


@dataclass(frozen=True)
class Counterexample:
    """An exact instance where a claim fails.

    ``says``: what happens there. ``values``: the numbers, by name; exact (InputError for a float).
    ``smallest``: in what sense there is no smaller one.
    """

    says: str
    values: Mapping[str, Any]
    smallest: str

    def __post_init__(self) -> None:
        for name, value in self.values.items():
            exact_text(value, name)

    def texts(self) -> dict[str, str]:
        """The values as text."""
        return {name: exact_text(value, name) for name, value in self.values.items()}


@dataclass(frozen=True)
class Outcome:
    """A verdict, the argument it rests on, and the steps that were checked.

    ``scope`` lists the sizes or models of a ``proved for``. ``certificates`` are those that the independent
    checker accepted.
    """

    verdict: Verdict
    by: str
    steps: tuple[Step, ...] = ()
    scope: tuple[str, ...] = ()
    counterexample: Counterexample | None = None
    certificates: tuple[dict[str, Any], ...] = field(default=(), repr=False)

    @property
    def failed(self) -> tuple[Step, ...]:
        """The steps that do not hold."""
        return tuple(step for step in self.steps if not step.holds)

    @property
    def checked(self) -> int:
        """Instances evaluated over all steps."""
        return sum(step.checked for step in self.steps)

    @property
    def vacuous(self) -> int:
        """Those of them that say nothing, because they do not satisfy a hypothesis."""
        return sum(step.vacuous for step in self.steps)


def _decided(verdict: Verdict, steps: Sequence[Step]) -> Verdict:
    return verdict if steps and all(step.holds for step in steps) else Verdict.UNKNOWN


def proved(by: str, steps: Sequence[Step]) -> Outcome:
    """Proved for all sizes by the argument ``by``, whose steps are checked.

    >>> from exactattn.ledger import equal
    >>> proved("arithmetic", [equal("2 + 2 = 4", 2 + 2, 4)]).verdict.value
    'proved'
    >>> proved("arithmetic", [equal("2 + 2 = 5", 2 + 2, 5)]).verdict.value
    'unknown'
    """
    return Outcome(_decided(Verdict.PROVED, steps), by, tuple(steps))


def proved_for(
    scope: Sequence[str], by: str, steps: Sequence[Step], certificates: Sequence[dict[str, Any]] = ()
) -> Outcome:
    """Proved for the sizes or models in ``scope``; each certificate is given to the checker here."""
    every = (*steps, *(accepted(certificate) for certificate in certificates))
    verdict = _decided(Verdict.PROVED_FOR, every) if scope else Verdict.UNKNOWN
    valid = tuple(c for c, step in zip(certificates, every[len(steps) :], strict=True) if step.holds)
    return Outcome(verdict, by, every, tuple(scope), None, valid)


def refuted(by: str, steps: Sequence[Step], counterexample: Counterexample) -> Outcome:
    """False as stated: the steps check that the counterexample satisfies the hypotheses and not the claim."""
    return Outcome(_decided(Verdict.REFUTED, steps), by, tuple(steps), (), counterexample)


def unknown(waits_for: str, steps: Sequence[Step] = ()) -> Outcome:
    """Not decided; ``waits_for`` names what is missing. Steps are the parts that could be checked."""
    return Outcome(Verdict.UNKNOWN, waits_for, tuple(steps))


def out_of_scope(because: str, steps: Sequence[Step] = ()) -> Outcome:
    """Cannot be decided by exact computation. Steps are the parts that could be checked; one that fails
    makes the claim unknown."""
    holds = all(step.holds for step in steps)
    return Outcome(Verdict.OUT_OF_SCOPE if holds else Verdict.UNKNOWN, because, tuple(steps))
