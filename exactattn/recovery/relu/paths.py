"""Paths in token space on which F is piecewise linear, and what F is asked for there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flint import fmpq, fmpz

from exactattn.model.query import Query
from exactattn.numbers import Vector, to_matrix
from exactattn.recovery.relu.draws import Draws
from exactattn.recovery.relu.pieces import Piece, place

__all__ = ["TokenPath", "independent_path", "inner_abscissa", "integral_direction", "short_between"]


@dataclass(frozen=True)
class TokenPath:
    """Single tokens from b0 over c to −b0: abscissa t is the token x·b0 + y·c at its place (x, y).

    Z of a single token b is b in every block, so F is positively homogeneous and piecewise linear in b, and
    each neuron's hyperplane is crossed exactly once.
    """

    start: Vector
    corner: Vector

    def token(self, t: fmpq) -> Vector:
        """The token at an abscissa."""
        return self.combination(*place(t))

    def combination(self, x: fmpq, y: fmpq) -> Vector:
        """x·b0 + y·c."""
        return tuple(x * a + y * b for a, b in zip(self.start, self.corner, strict=True))

    def query(self, t: fmpq) -> Query:
        """The single token as a query."""
        return Query.of([], self.token(t))

    @cached_property
    def ends(self) -> tuple[Vector, Vector]:
        """b0 and −b0."""
        return self.start, tuple(-x for x in self.start)

    def inner(self, piece: Piece, number: int) -> tuple[Vector, fmpq]:
        """A short integral token b in the piece's cone, and F(b) by the piece's line; ``number`` 0, 1, …
        gives others."""
        x, y = integral_direction(inner_abscissa(piece, number))
        b = self.combination(fmpq(x), fmpq(y))
        divisor = fmpz(0)
        for entry in b:
            divisor = divisor.gcd(entry.p)
        value = piece.line[0] * x + piece.line[1] * y
        return tuple(entry / divisor for entry in b), value / divisor


def inner_abscissa(piece: Piece, number: int) -> fmpq:
    """An abscissa well inside a piece, with a small denominator."""
    low, width = piece.low, piece.high - piece.low
    step = width / (4 + 2 * number)
    return short_between(low + step * (1 + number), low + step * (3 + number))


def integral_direction(t: fmpq) -> tuple[fmpz, fmpz]:
    """The place of an abscissa, as the smallest integers in that direction.

    >>> integral_direction(fmpq(1, 3))
    (2, 1)
    """
    x, y = place(t)
    common = x.q.lcm(y.q)
    a, b = (x * common).p, (y * common).p
    divisor = a.gcd(b)
    return a // divisor, b // divisor


def short_between(low: fmpq, high: fmpq) -> fmpq:
    """The fraction of least denominator between two numbers, 0 ≤ low < high, ends included.

    >>> short_between(fmpq(31, 100), fmpq(34, 100))
    1/3
    """
    whole = low.floor()
    if whole == low or whole + 1 <= high:
        return fmpq(whole if whole == low else whole + 1)
    return whole + 1 / short_between(1 / (high - whole), 1 / (low - whole))


def independent_path(draws: Draws, dim: int, radius: int) -> TokenPath:
    """A random path whose two directions are independent; dim ≥ 2. No entry is 0: networks often have zeros,
    and short tokens with zeros would meet their hyperplanes."""
    while True:
        start, corner = draws.vector("path", dim, radius), draws.vector("path", dim, radius)
        if all(start) and all(corner) and to_matrix([start, corner]).rank() == 2:
            return TokenPath(start, corner)
