"""A known one-layer Transformer as the oracle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar

from exactattn.exceptions import InputError
from exactattn.model.query import Query
from exactattn.model.transformer import Transformer, stacked_outputs
from exactattn.model.transformer_files import form_json
from exactattn.numbers import NumberSystem
from exactattn.oracle.base import Oracle

__all__ = ["TransformerOracle"]

E = TypeVar("E")


class TransformerOracle(Oracle):
    """Answers with the values of a Transformer, computed in the number system that is asked for.

    It evaluates the canonical form, so that on the log-lattice only scores of live heads must fit.

    >>> from exactattn.model import token
    >>> from exactattn.model.transformer import Neuron
    >>> from exactattn.numbers import LogLattice
    >>> oracle = TransformerOracle(Transformer.of([[[1]]], [Neuron.of(3, [[1]])], dim=1))
    >>> list(oracle.answer([Query.of([(token(2), 1)], last=token(1))], LogLattice()))
    [5]
    """

    def __init__(self, model: Transformer) -> None:
        super().__init__(model.dim)
        self.model = model

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the canonical form: models that are the same function have the same."""
        text = json.dumps(form_json(self.model.canonical()), sort_keys=True, separators=(",", ":"))
        return f"transformer sha256 {hashlib.sha256(text.encode()).hexdigest()}"

    def answer(self, queries: Sequence[Query], system: NumberSystem[E, Any]) -> Iterator[E]:
        """The model's values. Raises InputError if a query does not fit the model or the number system."""
        form = self.model.canonical()
        for query in queries:
            if query.dim != self.dim:
                raise InputError(f"the query has tokens of size {query.dim}, the model {self.dim}")
            with system.context():
                value = form.value(stacked_outputs(form.matrices, form.residual, query, system), system)
            yield value
