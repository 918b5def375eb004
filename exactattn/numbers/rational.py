"""Exact rationals: reading them from what people write, and writing them back.

One reader for every place where a number enters: "p/q" strings, integers (decimal or ``0x`` hexadecimal),
decimals, Python integers and fractions, and binary floats, which are taken as the exact dyadic rationals
they are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat, fmpz

from exactattn.exceptions import InputError

__all__ = [
    "Matrix",
    "Vector",
    "common_denominator",
    "dot",
    "rational",
    "rational_text",
    "rational_vector",
    "to_matrix",
]

Vector = tuple[fmpq, ...]
Matrix = tuple[Vector, ...]

_FRACTION = re.compile(r"([+-]?(?:0x[0-9a-f]+|[0-9]+))(?:/((?:0x[0-9a-f]+|[0-9]+)))?", re.ASCII)
_DECIMAL = re.compile(r"([+-]?)([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]+))?", re.ASCII)
MAX_EXPONENT = 100_000
MAX_TEXT = 10_000_000
HEX_FROM_BITS = 64


def _integer(text: str) -> fmpz:
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    return sign * (fmpz(int(digits, 16)) if digits.startswith("0x") else fmpz(digits))


def _from_text(text: str) -> fmpq:
    if len(text) > MAX_TEXT:
        raise InputError(f"a number of {len(text)} characters is longer than the limit of {MAX_TEXT}")
    stripped = text.strip()
    match = _FRACTION.fullmatch(stripped)
    if match:
        denominator = _integer(match[2]) if match[2] else fmpz(1)
        if denominator == 0:
            raise InputError(f"{_short(text)} has denominator 0; write p/q with q > 0")
        return fmpq(_integer(match[1]), denominator)
    match = _DECIMAL.fullmatch(stripped)
    if match and (match[2] or match[3]):
        if len(match[4] or "") > 8 or abs(exponent := int(match[4] or 0)) > MAX_EXPONENT:
            raise InputError(f"{_short(text)} has a decimal exponent beyond {MAX_EXPONENT}")
        number = fmpz(match[2] + match[3]) if match[1] != "-" else -fmpz(match[2] + match[3])
        shift = exponent - len(match[3])
        return fmpq(number) * fmpz(10) ** shift if shift >= 0 else fmpq(number, fmpz(10) ** -shift)
    raise InputError(f"{_short(text)} is not a number; write an integer, a decimal or p/q")


def _short(text: object) -> str:
    shown = repr(text)
    return shown if len(shown) <= 40 else shown[:37] + "..."


def rational(x: Any) -> fmpq:
    """The exact rational number that ``x`` stands for.

    Accepts python-flint and Python integers and fractions, strings ("3/7", "-2", "0x1f", "1.25e-3"), and
    finite binary floats (Python or numpy), which are exact dyadic rationals. Raises
    :class:`~exactattn.exceptions.InputError` on anything else: NaN, infinities, booleans, other text.

    >>> rational("3/6"), rational(0.5) == rational("1/2"), rational("1e-2")
    (1/2, True, 1/100)
    """
    if isinstance(x, fmpq):
        return x
    if isinstance(x, bool | np.bool_):
        raise InputError(f"{x} is a truth value; write a number")
    if isinstance(x, int | fmpz):
        return fmpq(x)
    if isinstance(x, str):
        return _from_text(x)
    if isinstance(x, Fraction):
        return fmpq(x.numerator, x.denominator)
    if isinstance(x, np.integer):
        return fmpq(int(x))
    if isinstance(x, float | np.floating):
        if not math.isfinite(x):
            raise InputError(f"{float(x)} is not a finite number; replace it")
        numerator, denominator = x.as_integer_ratio()
        return fmpq(int(numerator), int(denominator))
    raise InputError(f"{_short(x)} is not a number; write an integer, a decimal or p/q")


def rational_text(q: fmpq) -> str:
    """Canonical text of a rational: "p" or "p/q" in lowest terms, q > 1; integers of more than 64 bits in
    hexadecimal, so that no reader meets a limit on decimal digits.

    >>> rational_text(fmpq(-6, 4)), rational_text(fmpq(2**65))
    ('-3/2', '0x20000000000000000')
    """

    def integer_text(n: fmpz) -> str:
        return str(n) if abs(n).bit_length() <= HEX_FROM_BITS else hex(int(n))

    return integer_text(q.p) if q.q == 1 else f"{integer_text(q.p)}/{integer_text(q.q)}"


def rational_vector(xs: Sequence[Any]) -> Vector:
    """A vector of exact rationals."""
    return tuple(rational(x) for x in xs)


def dot(x: Vector, y: Vector) -> fmpq:
    """The exact inner product."""
    total = fmpq(0)
    for a, b in zip(x, y, strict=True):
        total += a * b
    return total


def to_matrix(rows: Sequence[Vector]) -> fmpq_mat:
    """The rows as a python-flint matrix (at least one row)."""
    return fmpq_mat(len(rows), len(rows[0]), [x for row in rows for x in row])


def common_denominator(numbers: Sequence[fmpq]) -> int:
    """The least common multiple of the denominators.

    >>> common_denominator([fmpq(1, 4), fmpq(5, 6)])
    12
    """
    result = fmpz(1)
    for x in numbers:
        result = result.lcm(x.q)
    return int(result)
