"""Matrices of rank r from r whole rows and the first r columns of the others (theory, section 5).

W = (W U_r)(B_r^T W U_r)^{-1}(B_r^T W) needs an inverse, which modulo p − 1 rarely exists: determinants of
blocks are even more often than not. So scores are first taken for the integers of least size that they show;
the rest is done modulo another prime, and the matrices found are compared with every score.
"""

from __future__ import annotations

import numpy as np
from flint import nmod_mat
from numpy.typing import NDArray

from exactattn.exceptions import GenericityExhausted, InputError, PrecisionExhausted
from exactattn.numbers.smooth_primes import WORD_PRIMES
from exactattn.prime.arithmetic import Array, bits, product
from exactattn.prime.assembly import assembled_matrices
from exactattn.prime.mixed_radix import MixedRadix
from exactattn.prime.staged_plan import StagedBlockPlan

__all__ = ["complete_lifted", "complete_matrices", "flat_scores", "least_residues"]

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
    signed, known = least_residues(whole, order), least_residues(short, order)
    table = (signed % AUXILIARY).astype(np.uint64), (known % AUXILIARY).astype(np.uint64)
    signed_W = least_residues(_completed(plan, *table, AUXILIARY), AUXILIARY)
    W: Array = (signed_W % order).astype(np.uint64)
    _require_scores(plan, W, whole, short, order)
    return W


def complete_lifted(plan: StagedBlockPlan, scores: MixedRadix, bits: int) -> MixedRadix:
    """W (K, rows, d) of integers of at most so many bits from all scores (K, N) as :func:`flat_scores` lists
    them, known as integers of least size. Raises InputError for more bits than the primes have,
    GenericityExhausted if a block of scores is singular."""
    split = plan.full_rank * plan.dim
    found: MixedRadix | None = None
    for prime in WORD_PRIMES:
        residues = scores.symmetric_residues(prime)
        whole = residues[:, :split].reshape(-1, plan.full_rank, plan.dim).transpose(1, 0, 2)
        short = residues[:, split:].reshape(len(residues), -1, plan.full_rank).transpose(1, 0, 2)
        W = _completed(plan, whole, short, prime)
        found = MixedRadix.of(W, prime) if found is None else found.joined(W, prime)
        if found.modulus >> (bits + 1):
            return found
    raise InputError(f"integers of {bits} bits need more primes than there are; round the weights")


def flat_scores(whole: Array, short: Array) -> Array:
    """All scores of each head (K, N): its whole rows, then the beginnings of the others."""
    tables = (table.transpose(1, 0, 2).reshape(table.shape[1], -1) for table in (whole, short))
    return np.concatenate(list(tables), axis=1)


def _completed(plan: StagedBlockPlan, whole: Array, short: Array, prime: int) -> Array:
    """W modulo a prime from scores modulo it."""
    r, K, d = whole.shape
    q = np.uint64(prime)
    table = np.empty((plan.rows, K, d), dtype=np.uint64)
    table[:r] = whole
    for h in range(K):
        block = nmod_mat(r, r, whole[:, h, :r].reshape(-1).tolist(), prime)
        try:
            inverse = np.array([[int(x) for x in row] for row in block.inv().tolist()], dtype=np.uint64)
        except ZeroDivisionError:
            raise GenericityExhausted("a leading block of scores is singular; try another seed") from None
        table[r:, h] = product(product(short[:, h], inverse, q), whole[:, h], q)
    return assembled_matrices(plan, table, q)


def _require_scores(plan: StagedBlockPlan, W: Array, whole: Array, short: Array, order: int) -> None:
    n = np.uint64(order)
    last = plan.b
    if plan.bias:
        last = np.concatenate([np.ones((plan.rows, 1), dtype=np.int64), last], axis=1)
    last_bits, u_bits = bits(last), bits(plan.u)
    r = len(whole)
    for h in range(len(W)):
        images = product(last, W[h], n, left_bits=last_bits)
        scores = product(images, plan.u.T, n, right_bits=u_bits)
        if (scores[:r] != whole[:, h]).any() or (scores[r:, :r] != short[:, h]).any():
            raise PrecisionExhausted(
                f"some score is above {order // 2}, the most that one prime shows, or the rank is above {r}; "
                "lift the scores with several primes first"
            )
