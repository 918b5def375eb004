"""The interface of an oracle: a batch of queries in, one value for each query out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from exactattn.exceptions import InputError, OracleError
from exactattn.model.query import Query
from exactattn.numbers import Balls, NumberSystem

__all__ = ["Oracle", "precision_of"]

E = TypeVar("E")


class Oracle(ABC):
    """The black box: a function of value queries (theory, section 1).

    ``dim`` is the token size d, ``batch`` the most queries it is given at once. An oracle is a context
    manager; leaving it closes it.
    """

    dim: int
    batch: int = 256

    def __init__(self, dim: int) -> None:
        if dim < 1:
            raise InputError(f"the token size must be at least 1, not {dim}", field="dim")
        self.dim = dim

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Text that tells this oracle from others, for transcripts."""

    @abstractmethod
    def answer(self, queries: Sequence[Query], system: NumberSystem[E, Any]) -> Iterator[E]:
        """One value of ``system`` for each query, in order, each as soon as it is known.

        A query counts as asked once it has been taken out of ``queries``: take it no earlier than needed.
        Raises OracleError if there is no such value.
        """

    def close(self) -> None:  # noqa: B027 - most oracles hold nothing
        """Give back what the oracle holds. Raises OracleError if it misbehaved unnoticed until now."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:  # the first error is the one to show
            with suppress(OracleError):
                self.close()


def precision_of(system: NumberSystem[Any, Any]) -> int | None:
    """The working precision in bits of answers in this system; None if they are exact."""
    return system.precision if isinstance(system, Balls) else None
