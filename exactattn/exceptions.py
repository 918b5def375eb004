"""Every error a user can meet, named, in one file.

All of them derive from :class:`ExactAttnError`; the command line prints the message as one sentence and
ends with exit code 2. A message names the file or the place, the field, and the mend.

>>> issubclass(InconsistentAnswers, ExactAttnError)
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exactattn.model.query import Query

__all__ = [
    "AnswersTimeout",
    "CannotTell",
    "CertificateError",
    "ConditionViolated",
    "ErrorsTooLarge",
    "ExactAttnError",
    "GenericityExhausted",
    "InconsistentAnswers",
    "InputError",
    "Interrupted",
    "MissingAnswers",
    "OracleError",
    "PrecisionExhausted",
    "TranscriptError",
]


class ExactAttnError(Exception):
    """Base of every named error of this package."""


class InputError(ExactAttnError):
    """A file, an option or an argument is not what it must be; the message says how to mend it."""

    def __init__(self, message: str, *, file: object = None, field: str | None = None) -> None:
        self.file = None if file is None else str(file)
        self.field = field
        place = ": ".join(part for part in (self.file, field) if part)
        super().__init__(f"{place}: {message}" if place else message)

    def in_file(self, file: object) -> InputError:
        """The same error, with the file it was met in."""
        message = str(self)
        if self.field and message.startswith(f"{self.field}: "):
            message = message.removeprefix(f"{self.field}: ")
        return InputError(message, file=file, field=self.field)


class CannotTell(ExactAttnError):
    """A decision on balls is neither yes nor no at the present precision; more precision may help."""


class ErrorsTooLarge(CannotTell):
    """The stated error of the answers leaves the parameters open; only better answers, or queries that stand
    more noise, can help. ``condition`` and ``probe`` say what is open, and where."""

    def __init__(self, message: str, *, condition: str = "", probe: str = "") -> None:
        self.condition = condition
        self.probe = probe
        super().__init__(message)


class PrecisionExhausted(ExactAttnError):
    """The highest allowed precision was reached and a decision is still open."""


class InconsistentAnswers(ExactAttnError):
    """The answers are provably not those of an attention layer with at most the stated number of heads."""


class ConditionViolated(ExactAttnError):
    """The function lies outside what a method covers; ``condition`` names the condition that fails."""

    def __init__(self, message: str, condition: str) -> None:
        self.condition = condition
        super().__init__(message)


class GenericityExhausted(ExactAttnError):
    """Queries stayed non-generic after the allowed number of redraws."""


class OracleError(ExactAttnError):
    """The oracle died, or answered garbage, too few or too many values, or contradicted itself."""


class AnswersTimeout(OracleError):
    """The oracle did not answer within the allowed time."""


class MissingAnswers(OracleError):
    """A recording has no answer for some queries; ``queries`` lists them."""

    def __init__(self, message: str, queries: Sequence[Query]) -> None:
        self.queries = list(queries)
        super().__init__(message)


class Interrupted(ExactAttnError):
    """The user stopped a long run."""


class TranscriptError(ExactAttnError):
    """The transcript cannot be used: another plan, another oracle, a damaged file, or a full disk."""


class CertificateError(ExactAttnError):
    """A certificate cannot be written for this run; the message says which statement is missing."""
