"""A word-sized prime field, prepared for arrays: powers of the generator, and its chain of subgroups.

The multiplicative group is cyclic of order n = p − 1 = f_1 f_2 ⋯ f_L T. Raising to the powers f_1, f_2, …
leads down to the subgroup of order T ≤ 64, all of whose elements are tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exactattn.exceptions import InputError
from exactattn.numbers.smooth_primes import WORD_PRIMES, SmoothPrime
from exactattn.prime.arithmetic import Array, reduce
from exactattn.prime.kernels import Kernels, kernels

__all__ = ["PrimeField"]

LARGEST_TOP = 64
LOW_BITS = 16
WORD = 31


@dataclass(frozen=True)
class PrimeField:
    """F_p for a prime p < 2^31 with smooth p − 1. Raises InputError for other primes.

    ``compiled``: work with kernels that numba compiles on first use (extra ``compiled``); results are the
    same.

    >>> field = PrimeField()
    >>> field.prime, field.steps[:3], field.top
    (2013265921, (4, 4, 4), 60)
    >>> field.exp(np.array([1, 2], dtype=np.uint64)).tolist()
    [31, 961]
    """

    prime: int = WORD_PRIMES[0]
    compiled: bool = False

    def __post_init__(self) -> None:
        if self.prime >= 1 << WORD:
            raise InputError(f"{self.prime} is not below 2^31", field="prime")
        self.scalar  # noqa: B018 - refuses other numbers
        kernels(self.compiled)

    @cached_property
    def scalar(self) -> SmoothPrime:
        """The same field for single numbers."""
        return SmoothPrime(self.prime)

    @property
    def kernels(self) -> Kernels:
        """The inner functions in use."""
        return kernels(self.compiled)

    @property
    def order(self) -> int:
        """p − 1."""
        return self.prime - 1

    @cached_property
    def p(self) -> np.uint64:
        """The prime as a numpy integer."""
        return np.uint64(self.prime)

    @cached_property
    def n(self) -> np.uint64:
        """p − 1 as a numpy integer."""
        return np.uint64(self.order)

    @cached_property
    def _chain(self) -> tuple[tuple[int, ...], int]:
        primes = [q for q, a in self.scalar.factors for _ in range(a)]
        top = 1
        while primes and top * primes[-1] <= LARGEST_TOP:
            top *= primes.pop()
        while primes and top * primes[0] <= LARGEST_TOP:
            top *= primes.pop(0)
        pairs, odd = divmod(primes.count(2), 2)
        return (*(4,) * pairs, *(2,) * odd, *(q for q in primes if q > 2)), top

    @property
    def steps(self) -> tuple[int, ...]:
        """f_1, …, f_L: 4 for two factors 2, then primes in ascending order."""
        return self._chain[0]

    @property
    def top(self) -> int:
        """T."""
        return self._chain[1]

    @cached_property
    def tables(self) -> tuple[Array, Array]:
        """g^e for e < 2^16, and g^(2^16 e)."""
        low = self._powers(self.scalar.generator, 1 << LOW_BITS)
        high = self._powers(self.scalar.power(1 << LOW_BITS), (self.order >> LOW_BITS) + 1)
        return low, high

    def _powers(self, base: int, count: int) -> Array:
        """base^0, …, base^(count−1)."""
        powers = np.ones(1, dtype=np.uint64)
        while len(powers) < count:
            step = np.uint64(pow(base, len(powers), self.prime))
            powers = np.concatenate([powers, reduce(powers * step, self.p)])
        return powers[:count]

    def exp(self, exponents: Array) -> Array:
        """g^e for 0 ≤ e ≤ p − 1, by two tables."""
        low, high = self.tables
        index = exponents.astype(np.int64)
        return reduce(low[index & ((1 << LOW_BITS) - 1)] * high[index >> LOW_BITS], self.p)

    def roots_of_unity(self, count: int) -> Array:
        """The powers of g^((p−1)/count), the elements of that order's subgroup."""
        return self._powers(self.scalar.power(self.order // count), count)

    def unity_matrix(self, count: int, columns: int) -> Array:
        """ζ^{c s} for c < count and s < columns, ζ of order ``count``."""
        index = np.outer(np.arange(count), np.arange(columns)) % count
        return self.roots_of_unity(count)[index]

    def residues(self, numbers: NDArray[np.int64]) -> Array:
        """Signed integers modulo p."""
        return (numbers % self.prime).astype(np.uint64)
