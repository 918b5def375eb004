"""Certified truncation of a head: the bounds hold for the head's real outputs, evaluated in balls."""

from __future__ import annotations

import numpy as np
import pytest
from flint import ctx, fmpq
from head_outputs import PRECISION, assert_bounds_hold, normalised, original_scores, truncated_scores

from exactattn.allocate import HeadWeights, LayerNorm, TruncatedHead
from exactattn.exceptions import InputError


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
