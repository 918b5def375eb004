"""Random numbers of a run: from the seed, by name and running number, so that anyone can draw them again."""

from __future__ import annotations

from collections import Counter

from flint import fmpq

from exactattn.numbers import Vector
from exactattn.recovery.draw import draw_vector

__all__ = ["Draws"]

RANDOM_BITS = 32


class Draws:
    """Vectors and abscissae drawn from a seed (see :func:`~exactattn.recovery.draw.draw_vector`).

    >>> draws = Draws(1)
    >>> 0 < draws.between("walk", fmpq(0), fmpq(1)) < 1
    True
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._used: Counter[str] = Counter()

    def vector(self, name: str, dim: int, radius: int) -> Vector:
        """The next vector of that name, with integers of at most ``radius``."""
        self._used[name] += 1
        return draw_vector(self.seed, name, self._used[name], 0, dim, radius)

    def between(self, name: str, low: fmpq, high: fmpq) -> fmpq:
        """A random dyadic number strictly between two numbers, one of about 2^32 as short as possible."""
        bits = RANDOM_BITS
        while (high - low) * (1 << bits) < 1 << RANDOM_BITS:
            bits += 1
        first, last = int((low * (1 << bits)).floor()) + 1, int((high * (1 << bits)).ceil()) - 1
        ((position,),) = (self.vector(name, 1, 1 << (RANDOM_BITS + 3)),)
        return fmpq(first + int(position + (1 << (RANDOM_BITS + 3))) % (last - first + 1), 1 << bits)
