"""Choosing nodes: near-minimax copy ratios for poles that are roughly known.

With V·b, poles and residues all unknown, no choice of copy ratios x = m/k in [0, ∞] and no estimator can
have a smaller worst-case constant for log r_h than (8/|c_h|) Π_{g≠h} coth²((log r_h − log r_g)/4). The bound
is reached at the 2H + 1 nodes with Σ_g arctan √(r_g/x) = kπ/4, k = 0 … 2H (k = 0 is a alone, k = 2H is b
alone).

Everything here only chooses; floats are enough, and nothing is decided by them. Logarithms keep poles like
2^±1000 in range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from exactattn.errors.design import Node

__all__ = ["badness", "choose_nodes", "minimax_log_nodes"]

Floats = NDArray[np.float64]

# Up to this length of a sequence all ratios are tried in exchange; beyond, only those next to the best nodes.
SHORT = 24
WIDEST = 600.0


def minimax_log_nodes(log_poles: Sequence[float]) -> list[float]:
    """log x of the 2H − 1 minimax nodes other than 0 and ∞, from the largest down.

    >>> [abs(round(x, 6)) for x in minimax_log_nodes([0.0])]
    [0.0]
    """
    t = np.asarray(log_poles, dtype=np.float64)

    def turns(log_x: float) -> float:
        return float(np.arctan(np.exp(np.clip((t - log_x) / 2, -WIDEST, WIDEST))).sum())

    nodes = []
    for k in range(1, 2 * len(t)):
        low, high = float(t.min()) - 80.0, float(t.max()) + 80.0  # turns(low) is large, turns(high) small
        for _ in range(100):
            middle = (low + high) / 2
            if turns(middle) > k * math.pi / 4:
                low = middle
            else:
                high = middle
        nodes.append((low + high) / 2)
    return nodes


def badness(
    log_poles: Sequence[float], log_residues: Sequence[float], nodes: Sequence[Node], share: float
) -> float:
    """The logarithm of the largest first-order constant of a log r_h, or relative one of a c_h, in one family
    whose V·b has ``share`` times the error bound of an answer (an estimate in floats)."""
    t, c = np.asarray(log_poles), np.asarray(log_residues)
    xs = np.array([math.log(n.copies) - math.log(n.lasts) for n in nodes if not n.is_infinite])
    others = ~np.eye(len(t), dtype=bool)
    gap = _log_difference(t[:, None], t[None, :])
    slope = 2 * np.where(others, gap, 0.0).sum(1)
    near = np.logaddexp(t[:, None], xs[None, :])  # log(r_h + x_j)
    spread = np.where(np.eye(len(xs), dtype=bool), 0.0, _log_difference(xs[:, None], xs[None, :])).sum(1)
    rows = near.sum(1, keepdims=True) - near - spread[None, :] + 2 * near.sum(0)[None, :] - xs[None, :]
    if len(xs) < len(nodes):
        rows = np.concatenate([rows, near.sum(1, keepdims=True)], axis=1)
    constant = 2 * t.sum() + (near - xs[None, :]).sum(1) - t + math.log(share)
    log_weight = np.logaddexp(np.logaddexp.reduce(rows, axis=1), constant) - slope - c
    # the slope of a residue by the place of its pole, as a size
    pull = np.logaddexp.reduce(
        np.concatenate([-near, np.where(others, math.log(2) - gap, -np.inf)], 1), axis=1
    )
    return float(max((log_weight - t).max(), (log_weight + np.logaddexp(pull, -t)).max()))


def _log_difference(x: Floats, y: Floats) -> Floats:
    """log |e^x − e^y| (0 where equal)."""
    distance = np.abs(x - y)
    with np.errstate(divide="ignore"):
        result: Floats = np.maximum(x, y) + np.where(distance > 0, np.log(-np.expm1(-distance)), 0.0)
    return result


@cache
def _ratios(longest: int) -> tuple[Node, ...]:
    """All nodes whose query has at most that many tokens, one for each ratio."""
    return (
        Node(1, 0),
        *(Node(m, k) for k in range(1, longest) for m in range(1, longest - k + 1) if math.gcd(m, k) == 1),
    )


def choose_nodes(
    log_poles: Sequence[float], log_residues: Sequence[float], longest: int, share: float
) -> tuple[Node, ...]:
    """2H distinct nodes of at most ``longest`` tokens (at least 2H + 1) with a small first-order constant.

    Starts next to the minimax nodes; for short sequences single nodes then move between their neighbours
    while that helps. Falling in x.

    >>> choose_nodes([0.0], [0.0], 3, 1.0)
    (Node(copies=1, lasts=0), Node(copies=1, lasts=1))
    """
    return _chosen(tuple(log_poles), tuple(log_residues), longest, share)


@lru_cache(maxsize=4096)  # a recovery that is run again with another error bound asks for the same nodes
def _chosen(
    log_poles: tuple[float, ...], log_residues: tuple[float, ...], longest: int, share: float
) -> tuple[Node, ...]:
    wanted = [math.inf, *minimax_log_nodes(log_poles)]
    chosen: list[Node] = []
    for x in wanted:
        chosen.append(min(_nearby(x, longest, len(wanted)), key=lambda n: (n in chosen, _distance(n, x))))
    chosen.sort(key=_log, reverse=True)
    pool = sorted(_ratios(longest), key=_log, reverse=True) if longest <= SHORT else []
    best = badness(log_poles, log_residues, chosen, share)
    improved = bool(pool)
    while improved:
        improved = False
        for place in range(len(chosen)):
            for candidate in _between(pool, chosen, place):
                trial = [*chosen[:place], candidate, *chosen[place + 1 :]]
                value = badness(log_poles, log_residues, trial, share)
                if value < best - 1e-9:
                    chosen, best, improved = trial, value, True
    return tuple(chosen)


def _between(pool: Sequence[Node], chosen: Sequence[Node], place: int) -> list[Node]:
    """The nodes of a falling pool that can take one place of a falling choice without passing a neighbour."""
    first = pool.index(chosen[place - 1]) + 1 if place else 0
    end = pool.index(chosen[place + 1]) if place + 1 < len(chosen) else len(pool)
    return [node for node in pool[first:end] if node != chosen[place]]


def _nearby(log_x: float, longest: int, number: int) -> list[Node]:
    """Candidates around a ratio, at least ``number`` of them."""
    if longest <= SHORT:
        return list(_ratios(longest))
    if math.isinf(log_x):
        return [Node(1, 0)]
    part = Fraction(1 / (1 + math.exp(-max(-WIDEST, min(WIDEST, log_x)))))  # m/(m + k)
    found = []
    for size in range(longest, longest - 4 * number, -1):
        share = part.limit_denominator(size)
        m = min(max(share.numerator, 1), share.denominator - 1) if share.denominator > 1 else 0
        node = (
            Node(m, share.denominator - m) if m else (Node(1, size - 1) if part < 1 / 2 else Node(size - 1))
        )
        found.append(node)
    return found


def _log(node: Node) -> float:
    return math.inf if node.is_infinite else math.log(node.copies) - math.log(node.lasts)


def _distance(node: Node, log_x: float) -> float:
    here = _log(node)
    return 0.0 if here == log_x else abs(here - log_x)
