"""Pieces of a piecewise-linear function on a half-turn of a plane.

A path gives each abscissa t in [0, 2] a place (x, y) of a half-plane, from (1, 0) by (0, 1) to (−1, 0), and
the function on the path is p·x + q·y on each piece. A piece is *verified* when three of its values, one and
two at random abscissae, have one such line.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq

__all__ = ["Line", "Piece", "line_through", "meeting", "place"]

Line = tuple[fmpq, fmpq]


@dataclass(frozen=True)
class Piece:
    """The line (p, q) and the abscissae at which it was seen; the piece reaches at least from the first to
    the last of them."""

    line: Line
    points: tuple[fmpq, ...]

    @property
    def low(self) -> fmpq:
        return self.points[0]

    @property
    def high(self) -> fmpq:
        return self.points[-1]

    def with_points(self, *points: fmpq) -> Piece:
        """The piece, seen at further abscissae."""
        return Piece(self.line, tuple(sorted({*self.points, *points})))

    def at(self, t: fmpq) -> fmpq:
        """The line's value at an abscissa."""
        x, y = place(t)
        return self.line[0] * x + self.line[1] * y


def place(t: fmpq) -> tuple[fmpq, fmpq]:
    """The place of an abscissa: (1 − t, t) up to t = 1, then (1 − t, 2 − t).

    >>> place(fmpq(1, 2)), place(fmpq(3, 2))
    ((1/2, 1/2), (-1/2, 1/2))
    """
    return 1 - t, t if t <= 1 else 2 - t


def line_through(t: fmpq, f: fmpq, s: fmpq, g: fmpq) -> Line:
    """The line with value f at t and g at s ≠ t; the two must not be the two ends."""
    (x, y), (a, b) = place(t), place(s)
    determinant = x * b - y * a
    return (f * b - g * y) / determinant, (x * g - a * f) / determinant


def meeting(left: Line, right: Line) -> fmpq | None:
    """The abscissa in [0, 2) at which two different lines meet, None if that is at the ends.

    >>> meeting((fmpq(1), fmpq(0)), (fmpq(0), fmpq(1)))
    1/2
    """
    p, q = left[0] - right[0], left[1] - right[1]
    x, y = (q, -p) if p < 0 else (-q, p)  # p·x + q·y = 0 with y ≥ 0
    if y == 0:
        return None
    return 1 - x / (abs(x) + y)
