"""The walk: all pieces of F on a path, from values alone.

Pieces are verified by random abscissae. Where two neighbours' lines meet and F takes that value, there may be
one kink, or several with small pieces between them that happen to hide it; so while pieces are missing,
random abscissae on either side of every meeting point narrow its bracket. K + 1 different verified pieces are
all pieces of K kinks; brackets narrower than the least distance of kinks hold one kink each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flint import fmpq

from exactattn.recovery.relu.draws import Draws
from exactattn.recovery.relu.pieces import Line, Piece, line_through, meeting

__all__ = ["TooManyKinks", "Walk", "WalkFailed", "Walked", "walk"]

SHRINK = 8
MAX_SHRINKS = 60
NARROWEST = fmpq(1, 1 << 56)
UNINFORMED_ROUNDS = 10


class WalkFailed(Exception):
    """The path does not show the stated kinks, or hides one; another path may. Never reaches the user.

    ``pieces`` are those that were verified.
    """

    def __init__(self, reason: str, pieces: tuple[Piece, ...]) -> None:
        self.pieces = pieces
        super().__init__(reason)


class TooManyKinks(WalkFailed):
    """The path shows more kinks than were stated."""


@dataclass(frozen=True)
class Walked:
    """All pieces in order, whether their number is certified and why, and the values by abscissa."""

    pieces: tuple[Piece, ...]
    certified: bool
    reason: str
    rounds: int
    values: dict[fmpq, fmpq]


@dataclass(frozen=True)
class _Gap:
    left: Piece
    right: Piece

    @property
    def width(self) -> fmpq:
        return self.right.low - self.left.high

    @property
    def meets(self) -> fmpq | None:
        """Where the neighbours' lines meet; None if that is not between them."""
        t = meeting(self.left.line, self.right.line)
        return t if t is not None and self.left.high <= t <= self.right.low else None


class Walk:
    """The state of a walk between two abscissae. ``value`` asks for F on the path."""

    def __init__(
        self, value: Callable[[fmpq], fmpq], draws: Draws, low: fmpq, high: fmpq, kinks: int | None,
        spacing: fmpq | None,
    ) -> None:  # fmt: skip
        self._ask, self.draws, self.low, self.high = value, draws, low, high
        self.kinks, self.spacing = kinks, spacing
        self.values: dict[fmpq, fmpq] = {}
        self.pieces: list[Piece] = []
        self.tentative: set[tuple[Line, Line]] = set()
        self.rounds = 0

    def value(self, t: fmpq) -> fmpq:
        if t not in self.values:
            self.values[t] = self._ask(t)
        return self.values[t]

    def failed(self, reason: str) -> WalkFailed:
        return WalkFailed(reason, tuple(self.pieces))

    def run(self) -> Walked:
        """Until the pieces are complete, or are found not to be."""
        for end in (self.low, self.high):
            self.germ(end, self.low, self.high)
        while True:
            gaps = self.gaps()
            if self.kinks is not None and len(self.pieces) > self.kinks:
                self.require_one_kink_a_gap(gaps)
                return self.walked(True, f"{self.kinks + 1} different pieces for {self.kinks} kinks")
            unsettled = next((gap for gap in gaps if not self.is_tentative(gap)), None)
            if unsettled is not None:
                self.settle(unsettled)
            elif self.kinks is None and self.spacing is not None and self.narrower(gaps, self.spacing):
                return self.walked(True, "every bracket is narrower than the least distance of kinks")
            elif self.kinks is None and self.spacing is None and self.enough(gaps):
                return self.walked(False, "neither the number of kinks nor their distance is known")
            elif self.narrower(gaps, NARROWEST):
                raise self.failed(f"only {len(gaps)} kinks show on the path")
            else:
                self.refine(gaps)

    def enough(self, gaps: list[_Gap]) -> bool:
        """Where a walk ends that knows neither the number of kinks nor their distance."""
        return self.rounds >= UNINFORMED_ROUNDS or self.narrower(gaps, NARROWEST)

    def narrower(self, gaps: list[_Gap], width: fmpq) -> bool:
        return all(gap.width < width for gap in gaps)

    def gaps(self) -> list[_Gap]:
        return [_Gap(left, right) for left, right in zip(self.pieces, self.pieces[1:], strict=False)]

    def walked(self, certified: bool, reason: str) -> Walked:
        return Walked(tuple(self.pieces), certified, reason, self.rounds, dict(self.values))

    def require_one_kink_a_gap(self, gaps: list[_Gap]) -> None:
        """K + 1 pieces of K kinks: neighbours must meet between them, or K was too small."""
        if len(self.pieces) > (self.kinks or 0) + 1 or any(gap.meets is None for gap in gaps):
            raise TooManyKinks(f"the path shows more than {self.kinks} kinks", tuple(self.pieces))

    def is_tentative(self, gap: _Gap) -> bool:
        """Whether one kink would explain what was seen so far between two neighbours."""
        return gap.meets is not None and (gap.left.line, gap.right.line) in self.tentative

    def settle(self, gap: _Gap) -> None:
        """Either the neighbours meet between them, at F's value, or there is a piece between them."""
        t = gap.meets
        if t is not None and self.value(t) == gap.left.at(t):
            self.tentative.add((gap.left.line, gap.right.line))
        elif t is not None:
            self.germ(t, gap.left.high, gap.right.low)
        else:
            third = gap.width / 3
            self.visit(self.draws.between("abscissa", gap.left.high + third, gap.right.low - third), gap)

    def refine(self, gaps: list[_Gap]) -> None:
        """One random abscissa on either side of each meeting point narrows the bracket to 3/4 or less."""
        self.rounds += 1
        for gap in gaps:
            t = gap.meets
            for side in (gap.left.high, gap.right.low):
                if t is not None and t != side:
                    quarter = (side - t) / 4
                    near, far = sorted((t + quarter, side - quarter))
                    self.visit(self.draws.between("abscissa", near, far), gap)
                    if not all(self.is_tentative(gap) for gap in self.gaps()):
                        return

    def visit(self, t: fmpq, gap: _Gap) -> None:
        """A random abscissa between two pieces: it widens one of them, or belongs to a new one."""
        if not self.widen(t):
            self.germ(t, gap.left.high, gap.right.low)

    def widen(self, t: fmpq) -> bool:
        """Whether F at a random abscissa has a known piece's value; then it lies in that piece."""
        value = self.value(t)
        for piece in self.pieces:
            if piece.at(t) == value:
                self.insert(Piece(piece.line, (t,)))
                return True
        return False

    def germ(self, t: fmpq, low: fmpq, high: fmpq) -> None:
        """The piece around an abscissa: three values on one line, ever closer to it."""
        width = high - low
        for _ in range(MAX_SHRINKS):
            left, right = max(low, t - width), min(high, t + width)
            first, second = (self.draws.between("abscissa", left, right) for _ in range(2))
            if len({t, first, second}) == 3:
                known = self.widen(first)
                line = line_through(t, self.value(t), first, self.value(first))
                if not known or any(piece.line == line for piece in self.pieces):
                    self.widen(second)
                    found = Piece(line, tuple(sorted((t, first, second))))
                    if found.at(second) == self.value(second):
                        self.insert(found)
                        return
            width /= SHRINK
        raise self.failed(f"no piece shows around the abscissa {t}")

    def insert(self, piece: Piece) -> None:
        """Adds a piece, or joins it with the known one that has the same line."""
        same = next((known for known in self.pieces if known.line == piece.line), None)
        if same is not None:
            self.pieces.remove(same)
            piece = same.with_points(*piece.points)
        self.pieces.append(piece)
        self.pieces.sort(key=lambda p: p.low)
        if any(left.high >= right.low for left, right in zip(self.pieces, self.pieces[1:], strict=False)):
            raise self.failed("the same line shows on both sides of another piece")


def walk(
    value: Callable[[fmpq], fmpq],
    draws: Draws,
    *,
    kinks: int | None = None,
    spacing: fmpq | None = None,
    low: fmpq | None = None,
    high: fmpq | None = None,
) -> Walked:
    """All pieces of a function on the path from ``low`` (0) to ``high`` (2), with K kinks, or with kinks and
    ends at least ``spacing`` apart. Without either the result is not certified.

    Raises WalkFailed; TooManyKinks if there are more than K.

    >>> from exactattn.recovery.relu.pieces import place
    >>> found = walk(lambda t: abs(place(t)[0] * 2 - place(t)[1]), Draws(1), kinks=1)
    >>> [piece.line for piece in found.pieces], found.certified
    ([(2, -1), (-2, 1)], True)
    """
    return Walk(
        value,
        draws,
        fmpq(0) if low is None else low,
        fmpq(2) if high is None else high,
        kinks,
        spacing,
    ).run()
