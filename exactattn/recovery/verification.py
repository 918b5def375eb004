"""Evaluating recovered heads, exact or enclosed, and comparing with an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exactattn.model.query import Query
from exactattn.numbers import NumberSystem, Vector
from exactattn.recovery.solution import RecoveredHead, Solution

__all__ = ["attended", "predicted"]


def _dot(x: Sequence[Any], y: Sequence[Any]) -> Any:
    total: Any = x[0] * y[0]
    for a, b in zip(x[1:], y[1:], strict=True):
        total = total + a * b
    return total


def attended(head: RecoveredHead, query: Query, system: NumberSystem[Any, Any]) -> list[Any]:
    """z_h(X) = Σ_j softmax_j x_j, d values; the query bias counts if W has d + 1 rows."""
    with system.context():
        last = query.last
        lifted = last if len(head.W) == len(last) else (last[0] * 0 + 1, *last)
        row = [_dot(column, lifted) for column in zip(*head.W, strict=True)]
        weights: list[tuple[Any, Vector]] = [(system.value(last[0] * 0 + 1), last)]
        for tok, count in query.runs:
            difference = tuple(x - y for x, y in zip(tok, last, strict=True))
            weights.append((system.exp(_dot(row, difference)) * count, tok))
        total = system.sum([w for w, _ in weights])
        return [
            system.sum([w * system.value(tok[i]) for w, tok in weights]) / total for i in range(len(last))
        ]


def predicted(solution: Solution, query: Query, system: NumberSystem[Any, Any]) -> Any:
    """The value of the recovered layer at a query."""
    with system.context():
        terms = [_dot(head.v, attended(head, query, system)) for head in solution.heads]
        return system.sum(terms if solution.constant is None else [*terms, solution.constant])
