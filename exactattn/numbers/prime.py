"""A prime field: exponentials of rational scores are powers of a primitive root, modulo a prime.

With D the common denominator of all scores, t = e^{1/D} is transcendental, and t ↦ g mod p is a
specialisation of Q(t) wherever denominators do not vanish: exp(s) = g^{D s}, and the logarithm is the
discrete one, cheap because p − 1 is smooth. What is different modulo p is different for the real model; what
is equal modulo p may be a coincidence (theory, section 2, specialisation lemma).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from flint import fmpq, fmpq_mat, fmpz, nmod, nmod_mat, nmod_poly

from exactattn.exceptions import InconsistentAnswers, InputError, PrecisionExhausted
from exactattn.numbers.decision import Decision
from exactattn.numbers.rational import rational
from exactattn.numbers.smooth_primes import LONG_PRIME, SmoothPrime
from exactattn.numbers.system import NumberSystem

__all__ = ["PrimeNumbers"]


class PrimeNumbers(NumberSystem[nmod, fmpq]):
    """F_p with exp(s) = g^{D s}, g the smallest primitive root, D = ``denominator`` ≥ 1.

    Scores are rationals with D s integral. Those that a logarithm returns are the ones with |D s| ≤ (p −
    1)/2, and two are equal if D times their difference is a multiple of p − 1. Raises InputError unless p is
    a prime below 2^63 with smooth p − 1; the default is 29·2^57 + 1.

    >>> numbers = PrimeNumbers(denominator=2)
    >>> numbers.log(numbers.exp(fmpq(-3, 2))), numbers.lift(numbers.value(fmpq(2, 7)))
    (-3/2, 2/7)
    """

    name: ClassVar[str] = "prime"
    exact: ClassVar[bool] = True

    def __init__(self, prime: int = LONG_PRIME, denominator: int = 1) -> None:
        if denominator < 1:
            raise InputError(f"the common denominator of the scores must be at least 1, not {denominator}")
        self.field = SmoothPrime(prime)  # python-flint relies on a prime modulus
        self.denominator = int(denominator)

    def __repr__(self) -> str:
        return f"PrimeNumbers(prime={self.prime}, denominator={self.denominator})"

    @property
    def prime(self) -> int:
        """p."""
        return self.field.prime

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "prime": str(self.prime), "denominator": str(self.denominator)}

    def value(self, q: fmpq) -> nmod:
        """The residue of p/q. Raises InputError if the denominator vanishes modulo p."""
        if q.q % self.prime == 0:
            raise InputError(f"the denominator of {q} vanishes modulo {self.prime}; choose another prime")
        return nmod(q.p, self.prime) / nmod(q.q, self.prime)

    def score(self, q: fmpq) -> fmpq:
        return q

    def exp(self, score: fmpq) -> nmod:
        scaled = score * self.denominator
        if scaled.q != 1:
            raise InputError(
                f"the score {score} is not a multiple of 1/{self.denominator}; use integral tokens, or "
                "PrimeNumbers with the common denominator of all scores"
            )
        return nmod(self.field.power(int(scaled.p)), self.prime)

    def log(self, x: nmod) -> fmpq:
        try:
            exponent = self.field.log(int(x))
        except ZeroDivisionError:
            raise InconsistentAnswers(
                "a pole is 0, so the answers are not those of an attention layer with at most the "
                "stated number of heads"
            ) from None
        order = self.field.order
        return fmpq(exponent if 2 * exponent <= order else exponent - order, self.denominator)

    def equal(self, x: nmod, y: nmod) -> Decision:
        return Decision.of(x == y)

    def equal_scores(self, s: fmpq, t: fmpq) -> Decision:
        difference = (s - t) * self.denominator
        return Decision.of(difference.q == 1 and difference.p % self.field.order == 0)

    def solve(self, matrix: Sequence[Sequence[nmod]], columns: Sequence[Sequence[nmod]]) -> list[list[nmod]]:
        n, p = len(matrix), self.prime
        left = nmod_mat(n, n, [x for row in matrix for x in row], p)
        right = nmod_mat(n, len(columns[0]), [x for row in columns for x in row], p)
        return left.solve(right).tolist()

    def solve_scores(
        self, matrix: Sequence[Sequence[fmpq]], columns: Sequence[Sequence[fmpq]]
    ) -> list[list[fmpq]]:
        """Over Q: right if the scores are those that a logarithm returns (:meth:`require_exponents`)."""
        n = len(matrix)
        left = fmpq_mat(n, n, [x for row in matrix for x in row])
        right = fmpq_mat(n, len(columns[0]), [x for row in columns for x in row])
        return left.solve(right).tolist()

    def simple_roots(self, coefficients: Sequence[nmod]) -> list[nmod]:
        degree = len(coefficients) - 1
        if degree == 0:
            return []
        found = nmod_poly([int(c) for c in coefficients], self.prime).roots()
        roots = [root for root, multiplicity in found if multiplicity == 1]
        if len(roots) != degree:
            raise InconsistentAnswers(
                "the poles of a probe are not distinct elements of the prime field, so the answers are not "
                "those of an attention layer with at most the stated number of heads, evaluated there"
            )
        return roots

    def value_text(self, x: nmod) -> str:
        return str(int(x))

    def parse_value(self, text: str) -> nmod:
        return self.value(rational(text))

    @property
    def lift_bound(self) -> int:
        """The largest numerator and denominator that :meth:`lift` tells apart: ⌊√((p − 1)/2)⌋."""
        return int(fmpz((self.prime - 1) // 2).isqrt())

    def lift(self, x: nmod) -> fmpq:
        """The one rational with numerator and denominator at most ``lift_bound`` that has this residue.

        Raises PrecisionExhausted if there is none: then the parameter is longer than one prime shows.
        """
        high, low, before, factor = self.prime, int(x), 0, 1
        bound = self.lift_bound
        while low > bound:
            quotient = high // low
            high, low = low, high - quotient * low
            before, factor = factor, before - quotient * factor
        if abs(factor) > bound or fmpz(low).gcd(fmpz(factor)) != 1:
            raise PrecisionExhausted(
                f"a parameter is no fraction with numerator and denominator up to {bound}, the most that one "
                "prime shows; use the log-lattice"
            )
        return fmpq(low, factor)

    def require_exponents(self, entry: fmpq) -> fmpq:
        """An entry of some W, if D times it is an integer. Raises PrecisionExhausted otherwise: then some
        score was longer than the prime shows."""
        if (entry * self.denominator).q != 1:
            raise PrecisionExhausted(
                f"the scores do not fit between ±({self.prime} − 1)/2 over {self.denominator}, which is the "
                "most that one prime shows; use the log-lattice"
            )
        return entry
