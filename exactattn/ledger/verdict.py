"""The five verdicts."""

from __future__ import annotations

from enum import Enum

__all__ = ["Verdict"]


class Verdict(Enum):
    """What the evidence of a claim says.

    >>> Verdict("proved for").meaning
    'proved for the listed sizes or models, by certificate or exact evaluation'
    """

    PROVED = "proved"
    PROVED_FOR = "proved for"
    REFUTED = "refuted"
    UNKNOWN = "unknown"
    OUT_OF_SCOPE = "out of scope"

    @property
    def meaning(self) -> str:
        """The verdict in a few more words."""
        return _MEANINGS[self]

    @property
    def positive(self) -> bool:
        """Whether other claims can build on it."""
        return self in (Verdict.PROVED, Verdict.PROVED_FOR)


_MEANINGS = {
    Verdict.PROVED: "proved for all sizes, under the stated hypotheses",
    Verdict.PROVED_FOR: "proved for the listed sizes or models, by certificate or exact evaluation",
    Verdict.REFUTED: "false as stated; an exact counterexample is shown",
    Verdict.UNKNOWN: "not decided here",
    Verdict.OUT_OF_SCOPE: "cannot be decided by exact computation",
}
