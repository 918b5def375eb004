"""The checker's few arithmetic helpers, against python-flint and the definitions."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from exactattn.checker import check
from exactattn.numbers import rational_text

INTEGERS = st.one_of(st.integers(-(2**70), 2**70), st.integers(-(2**3000), 2**3000))
ACCEPTED = Path(__file__).parent / "corpus" / "accepted"


@given(p=INTEGERS, q=INTEGERS.filter(bool))
def test_canonical_numbers(p: int, q: int) -> None:
    """If it fails, the checker reads another number than the package wrote, or a second way to write it."""
    text = rational_text(fmpq(p, q))
    value = check.number(text, "x")
    assert value == Fraction(p, q)
    top, bottom = value.numerator, value.denominator
    others = {f"{spell(top)}/{spell(bottom)}" for spell in (str, hex)} | {f"{3 * top}/{3 * bottom}"}
    others |= {f"{-top}/{-bottom}", f"+{text}", f" {text}", f"{text} ", f"{text}/1", f"{text}\n", f"0{text}"}
    for other in others - {text}:
        with pytest.raises(check.Refused):
            check.number(other, "x")


@given(p=INTEGERS, m=st.integers(1, 2048), size=st.integers(0, 400), negative=st.booleans())
def test_folded(p: int, m: int, size: int, negative: bool) -> None:
    """If it fails, an answer that is not in lowest terms passes, or one in lowest terms does not."""
    low, high = (size, 0) if negative else (0, size)
    modulus = (m << low) + (1 << high)
    assert math.gcd(check.folded(p, m, low, high), modulus) == math.gcd(p, modulus)


@pytest.mark.parametrize("name", ["two-heads-long-numbers", "fractions", "three-heads-one-entry"])
def test_lowest_terms(name: str) -> None:
    """If it fails, an answer passes with a common factor that the checker's short division does not see."""
    data = json.loads((ACCEPTED / f"{name}.json").read_text(encoding="utf-8"))
    shared = set()
    for place in range(1, len(data["answers"])):
        text = data["answers"][place]
        p, _, q = text.partition("/")
        top, bottom = int(p, 0), int(q or "1", 0)
        for factor in (2, 3, 5, 7, 9, 11, 13, 30, 2**70):
            data["answers"][place] = rational_like(factor * top, factor * bottom)
            with pytest.raises(check.Refused, match="lowest terms") as refusal:
                check.check_recovery(data)
            shared.add("is not the value" in str(refusal.value))
        data["answers"][place] = text
    assert shared == {True, False}  # refused by the division, and by the common divisor


def rational_like(p: int, q: int) -> str:
    """p/q with the right bases, but as it is."""
    return "/".join(hex(n) if abs(n).bit_length() > 64 else str(n) for n in (p, q))
