"""Certified truncation of a head: the bounds hold for the head's real outputs, evaluated in balls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flint import arb, arb_mat, ctx, fmpq

from exactattn.allocate import HeadWeights, LayerNorm, TruncatedHead
from exactattn.allocate.singular_values import to_balls
from exactattn.exceptions import InputError

PRECISION = 128


def random_head(
    seed: int, width: int = 8, size: int = 3, decay: float = 0.3
) -> tuple[HeadWeights, LayerNorm]:
    rng = np.random.default_rng(seed)
    falling = decay ** np.arange(size)[:, None]
    head = HeadWeights(
        rng.standard_normal((size, width)) * falling,
        rng.standard_normal(size),
        rng.standard_normal((size, width)),
        rng.standard_normal((size, width)),
        rng.standard_normal((width, size)),
        fmpq(1, size),
    )
    return head, LayerNorm(1 + 0.2 * rng.standard_normal(width), 0.5 * rng.standard_normal(width))


def softmax(scores: arb_mat) -> arb_mat:
    rows = [[s.exp() for s in row] for row in scores.tolist()]
    return arb_mat([[x / sum(row, arb(0)) for x in row] for row in rows])


def original_scores(head: HeadWeights, norm: LayerNorm | None, tokens: np.ndarray[Any, Any]) -> arb_mat:
    """Scores from the weights as they are, key bias left out."""
    x = made_tokens(norm, tokens)
    query = x * to_balls(head.query).transpose()
    bias = arb_mat([list(map(arb, map(float, head.query_bias)))] * tokens.shape[0])
    return (query + bias) * (x * to_balls(head.key).transpose()).transpose() * arb(head.scale_squared).sqrt()


def made_tokens(norm: LayerNorm | None, tokens: np.ndarray[Any, Any]) -> arb_mat:
    balls = to_balls(tokens)
    if norm is None:
        return balls
    scale, shift = ([arb(float(v)) for v in vector] for vector in (norm.scale, norm.shift))
    return arb_mat([[x * g + b for x, g, b in zip(row, scale, shift, strict=True)] for row in balls.tolist()])


def truncated_scores(bounds: TruncatedHead, tokens: np.ndarray[Any, Any], rank: int) -> arb_mat:
    U, sigma, V = bounds.spectrum.truncated(rank)
    n = to_balls(tokens)
    with_constant = arb_mat([[*row, arb(bounds.constant)] for row in n.tolist()])
    if rank == 0:
        return arb_mat(tokens.shape[0], tokens.shape[0])
    return with_constant * to_balls(U) * to_balls(np.diag(sigma)) * (n * to_balls(V)).transpose()


def normalised(tokens: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Without mean and with root mean square just below 1, as a layer norm gives them."""
    centred = tokens - tokens.mean(axis=1, keepdims=True)
    # exactly without mean: the last coordinate takes up what rounding left, on a grid of 2^-20
    grid = np.round(centred / np.sqrt((centred**2).mean(axis=1, keepdims=True)) * 0.999 * 2**20) / 2**20
    grid[:, -1] -= grid.sum(axis=1)
    assert (grid.sum(axis=1) == 0).all()
    return grid


def assert_bounds_hold(
    bounds: TruncatedHead, norm: LayerNorm | None, tokens: np.ndarray[Any, Any]
) -> list[list[float]]:
    """For every rank and every query: total variation and output stay below their bounds. Returns the share
    of the attention bound that was reached, by rank and query."""
    head = bounds.weights
    reached = []
    with ctx.workprec(PRECISION):
        full = softmax(original_scores(head, norm, tokens))
        values = (
            made_tokens(norm, tokens) * to_balls(head.value).transpose() * to_balls(head.output).transpose()
        )
        for rank in range(head.size):
            difference = softmax(truncated_scores(bounds, tokens, rank)) - full
            moved = difference * values
            shares = []
            for row, out in zip(difference.tolist(), moved.tolist(), strict=True):
                total = sum((abs(x) for x in row), arb(0)) / 2
                square = sum((x * x for x in out), arb(0))
                assert total <= bounds.attention_change(rank)
                assert square <= bounds.output_change(rank) ** 2
                shares.append(float(total) / float(bounds.attention_change(rank)))
            reached.append(shares)
    return reached


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_for_tokens_out_of_a_layer_norm(seed: int) -> None:
    """Breaks: the certified bound with γ, β, query bias and mean folded in. Tokens: random, and along the
    singular vectors."""
    head, norm = random_head(seed)
    bounds = TruncatedHead(head, norm=norm)
    rng = np.random.default_rng(seed)
    aligned = np.concatenate(
        [bounds.spectrum.right.T, -bounds.spectrum.right.T, bounds.spectrum.left.T[:, :-1]]
    )
    tokens = normalised(np.concatenate([rng.standard_normal((6, head.width)), aligned]))
    assert_bounds_hold(bounds, norm, tokens)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_hold_for_tokens_of_bounded_norm(seed: int) -> None:
    """Breaks: the bound from an explicit token norm; tokens fill the ball."""
    head, _ = random_head(seed, decay=0.5)
    bounds = TruncatedHead(head, token_norm=fmpq(1, 4))
    rng = np.random.default_rng(seed)
    tokens = rng.standard_normal((10, head.width))
    tokens *= 0.2499 / np.linalg.norm(tokens, axis=1, keepdims=True)
    assert_bounds_hold(bounds, None, tokens)


def test_the_bound_is_nearly_reached() -> None:
    """Breaks: a bound that is safe because it is far too large: tokens along the first dropped singular
    vectors, in numbers that balance the odds, reach more than nine tenths of it."""
    size = width = 3
    one = np.eye(width)
    head = HeadWeights(np.diag([2.0, 1.0, 0.5]), np.zeros(size), one, one, one, fmpq(1))
    bounds = TruncatedHead(head, token_norm=fmpq(1))
    up = np.array([[0.0, 1.0, 0.0]])
    # original scores of up: 1 and −1; truncated to rank 1: 0 and 0. e² − 1 to balance: 3 against 1 is near.
    tokens = np.concatenate([up, np.repeat(-up, 3, axis=0)])
    reached = assert_bounds_hold(bounds, None, tokens)
    assert max(reached[1]) > 0.9


def test_spectrum_is_that_of_the_scores() -> None:
    """Breaks: folding. At full rank the scores agree with the original ones up to one number a row."""
    head, norm = random_head(3)
    bounds = TruncatedHead(head, norm=norm)
    tokens = normalised(np.random.default_rng(0).standard_normal((5, head.width)))
    with ctx.workprec(PRECISION):
        change = truncated_scores(bounds, tokens, head.size) - original_scores(head, norm, tokens)
        for row in change.tolist():
            spread = max(float(x) for x in row) - min(float(x) for x in row)
            assert spread < 1e-11
            assert any(abs(float(x)) > 1e-3 for x in row), "the shift by β is there, and removed by softmax"


def test_ranks_fall_with_the_tolerance() -> None:
    """Breaks: the choice of the smallest rank, at both ends and in between."""
    head, norm = random_head(1)
    bounds = TruncatedHead(head, norm=norm)
    assert bounds.smallest_rank(fmpq(0)) == head.size
    assert bounds.smallest_rank(fmpq(1)) == 0
    for rank in range(head.size + 1):
        limit = bounds.attention_change(rank).upper().mid().fmpq()
        chosen = bounds.smallest_rank(limit)
        assert bounds.attention_change(chosen) <= limit
        assert chosen == 0 or bounds.attention_change(chosen - 1).upper() > limit
    assert bounds.smallest_rank(fmpq(10**6), absolute=True) == 0


def test_what_makes_no_bound() -> None:
    """Breaks: one sentence where the tokens are not described, or twice."""
    head, norm = random_head(1)
    with pytest.raises(InputError, match="give the layer norm"):
        TruncatedHead(head)
    with pytest.raises(InputError, match="give the layer norm"):
        TruncatedHead(head, norm=norm, token_norm=fmpq(1))
    with pytest.raises(InputError, match="must be positive, not 0"):
        TruncatedHead(head, token_norm=fmpq(0))
