"""The log-lattice over Q: exponentials of rational scores are powers of two.

With D the common denominator of all scores, t = e^{1/D} is transcendental, so t ↦ 2 is a specialisation of
Q(t) that is defined on every oracle value (theory, section 2, specialisation lemma). Under it
exp(s) = 2^{D s} is an exact rational and the logarithm is the exponent of 2 divided by D.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from flint import fmpq, fmpq_mat, fmpq_poly, fmpz

from exactattn.exceptions import InconsistentAnswers, InputError
from exactattn.numbers.decision import Decision
from exactattn.numbers.rational import rational, rational_text
from exactattn.numbers.system import NumberSystem

__all__ = ["LogLattice"]

MAX_EXPONENT = 1 << 24


class LogLattice(NumberSystem[fmpq, fmpq]):
    """Exact rationals with exp(s) = 2^{D s}, D = ``denominator`` ≥ 1.

    >>> lattice = LogLattice(denominator=2)
    >>> lattice.exp(fmpq(3, 2)), lattice.log(fmpq(1, 8))
    (8, -3/2)
    """

    name: ClassVar[str] = "lattice"
    exact: ClassVar[bool] = True

    def __init__(self, denominator: int = 1) -> None:
        if denominator < 1:
            raise InputError(f"the common denominator of the scores must be at least 1, not {denominator}")
        self.denominator = int(denominator)

    def __repr__(self) -> str:
        return f"LogLattice(denominator={self.denominator})"

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "base": "2", "denominator": str(self.denominator)}

    def value(self, q: fmpq) -> fmpq:
        return q

    def score(self, q: fmpq) -> fmpq:
        return q

    def exponent(self, score: fmpq) -> int:
        """The exponent of 2 that stands for a score: D · score, an integer.

        Raises InputError if the score does not have a denominator dividing D, or the exponent is so large
        that the numbers could not be handled.
        """
        scaled = score * self.denominator
        if scaled.q != 1:
            raise InputError(
                f"the score {score} is not a multiple of 1/{self.denominator}; use integral tokens, or "
                "LogLattice with the common denominator of all scores"
            )
        exponent = int(scaled.p)
        if abs(exponent) > MAX_EXPONENT:
            raise InputError(
                f"a score needs the power 2^{exponent}, beyond 2^±{MAX_EXPONENT}; use --numbers balls"
            )
        return exponent

    def exp(self, score: fmpq) -> fmpq:
        exponent = self.exponent(score)
        return fmpq(fmpz(1) << exponent) if exponent >= 0 else fmpq(1, fmpz(1) << -exponent)

    def log(self, x: fmpq) -> fmpq:
        p, q = int(x.p), int(x.q)
        if p > 0 and p & (p - 1) == 0 and q & (q - 1) == 0:
            return fmpq(p.bit_length() - q.bit_length(), self.denominator)
        raise InconsistentAnswers(
            "a pole is not a power of 2, so the answers are not those of an attention layer with at most "
            "the stated number of heads, evaluated on the log-lattice"
        )

    def sum(self, xs: Sequence[fmpq]) -> fmpq:
        """The sum, with one greatest common divisor at the end: on long unrelated denominators those of
        partial sums cost most of the time."""
        pairs = [(x.p, x.q) for x in xs] or [(fmpz(0), fmpz(1))]
        while len(pairs) > 1:
            odd = pairs[-1:] if len(pairs) % 2 else []
            halves = zip(pairs[0::2], pairs[1::2], strict=False)
            pairs = [(p * s + r * q, q * s) for (p, q), (r, s) in halves] + odd
        return fmpq(*pairs[0])

    def equal(self, x: fmpq, y: fmpq) -> Decision:
        return Decision.of(x == y)

    def equal_scores(self, s: fmpq, t: fmpq) -> Decision:
        return Decision.of(s == t)

    def solve(self, matrix: Sequence[Sequence[fmpq]], columns: Sequence[Sequence[fmpq]]) -> list[list[fmpq]]:
        n = len(matrix)
        left = fmpq_mat(n, n, [x for row in matrix for x in row])
        right = fmpq_mat(n, len(columns[0]), [x for row in columns for x in row])
        return left.solve(right).tolist()

    def solve_scores(
        self, matrix: Sequence[Sequence[fmpq]], columns: Sequence[Sequence[fmpq]]
    ) -> list[list[fmpq]]:
        return self.solve(matrix, columns)

    def simple_roots(self, coefficients: Sequence[fmpq]) -> list[fmpq]:
        degree = len(coefficients) - 1
        if degree == 0:
            return []
        found = fmpq_poly(list(coefficients)).roots()
        if len(found) != degree:
            raise InconsistentAnswers(
                "the poles of a probe are not distinct rationals, so the answers are not those of an "
                "attention layer with at most the stated number of heads, evaluated on the log-lattice"
            )
        return [root for root, _ in found]

    def value_text(self, x: fmpq) -> str:
        return rational_text(x)

    def parse_value(self, text: str) -> fmpq:
        return rational(text)
