"""A known layer with biases as the oracle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar

from flint import fmpq

from exactattn.model.affine import AffineAttention
from exactattn.model.files import layer_json
from exactattn.model.query import Query
from exactattn.numbers import NumberSystem, Vector
from exactattn.oracle.base import Oracle
from exactattn.oracle.exact import ExactOracle

__all__ = ["AffineOracle"]

E = TypeVar("E")


class AffineOracle(Oracle):
    """Answers with the values of a layer with query biases and a constant output.

    >>> from exactattn.model import token
    >>> from exactattn.model.affine import AffineHead
    >>> from exactattn.numbers import LogLattice
    >>> oracle = AffineOracle(AffineAttention.of([AffineHead.of([[1], [0]], [1])], 10))
    >>> list(oracle.answer([Query.of([(token(2), 1)], last=token(1))], LogLattice()))
    [35/3]
    """

    def __init__(self, layer: AffineAttention) -> None:
        super().__init__(layer.dim)
        self.layer = layer
        self._plain = ExactOracle(layer.lifted())

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the layer's canonical form, as a plain layer of lifted tokens."""
        content = layer_json(self.layer.canonical().lifted().canonical())
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return f"model with biases sha256 {hashlib.sha256(text.encode()).hexdigest()}"

    def answer(self, queries: Sequence[Query], system: NumberSystem[E, Any]) -> Iterator[E]:
        """The layer's values; errors as those of :class:`ExactOracle`."""

        def lifted(tok: Vector) -> Vector:
            return (fmpq(1), *tok)

        for query in queries:
            plain = Query.of([(lifted(tok), count) for tok, count in query.runs], lifted(query.last))
            yield from self._plain.answer([plain], system)
