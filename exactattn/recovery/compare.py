"""Comparing recovered heads with a known layer, only after recovery, and rounding enclosures to floats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from exactattn.exceptions import CannotTell
from exactattn.model.affine import AffineAttention, AffineHead
from exactattn.model.heads import Attention, Head
from exactattn.numbers import encloses
from exactattn.recovery.solution import RecoveredHead

__all__ = ["float64_arrays", "matches_layer", "unique_float64"]


def _is(x: Any, exact: fmpq) -> bool:
    return bool(x == exact) if isinstance(x, fmpq) else encloses(x, exact)


def _encloses(found: RecoveredHead, head: Head | AffineHead) -> bool:
    exact = [x for row in head.W for x in row] + list(head.v)
    return all(_is(x, y) for x, y in zip(found.entries, exact, strict=True))


def matches_layer(
    found: Sequence[RecoveredHead], layer: Attention | AffineAttention, constant: Any = None
) -> bool:
    """Whether the recovered heads (and constant) are the canonical form of the layer, up to permutation.

    Exact entries must be equal, balls must contain the true entries, and each canonical head must be
    enclosed by exactly one recovered head.
    """
    canonical: Sequence[Head | AffineHead] = layer.canonical().heads
    if isinstance(layer, AffineAttention) and not _is(constant, layer.constant):
        return False
    if len(canonical) != len(found):
        return False
    chosen = [[k for k, candidate in enumerate(found) if _encloses(candidate, head)] for head in canonical]
    return all(len(k) == 1 for k in chosen) and len({k[0] for k in chosen}) == len(canonical)


def unique_float64(x: Any) -> float:
    """The one binary64 number in an exact rational or a ball.

    Raises CannotTell if the ball holds several, or (also for a rational) none.

    >>> unique_float64(fmpq(1, 4))
    0.25
    """
    middle = x if isinstance(x, fmpq) else x.mid().fmpq()
    try:
        candidate = int(middle.p) / int(middle.q)
    except OverflowError:
        candidate = math.copysign(math.inf, int(middle.p))

    def inside(value: float) -> bool:
        if not math.isfinite(value):
            return False
        exact = fmpq(*value.as_integer_ratio())
        return bool(exact == x) if isinstance(x, fmpq) else encloses(x, exact)

    if not inside(candidate):
        raise CannotTell("no binary64 number lies in the enclosure of a parameter")
    if isinstance(x, arb) and any(inside(math.nextafter(candidate, side)) for side in (-math.inf, math.inf)):
        raise CannotTell(
            "more than one binary64 number lies in the enclosure of a parameter; ask more digits"
        )
    return candidate


def float64_arrays(found: Sequence[RecoveredHead]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Arrays W (H, d, d) and v (H, d) of the unique binary64 numbers in all enclosures.

    Raises CannotTell if some entry has none, or more than one.
    """
    W = np.array([[[unique_float64(x) for x in row] for row in head.W] for head in found], dtype=np.float64)
    v = np.array([[unique_float64(x) for x in head.v] for head in found], dtype=np.float64)
    return W, v
