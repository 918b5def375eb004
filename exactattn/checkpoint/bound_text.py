"""Bounds in decimals that are not below them."""

from __future__ import annotations

from flint import arb

__all__ = ["bound_text"]

DIGITS = 3


def bound_text(x: arb | None) -> str:
    """Three digits, rounded up by at most two units of the last; a dash where there is no bound.

    >>> bound_text(arb("0.0010041")), bound_text(arb(0)), bound_text(None)
    ('0.00101', '0', '–')
    """
    if x is None:
        return "–"
    high = x.upper()
    # to the nearest would be at most half a unit of the last digit down: 1/200 of a number that starts with 1
    return "0" if high == 0 else (high * arb("1.0051")).str(DIGITS, radius=False)
