"""The interface of a number system.

Algorithms are written once over this interface (theory, section 2). A system has *values* (what an oracle
answers, type ``E``) and *scores* (what an exponential is taken of, type ``S``). Values support ``+ - * /``
among themselves; every decision about them is a :class:`~exactattn.numbers.decision.Decision`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Generic, TypeVar

from flint import fmpq

from exactattn.numbers.decision import Decision

__all__ = ["NumberSystem"]

E = TypeVar("E")
S = TypeVar("S")


class NumberSystem(ABC, Generic[E, S]):
    """One number system: exact values or enclosures, with exponentials of scores.

    Laws that every system keeps (tests/numbers/test_conformance.py runs them on each):
    ``exp(s + t) = exp(s) exp(t)``, ``log(exp(s)) = s``, field axioms, ``solve`` inverts, and
    ``simple_roots`` of a product of distinct linear factors are the planted roots.
    """

    name: ClassVar[str]
    exact: ClassVar[bool]

    def context(self) -> AbstractContextManager[Any]:
        """Everything computed inside ``with system.context():`` follows this system's precision."""
        return nullcontext()

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Name and parameters of the system, for transcripts and certificates (JSON values)."""

    # values and scores
    @abstractmethod
    def value(self, q: fmpq) -> E:
        """The rational ``q`` as a value."""

    @abstractmethod
    def score(self, q: fmpq) -> S:
        """The rational ``q`` as a score."""

    @abstractmethod
    def exp(self, score: fmpq) -> E:
        """The exponential of a rational score."""

    @abstractmethod
    def log(self, x: E) -> S:
        """The score whose exponential is ``x``. Raises InconsistentAnswers if there is provably none,
        CannotTell if that is open."""

    # decisions
    @abstractmethod
    def equal(self, x: E, y: E) -> Decision:
        """Whether two values are equal."""

    @abstractmethod
    def equal_scores(self, s: S, t: S) -> Decision:
        """Whether two scores are equal."""

    # algebra
    @abstractmethod
    def solve(self, matrix: Sequence[Sequence[E]], columns: Sequence[Sequence[E]]) -> list[list[E]]:
        """The rows of X with matrix · X = columns (both given by rows). Raises ZeroDivisionError if the
        matrix is singular, or not provably invertible."""

    @abstractmethod
    def solve_scores(self, matrix: Sequence[Sequence[fmpq]], columns: Sequence[Sequence[S]]) -> list[list[S]]:
        """The same for a rational matrix and scores."""

    @abstractmethod
    def simple_roots(self, coefficients: Sequence[E]) -> list[E]:
        """All roots of the polynomial (coefficients from the constant term up, leading one 1), which must
        be distinct and lie in the system. Raises InconsistentAnswers if they provably do not, CannotTell
        if that is open."""

    # answers as text
    @abstractmethod
    def value_text(self, x: E) -> str:
        """Text of a value for a transcript; :meth:`parse_value` reads it back, exactly or enclosing."""

    @abstractmethod
    def parse_value(self, text: str) -> E:
        """A value from its text: a rational, a decimal, or (balls only) a midpoint with a radius."""

    def sum(self, xs: Sequence[E]) -> E:
        """The sum of values."""
        total: Any = self.value(fmpq(0))
        for x in xs:
            total = total + x
        result: E = total
        return result
