"""The change of basis between two factorisations."""

from __future__ import annotations

import numpy as np
from flint import fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from exactattn.checkpoint.compare_forms import Form
from exactattn.checkpoint.dyadic import Dyadic
from exactattn.checkpoint.gauge_element import change_of_basis


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_the_planted_change_is_found(seed: int) -> None:
    """Breaks: the witness of equality would be another matrix, or missing; and equal forms of dependent rows,
    or forms that differ, would get one."""
    rng = np.random.default_rng(seed)
    left, right = rng.integers(-3, 4, (2, 5)), rng.integers(-3, 4, (2, 6))
    S = np.array([[1, 2], [1, 3]])
    inverse = np.array([[3, -2], [-1, 1]])
    one = Form(Dyadic.of(left / 2), Dyadic.of(right))
    other = Form(Dyadic.of(S @ left / 2), Dyadic.of(inverse.T @ right))
    found = change_of_basis(one, other)
    independent = np.linalg.matrix_rank(left) == np.linalg.matrix_rank(right) == 2
    assert found == (fmpq_mat(2, 2, S.ravel().tolist()) if independent else None)
    assert one.distance_squared(other) == 0
    right[0, 0] += 1
    assert change_of_basis(one, Form(Dyadic.of(S @ left / 2), Dyadic.of(inverse.T @ right))) is None
