"""A grid of sizes ε, and the largest one that a condition allows.

Sizes are (16 + j)/16 · 2^k, so the largest one is at most 1/16 below the best that the condition allows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import fmpq

__all__ = ["index_near", "largest_index", "size_at"]

STEPS = 16


def size_at(index: int) -> fmpq:
    """The size at a place of the grid.

    >>> size_at(0), size_at(-8), size_at(17)
    (1, 3/4, 17/8)
    """
    return fmpq(STEPS + index % STEPS, STEPS) * fmpq(2) ** (index // STEPS)


def index_near(x: Any) -> int:
    """The place of a size that is near a positive ball, within a factor 2."""
    (mantissa, exponent) = x.mid().man_exp()
    return STEPS * (int(exponent) + int(mantissa).bit_length())


def largest_index(index: int, is_fine: Callable[[fmpq], bool]) -> int:
    """The largest place below ``index`` where a condition holds, by doubling the step down and bisection; the
    condition holds below every size at which it holds."""
    step, bad = 1, index
    while not is_fine(size_at(bad - step)):
        bad -= step
        step *= 2
    good = bad - step
    while bad - good > 1:
        middle = (good + bad) // 2
        if is_fine(size_at(middle)):
            good = middle
        else:
            bad = middle
    return good
