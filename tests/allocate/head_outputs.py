"""The output of a head and of its truncation, in balls, for tests of the certified bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx

from exactattn.allocate import HeadWeights, LayerNorm, TruncatedHead
from exactattn.allocate.singular_values import to_balls

PRECISION = 128


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
    assert ((grid**2).sum(axis=1) < grid.shape[1]).all()
    return grid


def assert_bounds_hold(
    bounds: TruncatedHead,
    norm: LayerNorm | None,
    tokens: np.ndarray[Any, Any],
    ranks: Sequence[int] | None = None,
) -> list[list[float]]:
    """For every rank (or those given) and every query: total variation and output stay below their bounds.

    Returns the share of the attention bound that was reached, by rank and query.
    """
    head = bounds.weights
    reached = []
    with ctx.workprec(PRECISION):
        full = softmax(original_scores(head, norm, tokens))
        values = (
            made_tokens(norm, tokens) * to_balls(head.value).transpose() * to_balls(head.output).transpose()
        )
        for rank in range(head.size) if ranks is None else ranks:
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
