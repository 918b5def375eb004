"""Certified singular values: against exact characteristic polynomials, and with bad proposals."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_mat, ctx, fmpq, fmpz_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from exactattn.allocate import SingularValues, singular_values
from exactattn.allocate.singular_values import to_balls


def exact_squares(A: np.ndarray[Any, Any], B: np.ndarray[Any, Any]) -> list[arb]:
    """Certified squares of all singular values of AᵀB, largest first: roots of an integer polynomial."""
    product = fmpz_mat(A.T.astype(int).tolist()) * fmpz_mat(B.astype(int).tolist())
    roots = (product * product.transpose()).charpoly().complex_roots()
    return sorted((r.real for r, times in roots for _ in range(times)), key=float, reverse=True)


def assert_encloses(
    found: SingularValues, A: np.ndarray[Any, Any], B: np.ndarray[Any, Any], factor: int
) -> None:
    with ctx.workprec(192):
        for value, square in zip(found.values, exact_squares(A, B), strict=False):
            # the square of the enclosure must meet the enclosure of the true square
            assert (value * value).overlaps(square * factor)


matrices = st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(1, 6), st.integers(0, 10**6))


@settings(max_examples=60, deadline=None)
@given(matrices, st.sampled_from([1, 4]))
def test_enclosures_hold_the_exact_values(shape: tuple[int, int, int, int], factor: int) -> None:
    """Breaks: the certificate itself. Second engine: exact characteristic polynomial and its certified roots.
    Includes low ranks, zero matrices, and more rows than columns."""
    D, m, n, seed = shape
    rng = np.random.default_rng(seed)
    A, B = rng.integers(-2, 3, (D, m)).astype(float), rng.integers(-2, 3, (D, n)).astype(float)
    found = singular_values(to_balls(A), to_balls(B), fmpq(factor))
    assert_encloses(found, A, B, factor)
    for x in found.values:
        assert x.rad() <= 1e-10


@pytest.mark.parametrize("error", [1e-3, 1e-1, 3.0])
def test_floats_only_propose(error: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks: trust in floats. With a wrong decomposition the enclosures grow, and still hold the truth."""
    rng = np.random.default_rng(1)
    A, B = rng.integers(-4, 5, (3, 5)).astype(float), rng.integers(-4, 5, (3, 4)).astype(float)
    good = singular_values(to_balls(A), to_balls(B), fmpq(1))
    module = sys.modules[singular_values.__module__]
    original: Callable[..., Any] = module._proposal

    def wrong(*arguments: Any) -> Any:
        return tuple(x + error * rng.standard_normal(x.shape) for x in original(*arguments))

    monkeypatch.setattr(module, "_proposal", wrong)
    bad = singular_values(to_balls(A), to_balls(B), fmpq(1))
    assert_encloses(bad, A, B, 1)
    assert bad.values[0].rad() > good.values[0].rad()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 3))
def test_tail_bounds_the_distance_of_the_truncation(seed: int, rank: int) -> None:
    """Breaks: the bound on ‖W − W_r‖, here on the vectors that stretch most; Eckart–Young from below."""
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((4, 6)), rng.standard_normal((4, 5))
    found = singular_values(to_balls(A), to_balls(B), fmpq(1))
    U, sigma, V = found.truncated(rank)
    with ctx.workprec(128):
        difference = to_balls(A).transpose() * to_balls(B)
        if rank:
            difference -= to_balls(U) * to_balls(np.diag(sigma)) * to_balls(V).transpose()
        x, y = to_balls(found.left[:, rank : rank + 1]), to_balls(found.right[:, rank : rank + 1])
        stretched = (x.transpose() * difference * y)[0, 0]
        lengths = ((x.transpose() * x)[0, 0] * (y.transpose() * y)[0, 0]).sqrt()
        assert stretched <= found.tail(rank) * lengths
        assert found.values[rank].lower() - stretched / lengths < 1e-12


def test_inexact_entries_are_covered() -> None:
    """Breaks: folding learned scales into the matrices, which rounds: the enclosure covers the whole ball."""
    wide = arb_mat([[arb(3, 1e-3), 0], [0, 1]])
    found = singular_values(wide, arb_mat([[1, 0], [0, 1]]), fmpq(1))
    for truth in (arb("2.9995"), arb(3), arb("3.0005")):
        assert found.values[0].contains(truth)
