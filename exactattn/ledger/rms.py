"""RMS norms whose outcome is rational."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import fmpq

from exactattn.identify.array_numbers import RationalArrays

__all__ = ["rms_normed"]


def rms_normed(vector: Sequence[fmpq]) -> list[fmpq]:
    """x/√(mean of x²), with ε = 0. Raises :class:`~exactattn.identify.array_numbers.NoRoot` where the root is
    not rational, ZeroDivisionError for the vector 0.

    >>> rms_normed([fmpq(7), fmpq(1)])
    [7/5, 1/5]
    """
    square = sum((x * x for x in vector), fmpq(0)) / len(vector)
    root = RationalArrays().root(np.array([square], dtype=object))[0]
    return [x / root for x in vector]
