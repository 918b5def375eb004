"""A known layer as the oracle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar

from flint import arb

from exactattn.exceptions import CannotTell
from exactattn.model.evaluate import Evaluator
from exactattn.model.files import layer_json
from exactattn.model.heads import Attention
from exactattn.model.query import Query
from exactattn.numbers import NumberSystem
from exactattn.oracle.base import Oracle

__all__ = ["ExactOracle"]

E = TypeVar("E")


class ExactOracle(Oracle):
    """Answers with the values of a layer, computed in the number system that is asked for.

    On the log-lattice the caller chooses the denominator (``layer.denominator()`` for integral tokens).

    >>> from exactattn.model import Head, token
    >>> from exactattn.numbers import LogLattice
    >>> oracle = ExactOracle(Attention.of([Head.of([[1]], [1])]))
    >>> list(oracle.answer([Query.of([(token(2), 1)], last=token(1))], LogLattice()))
    [5/3]
    """

    def __init__(self, layer: Attention) -> None:
        super().__init__(layer.dim)
        self.layer = layer
        self._evaluator: Evaluator | None = None

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the layer's canonical form: layers that are the same function have the same."""
        content = layer_json(self.layer.canonical())
        content.pop("name", None)
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return f"model sha256 {hashlib.sha256(text.encode()).hexdigest()}"

    def answer(self, queries: Sequence[Query], system: NumberSystem[E, Any]) -> Iterator[E]:
        """The layer's values. Raises InputError if a query does not fit the layer or the number system,
        CannotTell if a value has no finite enclosure at this precision."""
        if self._evaluator is None or self._evaluator.system is not system:
            self._evaluator = Evaluator(self.layer, system)
        evaluator = self._evaluator
        for query in queries:
            value = evaluator(query)
            if isinstance(value, arb) and not value.is_finite():
                raise CannotTell(f"cannot tell the value of a query with {system!r}")
            yield value
