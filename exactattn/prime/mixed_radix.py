"""Chinese remainders of whole arrays, for moduli that may share factors.

A number known modulo L = lcm(m_1, …, m_k) is kept as digits: x = t_1 + L_1 t_2 + L_2 t_3 + … with L_i =
lcm(m_1, …, m_i) and t_i < L_i/L_{i−1}. Digits are below 2^31, so all work but the last step is in arrays of
machine integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np
from numpy.typing import NDArray

from exactattn.exceptions import InconsistentAnswers
from exactattn.prime.arithmetic import Array, minus, plus, times

__all__ = ["MixedRadix"]


@dataclass(frozen=True, eq=False)
class MixedRadix:
    """An array of integers known modulo ``modulus`` by its ``digits``, with the ``weights`` L_0 = 1, L_1, ….

    >>> x = MixedRadix.of(np.array([3, 5], dtype=np.uint64), 6).joined(np.array([7, 9], dtype=np.uint64), 10)
    >>> x.modulus, x.symmetric().tolist()
    (30, [-3, -1])
    """

    digits: tuple[Array, ...]
    weights: tuple[int, ...]
    modulus: int

    @classmethod
    def of(cls, residues: Array, modulus: int) -> MixedRadix:
        """Known modulo one number below 2^31."""
        return cls((residues,), (1,), modulus)

    def residues(self, modulus: int) -> Array:
        """The numbers 0 ≤ x < L modulo a number below 2^31."""
        m = np.uint64(modulus)
        total = np.zeros_like(self.digits[0])
        for digit, weight in zip(self.digits, self.weights, strict=True):
            total = plus(total, times(digit % m, np.uint64(weight % modulus), m), m)
        return total

    def symmetric_residues(self, modulus: int) -> Array:
        """The numbers −L/2 < x ≤ L/2 modulo a number below 2^31."""
        found = self.residues(modulus)
        period = np.full_like(found, self.modulus % modulus)
        return np.where(self.negative, minus(found, period, np.uint64(modulus)), found)

    @property
    def negative(self) -> NDArray[np.bool_]:
        """Whether x > L/2, that is, whether the symmetric number is negative."""
        half = self.modulus // 2
        above = np.zeros(self.digits[0].shape, dtype=np.bool_)
        equal = ~above
        for digit, weight in zip(reversed(self.digits), reversed(self.weights), strict=True):
            limit, half = divmod(half, weight)
            above |= equal & (digit > np.uint64(limit))
            equal &= digit == np.uint64(limit)
        return above

    def joined(self, residues: Array, modulus: int) -> MixedRadix:
        """The numbers known modulo lcm(L, m). Raises InconsistentAnswers if both differ modulo gcd(L, m)."""
        shared = gcd(self.modulus, modulus)
        own = self.residues(modulus)
        difference = minus(residues, own, np.uint64(modulus))
        if (difference % np.uint64(shared)).any():
            raise InconsistentAnswers(f"numbers modulo {self.modulus} and {modulus} differ modulo {shared}")
        rest = modulus // shared
        inverse = np.uint64(pow(self.modulus // shared, -1, rest))
        digit = times((difference // np.uint64(shared)) % np.uint64(rest), inverse, np.uint64(rest))
        return MixedRadix((*self.digits, digit), (*self.weights, self.modulus), self.modulus * rest)

    def taken(self, order: list[int]) -> MixedRadix:
        """The same with the first axis permuted."""
        return MixedRadix(tuple(digit[order] for digit in self.digits), self.weights, self.modulus)

    def symmetric(self) -> NDArray[np.object_]:
        """The numbers with −L/2 < x ≤ L/2 as Python integers."""
        total = np.zeros(self.digits[0].shape, dtype=object)
        for digit, weight in zip(self.digits, self.weights, strict=True):
            total = total + digit.astype(object) * weight
        total[self.negative] -= self.modulus
        return total
