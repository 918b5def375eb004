"""Exact values of float arrays, and the distance of products through Gram matrices."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from exactattn.checkpoint import Dyadic
from exactattn.checkpoint.elements import proved_invertible
from exactattn.checkpoint.grams import Grams, plane_change_squared, product_change_squared
from exactattn.checkpoint.rounding import stored_bytes
from exactattn.exceptions import InputError

FLOATS = st.floats(-1e30, 1e30, allow_nan=False)


def fractions(exact: Dyadic) -> list[list[Fraction]]:
    power = Fraction(2) ** exact.exponent
    return [[int(x) * power for x in row] for row in exact.integers.tolist()]


def of(array: Any) -> list[list[Fraction]]:
    return [[Fraction(float(x)) for x in row] for row in array]


@given(arrays(np.float64, (2, 3), elements=FLOATS), arrays(np.float64, (3, 2), elements=FLOATS))
def test_arithmetic_is_that_of_fractions(a: Any, b: Any) -> None:
    """Breaks: every exact statement about stored numbers: float64 of any size, products, sums, slices."""
    A, B = Dyadic.of(a), Dyadic.of(b)
    x, y = of(a), of(b)
    assert fractions(A) == x
    product = [
        [sum(p * q for p, q in zip(row, column, strict=True)) for column in zip(*y, strict=True)] for row in x
    ]
    assert fractions(A @ B) == product
    assert fractions(A - B.T) == [
        [p - q for p, q in zip(r, s, strict=True)] for r, s in zip(x, zip(*y, strict=True), strict=True)
    ]
    assert Fraction(str(A.frobenius_squared())) == sum(p * p for row in x for p in row)
    assert fractions(A.beside(B.T)) == [[*r, *s] for r, s in zip(x, zip(*y, strict=True), strict=True)]
    assert fractions(A.rows(1, 2).columns(0, 2)) == [x[1][:2]]


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_smallest_and_largest_numbers_are_exact(kind: Any) -> None:
    """Breaks: weights that are subnormal, or far apart in size."""
    info = np.finfo(kind)
    array = np.array([[info.smallest_subnormal, info.max, 0, -1]], dtype=kind)
    assert fractions(Dyadic.of(array)) == of(array)


def test_distance_of_products_is_that_of_the_whole_matrices() -> None:
    """Breaks: the certificate of a rounding: the Gram formula against the matrices themselves."""
    rng = np.random.default_rng(0)
    a, b, a2, b2 = (Dyadic.of(rng.standard_normal((4, n))) for n in (6, 5, 6, 5))
    whole = (a2.T @ b2 - a.T @ b).frobenius_squared()
    grams = Grams.of(a, a2), Grams.of(b, b2)
    assert product_change_squared(*grams) == whole
    for (i, j), found in zip([(0, 2), (1, 3)], plane_change_squared(*grams, [(0, 2), (1, 3)]), strict=True):

        def parts(x: Dyadic, y: Dyadic, i: int = i, j: int = j) -> tuple[Dyadic, Dyadic]:
            p, q = (x.rows(k, k + 1).T for k in (i, j))
            r, s = (y.rows(k, k + 1) for k in (i, j))
            return p @ r + q @ s, p @ s - q @ r

        old, new = parts(a, b), parts(a2, b2)
        assert found == sum((n - o).frobenius_squared() for n, o in zip(new, old, strict=True))


@given(st.floats(-3e38, 3e38, allow_nan=False))
def test_bfloat16_is_the_nearest(x: float) -> None:
    """Breaks: rounding twice (to float32, then to bfloat16) instead of once."""
    bits = int.from_bytes(stored_bytes(np.array([x]), "BF16"), "little")

    def value(b: int) -> Fraction:
        return Fraction(float(np.array([b << 16], np.uint32).view(np.float32)[0]))

    here = abs(value(bits) - Fraction(x))
    magnitude = bits & 0x7FFF
    for other in (magnitude - 1, magnitude + 1):
        if 0 <= other < 0x7F80:
            distance = abs(value(bits & 0x8000 | other) - Fraction(x))
            assert here < distance or (here == distance and bits % 2 == 0)


def test_numbers_beyond_a_type_are_refused() -> None:
    """Breaks: infinities in a written file."""
    for kind in ("F16", "BF16", "F32"):
        with pytest.raises(InputError, match=f"too large for {kind}"):
            stored_bytes(np.array([1e39]), kind)


def test_an_element_that_is_singular_is_no_element() -> None:
    """Breaks: the proof that a gauge element is invertible: float determinants of such matrices are not 0."""
    singular = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.5, 0.0, 0.0]])
    singular[2] = singular[0] * 2 + singular[1] * 0
    assert not proved_invertible(singular)
    assert proved_invertible(np.array([[1.0, 1.0], [1.0, 1.0 + 2**-52]]))
