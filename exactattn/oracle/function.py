"""A Python callable as the oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from exactattn.exceptions import InputError, OracleError
from exactattn.model.query import Query
from exactattn.numbers import NumberSystem
from exactattn.oracle.answers import read_answer, shown
from exactattn.oracle.base import Oracle

__all__ = ["FunctionOracle"]

E = TypeVar("E")


class FunctionOracle(Oracle):
    """Answers with ``function(query)``, one call for each query, in order.

    The function takes a :class:`~exactattn.model.Query` with tokens of size ``dim`` and returns a number that
    :func:`~exactattn.numbers.rational` reads; over balls it may also return a flint ``arb`` or a pair
    (midpoint, radius). It runs at the precision of the number system.

    >>> from exactattn.model import token
    >>> from exactattn.numbers import LogLattice
    >>> oracle = FunctionOracle(lambda query: query.last[0] * query.length, dim=1)
    >>> list(oracle.answer([Query.of([(token(0), 2)], last=token("1/2"))], LogLattice()))
    [3/2]
    """

    def __init__(self, function: Callable[[Query], Any], dim: int) -> None:
        super().__init__(dim)
        self.function = function

    @property
    def fingerprint(self) -> str:
        """The function's qualified name; for other callables that of their type."""
        named = self.function if hasattr(self.function, "__qualname__") else type(self.function)
        return f"function {named.__module__}.{named.__qualname__}"

    def answer(self, queries: Sequence[Query], system: NumberSystem[E, Any]) -> Iterator[E]:
        """The function's values. Raises OracleError, naming the query, if it raises or returns no number."""
        for query in queries:
            try:
                with system.context():
                    result = self.function(query)
            except Exception as error:
                raise OracleError(
                    f"the function raised {type(error).__name__} ({error}) at the query {shown(query)}"
                ) from error
            try:
                value = read_answer(result, system)
            except InputError as error:
                raise OracleError(
                    f"the function's answer to the query {shown(query)} cannot be used: {error}"
                ) from None
            yield value
