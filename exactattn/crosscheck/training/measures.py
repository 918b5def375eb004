"""What training does to directions that do not matter, measured head by head (theory, section 9).

Queries stand with their bias as one more column, Q = [W_Q b_Q], since a change of basis moves it along; the
key bias has no effect and stays out. For each head, with Gram matrices G_Q = QQᵀ and G_K = W_K W_Kᵀ:

- balance: G_Q − G_K, which gradient flow keeps; β is the norm of W_Q W_Qᵀ − W_K W_Kᵀ without the bias, τ its
  trace;
- μ: the sum of the least eigenvalues of G_Q and G_K;
- ρ: the share of an update that lies in the directions (SQ, −Sᵀ W_K) in which the function does not change.

Arrays are torch tensors, head × D × columns.
"""

from __future__ import annotations

from typing import Any

from exactattn.crosscheck.torch_package import torch_package

__all__ = ["balance", "gauge_share", "imbalance", "rebalanced", "smallest_eigenvalues"]


def balance(query: Any, key: Any) -> Any:
    """QQᵀ − KKᵀ of each head (head × D × D).

    >>> import pytest
    >>> torch = pytest.importorskip("torch")
    >>> balance(torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[0.0, 1.0]]])).tolist()
    [[[4.0]]]
    """
    return query @ query.mT - key @ key.mT


def imbalance(query: Any, key: Any) -> tuple[Any, Any]:
    """Norm β and trace τ of the balance of each head."""
    both = balance(query, key)
    return both.norm(dim=(-1, -2)), both.diagonal(dim1=-1, dim2=-2).sum(-1)


def smallest_eigenvalues(query: Any, key: Any) -> Any:
    """μ of each head."""
    torch = torch_package()
    return sum(torch.linalg.eigvalsh(x @ x.mT)[..., 0] for x in (query, key))


def gauge_share(query: Any, key: Any, query_update: Any, key_update: Any) -> Any:
    """ρ of each head: the squared share of an update in the directions that do not matter; 0 for no update.

    The nearest direction solves S G_Q + G_K S = δQ Qᵀ − W_K δW_Kᵀ, here by the eigenvectors of both sides.
    """
    torch = torch_package()
    a, left = torch.linalg.eigh(query @ query.mT)
    b, right = torch.linalg.eigh(key @ key.mT)
    wanted = right.mT @ (query_update @ query.mT - key @ key_update.mT) @ left
    S = right @ (wanted / (b[..., :, None] + a[..., None, :])) @ left.mT

    def square(x: Any) -> Any:
        return (x * x).sum((-1, -2))

    whole = square(query_update) + square(key_update)
    inside = square(S @ query) + square(S.mT @ key)
    return torch.where(whole > 0, inside / whole.clamp_min(1e-300), 0.0)


def rebalanced(query: Any, key: Any) -> tuple[Any, Any]:
    """The changes of basis S and S^-T of each head that make both Gram matrices equal and move the weights
    least.

    Thin QR of both, singular values of R_K R_Qᵀ, and the rotation nearest the old weights (the paper's
    rebalancing; claim I-5.2). ``query`` and ``key`` are W_Q and W_K without biases, of full rank.
    """
    torch = torch_package()
    O_Q, R_Q = torch.linalg.qr(query.mT)
    O_K, R_K = torch.linalg.qr(key.mT)
    U, values, V = torch.linalg.svd(R_K @ R_Q.mT)
    root = values.sqrt()[..., :, None]
    # rows in the basis of singular vectors, both with Gram matrix Σ
    new_query, new_key = root * (V @ O_Q.mT), root * (U.mT @ O_K.mT)
    X, _, Y = torch.linalg.svd(query @ new_query.mT + key @ new_key.mT)
    Z = X @ Y
    # S W_Q is the new query: W_Q = R_Qᵀ O_Qᵀ
    S_query = torch.linalg.solve(R_Q, (Z @ (root * V)).mT).mT
    S_key = torch.linalg.solve(R_K, (Z @ (root * U.mT)).mT).mT
    return S_query, S_key
