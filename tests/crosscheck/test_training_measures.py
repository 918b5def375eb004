"""Measures of training against exact linear algebra, and rebalancing against its definition."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from exactattn.crosscheck.training.measures import (
    balance,
    gauge_share,
    imbalance,
    rebalanced,
    smallest_eigenvalues,
)

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

pytestmark = pytest.mark.crosscheck


def integers(source: Random, rows: int, columns: int) -> fmpq_mat:
    return fmpq_mat(rows, columns, [fmpq(source.randint(-9, 9)) for _ in range(rows * columns)])


def tensor(matrix: fmpq_mat) -> Any:
    return torch.tensor([[float(int(x.p)) / int(x.q) for x in row] for row in matrix.tolist()]).double()[None]


def square(matrix: fmpq_mat) -> fmpq:
    return sum((x * x for x in matrix.entries()), fmpq(0))


def exact_share(Q: fmpq_mat, K: fmpq_mat, dQ: fmpq_mat, dK: fmpq_mat) -> fmpq:
    """ρ by projecting the update on a basis of all (SQ, −SᵀK), over the rationals."""
    D = Q.nrows()
    basis = []
    for i in range(D):
        for j in range(D):
            S = fmpq_mat(D, D)
            S[i, j] = fmpq(1)
            basis.append((S * Q).entries() + (S.transpose() * K * fmpq(-1)).entries())
    T = fmpq_mat(basis)
    update = fmpq_mat([[x] for x in dQ.entries() + dK.entries()])
    coefficients = (T * T.transpose()).solve(T * update)
    return square(T.transpose() * coefficients) / square(update)


@given(st.integers(0, 10**6), st.sampled_from([(1, 3), (2, 4), (3, 3)]))
def test_share_of_an_update_is_that_of_exact_projection(seed: int, sizes: tuple[int, int]) -> None:
    """A wrong sign in the Sylvester equation would give another share (theory, section 9)."""
    source = Random(seed)
    Q, K, dQ, dK = (integers(source, *sizes) for _ in range(4))
    if Q.rank() < sizes[0] or K.rank() < sizes[0] or square(dQ) + square(dK) == 0:
        return
    exact = exact_share(Q, K, dQ, dK)
    found = float(gauge_share(*(tensor(x) for x in (Q, K, dQ, dK)))[0])
    assert found == pytest.approx(int(exact.p) / int(exact.q), abs=1e-8)


def test_moves_along_and_across_the_free_directions() -> None:
    """ρ must be 1 for a change of basis and 0 for a gradient."""
    source = torch.Generator().manual_seed(1)
    Q, K = (torch.randn(2, 3, 5, generator=source, dtype=torch.float64) for _ in range(2))
    S = torch.randn(2, 3, 3, generator=source, dtype=torch.float64)
    G = torch.randn(2, 5, 5, generator=source, dtype=torch.float64)
    assert torch.allclose(gauge_share(Q, K, S @ Q, -S.mT @ K), torch.ones(2).double())
    assert gauge_share(Q, K, K @ G, Q @ G.mT).max() < 1e-28
    assert gauge_share(Q, K, 0 * Q, 0 * K).tolist() == [0, 0]


@given(st.integers(0, 10**6))
def test_rebalancing_keeps_products_and_moves_least(seed: int) -> None:
    """Rebalanced weights that changed the scores, or were needlessly far, would disturb training."""
    source = torch.Generator().manual_seed(seed)
    Q, K = (torch.randn(2, 3, 5, generator=source, dtype=torch.float64) for _ in range(2))
    S, dual = rebalanced(Q, K)
    new_Q, new_K = S @ Q, dual @ K
    assert torch.allclose(S @ dual.mT, torch.eye(3).double(), atol=1e-6)
    assert torch.allclose(new_K.mT @ new_Q, K.mT @ Q, atol=1e-8)
    assert imbalance(new_Q, new_K)[0].max() < 1e-6
    turn = torch.linalg.qr(torch.randn(2, 3, 3, generator=source, dtype=torch.float64))[0]

    def distance(a: Any, b: Any) -> Any:
        return ((a - Q) ** 2).sum((-1, -2)) + ((b - K) ** 2).sum((-1, -2))

    assert (distance(new_Q, new_K) <= distance(turn @ new_Q, turn @ new_K) + 1e-9).all()


def test_numbers_of_one_head() -> None:
    """β, τ and μ of a head that can be read off: Gram matrices diag(4, 1) and diag(1, 9)."""
    Q = torch.tensor([[[2.0, 0.0], [0.0, 1.0]]]).double()
    K = torch.tensor([[[1.0, 0.0], [0.0, 3.0]]]).double()
    assert balance(Q, K).tolist() == [[[3.0, 0.0], [0.0, -8.0]]]
    beta, tau = imbalance(Q, K)
    assert beta.tolist() == [pytest.approx(73**0.5)]
    assert tau.tolist() == [-5.0]
    assert smallest_eigenvalues(Q, K).tolist() == [pytest.approx(2.0)]
