"""Matrices of rank r from r whole rows and the first r columns of the others (theory, section 5).

W = (W U_r)(B_r^T W U_r)^{-1}(B_r^T W) needs an inverse, which modulo p − 1 rarely exists: determinants of
blocks are even more often than not. So scores are first taken for the integers of least size that they show;
the rest is done modulo another prime, and the matrices found are compared with every score.
"""

from __future__ import annotations

import numpy as np
from flint import nmod_mat
from numpy.typing import NDArray

from exactattn.exceptions import GenericityExhausted, PrecisionExhausted
from exactattn.prime.arithmetic import Array, product
from exactattn.prime.assembly import assembled_matrices
from exactattn.prime.staged_plan import StagedBlockPlan

__all__ = ["complete_matrices", "least_residues"]

AUXILIARY = 2**31 - 1


def least_residues(x: Array, modulus: int) -> NDArray[np.int64]:
    """The representatives in −modulus/2 … modulus/2."""
    signed = x.astype(np.int64)
    return np.where(2 * signed > modulus, signed - modulus, signed)


def complete_matrices(plan: StagedBlockPlan, whole: Array, short: Array, order: int) -> Array:
    """W (K, rows, d) modulo ``order`` from scores modulo ``order``: ``whole`` (r, K, d) and ``short`` (rows −
    r, K, r).

    Right if every score is at most order/2 and every entry of W at most 2^30. Raises PrecisionExhausted if
    the scores contradict that, GenericityExhausted if a block of scores is singular.
    """
    r, K, d = whole.shape
    q = np.uint64(AUXILIARY)
    signed, known = least_residues(whole, order), least_residues(short, order)
    table = np.empty((plan.rows, K, d), dtype=np.uint64)
    table[:r] = signed % AUXILIARY
    for h in range(K):
        block = nmod_mat(r, r, table[:r, h, :r].reshape(-1).tolist(), AUXILIARY)
        try:
            inverse = np.array([[int(x) for x in row] for row in block.inv().tolist()], dtype=np.uint64)
        except ZeroDivisionError:
            raise GenericityExhausted("a leading block of scores is singular; try another seed") from None
        weights = product((known[:, h] % AUXILIARY).astype(np.uint64), inverse, q)
        table[r:, h] = product(weights, table[:r, h], q)
    signed_W = least_residues(assembled_matrices(plan, table, q), AUXILIARY)
    W: Array = (signed_W % order).astype(np.uint64)
    _require_scores(plan, W, whole, short, order)
    return W


def _require_scores(plan: StagedBlockPlan, W: Array, whole: Array, short: Array, order: int) -> None:
    n = np.uint64(order)
    last = plan.b
    if plan.bias:
        last = np.concatenate([np.ones((plan.rows, 1), dtype=np.int64), last], axis=1)
    bits, u_bits = (int(np.abs(t).max()).bit_length() for t in (last, plan.u))
    r = len(whole)
    for h in range(len(W)):
        images = product(last, W[h], n, left_bits=bits)
        scores = product(images, plan.u.T, n, right_bits=u_bits)
        if (scores[:r] != whole[:, h]).any() or (scores[r:, :r] != short[:, h]).any():
            raise PrecisionExhausted(
                f"some score is above {order // 2}, the most that one prime shows, or the rank is above {r}; "
                "lift the scores with several primes first"
            )
