"""From float64 numbers to the bytes of a stored type, each number to the nearest one of that type."""

from __future__ import annotations

import numpy as np

from exactattn.checkpoint.place import Array
from exactattn.exceptions import InputError

__all__ = ["stored_bytes"]

_FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}


def stored_bytes(array: Array, kind: str) -> bytes:
    """The array in row-major order as F64, F32, F16 or BF16; ties go to the even neighbour.

    Raises InputError if a number is too large for the type.

    >>> stored_bytes(np.array([1.0, 1.00390625]), "BF16").hex()
    '803f803f'
    """
    with np.errstate(over="ignore"):
        if kind == "BF16":
            return _bfloat16(array)
        rounded = np.ascontiguousarray(array, dtype=_FLOATS[kind])
    if not np.isfinite(rounded).all():
        raise InputError(f"holds numbers too large for {kind} after the transformation")
    return rounded.tobytes()


def _bfloat16(array: Array) -> bytes:
    """Rounded once: float32 is made odd where it is not exact, so that its own rounding cannot make a tie."""
    single = np.ascontiguousarray(array, dtype=np.float32)
    back = single.astype(np.float64)
    bits = single.view(np.uint32).copy()
    # toward 0 where rounded away from it, then odd where not exact
    away = np.abs(back) > np.abs(array)
    bits[away] -= np.uint32(1)
    bits |= (back != array).astype(np.uint32)
    halves = (bits >> 16) & 1
    rounded = ((bits + np.uint32(0x7FFF) + halves) >> 16).astype("<u2")
    if ((rounded & 0x7F80) == 0x7F80).any():
        raise InputError("holds numbers too large for BF16 after the transformation")
    return rounded.tobytes()
