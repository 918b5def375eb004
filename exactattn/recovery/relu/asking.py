"""Asking F: every query with its answer, by step and in order, through the transcript."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq

from exactattn.model.query import Query
from exactattn.numbers import LogLattice
from exactattn.oracle import Oracle, Transcript

__all__ = ["Asked", "Asker"]


@dataclass(frozen=True)
class Asked:
    """One query with its answer, and the step that needed it first."""

    step: str
    query: Query
    answer: fmpq


class Asker:
    """Asks an oracle for values of F and keeps them; equal queries are asked once.

    >>> from exactattn.model import token
    >>> from exactattn.oracle import FunctionOracle
    >>> oracle = FunctionOracle(lambda query: query.last[0], dim=1)
    >>> with Transcript(fingerprint=oracle.fingerprint) as record:
    ...     asker = Asker(oracle, record, LogLattice())
    ...     asker.ask("walk", [Query.of([], token(2)), Query.of([], token(2))]), asker.counts()
    ([2, 2], {'walk': 1})
    """

    def __init__(self, oracle: Oracle, record: Transcript, system: LogLattice) -> None:
        self.oracle, self.record, self.system = oracle, record, system
        self._known: dict[Query, Asked] = {}

    def ask(self, step: str, queries: Sequence[Query]) -> list[fmpq]:
        """The answers in order; new queries count for ``step``. Raises what the oracle raises."""
        new = list(dict.fromkeys(query for query in queries if query not in self._known))
        for query, answer in zip(new, self.record.ask(self.oracle, new, self.system), strict=True):
            self._known[query] = Asked(step, query, answer)
        return [self._known[query].answer for query in queries]

    @property
    def asked(self) -> tuple[Asked, ...]:
        """All queries so far, in the order in which they were asked."""
        return tuple(self._known.values())

    def counts(self) -> dict[str, int]:
        """Numbers of distinct queries by step."""
        return dict(Counter(item.step for item in self._known.values()))
