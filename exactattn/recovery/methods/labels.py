"""Labels by proximity: the pole nearest to where a head's pole must be if tokens are close."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import fmpq

__all__ = ["nearest"]


def nearest(expected: Sequence[Any], poles: Sequence[Any]) -> list[int] | None:
    """For every expected value the position of the pole with the nearest ratio to it; None if two share one.

    Midpoints decide, exactly. It is a guess, which a further query verifies.

    >>> from flint import arb
    >>> nearest([arb(1), arb(10)], [arb(11), arb(1)])
    [1, 0]
    """
    centres = [_centre(pole) for pole in poles]
    labels = []
    for value in expected:
        target = _centre(value)
        distances = [abs(centre - target) / max(centre, target) for centre in centres]
        labels.append(distances.index(min(distances)))
    return labels if len(set(labels)) == len(labels) else None


def _centre(x: Any) -> fmpq:
    """The midpoint of a ball to about 64 bits, far more than distances of poles need."""
    mantissa, exponent = x.mid().man_exp()
    shift = max(0, int(mantissa).bit_length() - 256)
    e = int(exponent) + shift
    m = int(mantissa) >> shift
    return fmpq(m << e) if e >= 0 else fmpq(m, 1 << -e)
