"""What a solver returns: heads, and how far they are decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exactattn.recovery.method import Plan

__all__ = ["Further", "RecoveredHead", "Solution"]


@dataclass(frozen=True)
class RecoveredHead:
    """One recovered head: W (by rows; d×d, or (d+1)×d with a query bias, whose row comes first) and v (d);
    exact rationals, or balls that enclose them."""

    W: tuple[tuple[Any, ...], ...]
    v: tuple[Any, ...]

    @property
    def entries(self) -> list[Any]:
        """All entries of W by rows, then of v."""
        return [x for row in self.W for x in row] + list(self.v)


@dataclass(frozen=True)
class Solution:
    """Recovered heads, whether their number (and rank) is decided (see PartialFractions.rank_proved), and
    the constant output of a layer with biases."""

    heads: tuple[RecoveredHead, ...]
    rank_proved: bool
    constant: Any = None

    @property
    def entries(self) -> list[Any]:
        """Every recovered number."""
        constant = [] if self.constant is None else [self.constant]
        return [x for head in self.heads for x in head.entries] + constant


@dataclass(frozen=True)
class Further:
    """No heads yet: the answers say that ``plan`` is to be asked next. ``proved`` is False when that rests on
    a ball that holds 0."""

    plan: Plan
    proved: bool
