"""Reading and writing exact rationals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from exactattn.exceptions import InputError
from exactattn.numbers import rational, rational_text


@given(st.fractions())
def test_text_reads_back(x: Fraction) -> None:
    """Breaks: model files, transcripts and certificates would change numbers."""
    q = rational(x)
    assert rational(rational_text(q)) == q
    assert rational(f"{x.numerator}/{x.denominator}") == q


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_exact_dyadic_rationals(x: float) -> None:
    """Breaks: a float weight must stand for exactly the number it is (Fraction is the second engine)."""
    exact = Fraction(x)
    assert rational(x) == fmpq(exact.numerator, exact.denominator)
    assert rational(np.float64(x)) == rational(x)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=12))
def test_decimals_are_read_exactly(x: object) -> None:
    """Breaks: "0.1" must mean 1/10, not the nearest float."""
    exact = Fraction(str(x))
    assert rational(str(x)) == fmpq(exact.numerator, exact.denominator)


BAD_TEXT = [
    "",
    "nan",
    "inf",
    "-Infinity",
    "1/0",
    "1//2",
    "0x",
    "1e",
    "1_000",
    "٣",
    "1e999999999",
    "2/-3",
    ".",
]
BAD_VALUES = [float("nan"), float("inf"), True, None, []]


@pytest.mark.parametrize("bad", [*BAD_TEXT, *BAD_VALUES])
def test_non_numbers_are_refused(bad: object) -> None:
    """Breaks: garbage would become a parameter."""
    with pytest.raises(InputError):
        rational(bad)


def test_long_integers_have_no_digit_limit() -> None:
    """Breaks: Python refuses decimal integers of more than 4300 digits."""
    huge = fmpq(2) ** 200_000
    assert rational(rational_text(huge)) == huge
    assert rational("9" * 5000) == fmpq(10) ** 5000 - 1
