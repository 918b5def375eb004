"""Assembly: W_h = B^{-1} L_h U^{-T} modulo p − 1 and v_h = U^{-1} c_h modulo p, with unimodular B and U.

(I + x y^T)^{-1} = I − x y^T when y·x = 0, so nothing is divided and no determinant needs to be a unit.
"""

from __future__ import annotations

import numpy as np

from exactattn.prime.arithmetic import Array, bits, minus, product, times
from exactattn.prime.layer import Tokens
from exactattn.prime.tokens import UnimodularPlan

__all__ = ["assembled_matrices", "solved_differences"]


def solved_differences(plan: UnimodularPlan, rows: Array, modulus: np.uint64) -> Array:
    """Rows w (N, d) with w·u_j given (N, d)."""
    x, y = plan.u_factors
    return _solved(rows, x, y, modulus)


def _solved(rows: Array, x: Tokens, y: Tokens, modulus: np.uint64) -> Array:
    """t (I − y x^T) for rows t: what (I + x y^T) w = t^T has as its solution, transposed."""
    along = product(rows, y[:, None], modulus, right_bits=bits(y))
    factor = (x % np.int64(modulus)).astype(np.uint64)
    return minus(rows, times(along, factor[None], modulus), modulus)


def assembled_matrices(plan: UnimodularPlan, exponents: Array, modulus: np.uint64) -> Array:
    """W (K, rows, d) from b_i^T W_h u_j (rows, K, d); one head after the other, to need little memory."""
    rows, K, d = exponents.shape
    W = np.empty((K, rows, d), dtype=np.uint64)
    for h in range(K):
        W[h] = _assembled(plan, exponents[:, h], modulus)
    return W


def _assembled(plan: UnimodularPlan, exponents: Array, modulus: np.uint64) -> Array:
    """One W (rows, d)."""
    images = solved_differences(plan, exponents, modulus)
    if not plan.bias:
        return _solved(images.T, *plan.b_factors, modulus).T
    matrix = _solved(minus(images[1:], images[:1], modulus).T, *plan.b_factors, modulus).T
    first = plan.b[:1]
    bias = minus(images[:1], product(first, matrix, modulus, left_bits=bits(first)), modulus)
    return np.concatenate([bias, matrix])
