"""Primes p with smooth p − 1: discrete logarithms modulo them are cheap (Pohlig and Hellman).

Exponents are known modulo p − 1 only. Several primes whose p − 1 share little but the factor 2 give them
modulo a long common multiple; ``WORD_PRIMES`` are eight primes below 2^31, found by a greedy search among all
p with 31-smooth p − 1 for the longest lcm(p_1 − 1, …, p_k − 1) at each k:

    primes   1    2    3    4    5    6    7    8
    bits    31   61   89  116  140  165  185  206
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flint import fmpz

from exactattn.exceptions import InputError

__all__ = ["LONG_PRIME", "WORD_PRIMES", "SmoothPrime"]

WORD_PRIMES = (
    2013265921,  # 2^27 · 3 · 5 + 1
    1648733087,  # 2 · 7^8 · 11 · 13 + 1
    1680416443,  # 2 · 3^13 · 17 · 31 + 1
    1570468751,  # 2 · 5^7 · 19 · 23^2 + 1
    1286153287,  # 2 · 3 · 11^8 + 1
    1873544479,  # 2 · 3 · 13^5 · 29^2 + 1
    434476243,  # 2 · 3^2 · 17^6 + 1
    1035009383,  # 2 · 11 · 19^6 + 1
)
LONG_PRIME = 29 * 2**57 + 1
LARGEST_FACTOR = 31


@dataclass(frozen=True)
class SmoothPrime:
    """A prime p < 2^63 whose p − 1 has no prime factor above 31.

    Raises InputError for any other number.

    >>> field = SmoothPrime(2013265921)
    >>> field.generator, field.factors
    (31, ((2, 27), (3, 1), (5, 1)))
    >>> field.log(field.power(123456789))
    123456789
    """

    prime: int

    def __post_init__(self) -> None:
        if not (2 < self.prime < 2**63 and fmpz(self.prime).is_prime()):
            raise InputError(f"{self.prime} is not a prime between 2 and 2^63", field="prime")
        if max(q for q, _ in self.factors) > LARGEST_FACTOR:
            raise InputError(
                f"{self.prime} − 1 has a prime factor above {LARGEST_FACTOR}; choose a prime p with a smooth "
                f"p − 1, such as {WORD_PRIMES[0]}",
                field="prime",
            )

    @property
    def order(self) -> int:
        """p − 1, the number of exponents."""
        return self.prime - 1

    @cached_property
    def factors(self) -> tuple[tuple[int, int], ...]:
        """The factorisation of p − 1: pairs (q, a)."""
        return tuple(sorted((int(q), int(a)) for q, a in fmpz(self.order).factor()))

    @cached_property
    def generator(self) -> int:
        """The smallest primitive root."""
        g = 2
        while any(pow(g, self.order // q, self.prime) == 1 for q, _ in self.factors):
            g += 1
        return g

    def power(self, exponent: int) -> int:
        """g^exponent modulo p."""
        return pow(self.generator, exponent % self.order, self.prime)

    def log(self, x: int) -> int:
        """The exponent e in 0 … p − 2 with g^e ≡ x. Raises ZeroDivisionError for x ≡ 0.

        Digit by digit in base q for each prime power q^a of p − 1, then Chinese remainders.
        """
        if x % self.prime == 0:
            raise ZeroDivisionError("zero has no discrete logarithm")
        exponent, modulus = 0, 1
        for q, a in self.factors:
            size = q**a
            part = self._log_in_subgroup(pow(x, self.order // size, self.prime), q, a)
            exponent += modulus * ((part - exponent) * pow(modulus, -1, size) % size)
            modulus *= size
        return exponent

    def _log_in_subgroup(self, x: int, q: int, a: int) -> int:
        """The logarithm of an element of order q^a, to the base g^((p−1)/q^a)."""
        base = pow(self.generator, self.order // q**a, self.prime)
        digits = self._digits[q]
        inverse, found = pow(base, -1, self.prime), 0
        for k in range(a):
            rest = x * pow(inverse, found, self.prime) % self.prime
            found += digits[pow(rest, q ** (a - 1 - k), self.prime)] * q**k
        return found

    @cached_property
    def _digits(self) -> dict[int, dict[int, int]]:
        """For each q the powers of the element of order q, with their exponents."""
        tables = {}
        for q, _ in self.factors:
            root = pow(self.generator, self.order // q, self.prime)
            tables[q] = {pow(root, k, self.prime): k for k in range(q)}
        return tables
