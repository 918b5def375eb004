"""Evaluation of a layer at value queries, in any number system.

Softmax weights are shifted by the score of the last token, so that every exponential is that of a difference
b^T W (a − b): the value does not change, and on the log-lattice the exponents stay small.
"""

from __future__ import annotations

from typing import Any

from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.model.heads import Attention, Head
from exactattn.model.query import Query
from exactattn.numbers import NumberSystem, Vector, dot

__all__ = ["Evaluator", "evaluate"]

CACHE_LIMIT = 4096


class Evaluator:
    """Evaluates one layer in one number system; scores of a (token, last token) pair are computed once.

    >>> from exactattn.numbers import LogLattice
    >>> from exactattn.model import Head, Query, token
    >>> layer = Attention.of([Head.of([[1]], [1])])
    >>> evaluator = Evaluator(layer, LogLattice())
    >>> evaluator(Query.of([(token(2), 1)], last=token(1)))   # (1·2^1 + 2·2^2) / (2^1 + 2^2)
    5/3
    """

    def __init__(self, layer: Attention, system: NumberSystem[Any, Any]) -> None:
        self.layer = layer
        self.system = system
        self._rows: dict[tuple[int, Vector], Vector] = {}
        self._pairs: dict[tuple[Vector, Vector], list[tuple[Any, fmpq]]] = {}

    def _score_row(self, index: int, head: Head, last: Vector) -> Vector:
        """last^T W as a vector."""
        key = (index, last)
        if key not in self._rows:
            if len(self._rows) >= CACHE_LIMIT:
                self._rows.clear()
            self._rows[key] = tuple(dot(last, column) for column in zip(*head.W, strict=True))
        return self._rows[key]

    def _weights(self, tok: Vector, last: Vector) -> list[tuple[Any, fmpq]]:
        """Per head: exp of the score of ``tok`` less that of ``last``, and v · tok."""
        key = (tok, last)
        if key not in self._pairs:
            if len(self._pairs) >= CACHE_LIMIT:
                self._pairs.clear()
            difference = tuple(x - y for x, y in zip(tok, last, strict=True))
            self._pairs[key] = [
                (self.system.exp(dot(self._score_row(h, head, last), difference)), dot(head.v, tok))
                for h, head in enumerate(self.layer.heads)
            ]
        return self._pairs[key]

    def __call__(self, query: Query) -> Any:
        """The value f(X). Raises InputError if the query has another token size."""
        if query.dim != self.layer.dim:
            raise InputError(f"the query has tokens of size {query.dim}, the layer {self.layer.dim}")
        with self.system.context():
            runs = [(self._weights(tok, query.last), count) for tok, count in query.runs]
            terms = []
            for h, head in enumerate(self.layer.heads):
                numerator = self.system.value(dot(head.v, query.last))
                denominator = self.system.value(fmpq(1))
                for weights, count in runs:
                    weight, value = weights[h]
                    numerator = numerator + weight * (count * value)
                    denominator = denominator + weight * count
                terms.append(numerator / denominator)
            return self.system.sum(terms)


def evaluate(layer: Attention, query: Query, system: NumberSystem[Any, Any]) -> Any:
    """The layer's output at one query (see :class:`Evaluator` for many)."""
    return Evaluator(layer, system)(query)
