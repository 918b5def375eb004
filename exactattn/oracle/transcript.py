"""The transcript: what was asked and answered, in a file that survives a kill.

A query is noted as sent before the oracle sees it, an answer is kept as soon as it arrives, and what is kept
is never asked again. Query count and longest sequence are read from here.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, overload

from flint import fmpq

from exactattn.exceptions import CannotTell, InputError, OracleError, TranscriptError
from exactattn.model.query import Query
from exactattn.numbers import Decision, NumberSystem
from exactattn.oracle.answers import shown
from exactattn.oracle.base import Oracle, precision_of
from exactattn.oracle.database import named_errors, open_database

__all__ = ["Transcript"]

E = TypeVar("E")

# Answers are safe from a kill at once. This is the longest that those of a slow oracle wait for the disk,
# where they are safe from a loss of power too.
FLUSH_SECONDS = 0.5

_END = object()


class Transcript:
    """A transcript in the SQLite file ``path``, or in memory if there is none.

    ``identity`` describes the plan (method, bound, size, seed, ranges, …; JSON values). A file holds one
    plan, one oracle and one number system: raises TranscriptError, naming the difference, if it holds
    another, and also if the file is no transcript, damaged, or in use by another process.

    >>> from exactattn.model import Attention, Head, token
    >>> from exactattn.numbers import LogLattice
    >>> from exactattn.oracle import ExactOracle
    >>> oracle = ExactOracle(Attention.of([Head.of([[1]], [1])]))
    >>> with Transcript(identity={"seed": 1}, fingerprint=oracle.fingerprint) as transcript:
    ...     transcript.ask(oracle, [Query.of([(token(2), 1)], last=token(1))], LogLattice())
    ...     transcript.queries, transcript.longest
    [5/3]
    (1, 2)
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        identity: Mapping[str, Any] | None = None,
        fingerprint: str | None = None,
    ) -> None:
        self.path = None if path is None else Path(path)
        self._file = ":memory:" if path is None else str(path)
        self._connection = open_database(self.path)
        try:
            if identity is not None:
                self._require("plan", dict(identity))
            if fingerprint is not None:
                self._require("oracle", fingerprint)
        except BaseException:
            self._connection.close()
            raise
        self._flushed = time.monotonic()
        # Exact answers of this run by their text: reading long rationals back costs a gcd each.
        self._exact: dict[str, Any] = {}

    def ask(
        self,
        oracle: Oracle,
        queries: Sequence[Query],
        system: NumberSystem[E, Any],
        *,
        batch: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[E]:
        """The answers to all queries, in order; the oracle is asked for those that are not known yet.

        Equal queries are asked once. Over balls an answer of a lower precision than the system's is asked
        again (a refinement). The oracle gets at most ``batch`` queries at once (``oracle.batch`` unless
        given); every answer is on disk before the next batch. ``progress`` is called with the number of
        distinct queries that have their answer since the last call.

        Raises OracleError if the oracle does not give one finite value for each query or contradicts an
        earlier answer, TranscriptError if an answer cannot be kept. What was answered before is kept.
        """
        self._require("oracle", oracle.fingerprint)
        self._require("numbers", system.describe())
        wanted = {query.key: query for query in queries}
        for query in wanted.values():
            if query.dim != oracle.dim:
                raise InputError(f"a query has tokens of size {query.dim}, the oracle {oracle.dim}")
        texts = self._texts(wanted, precision_of(system))
        missing = [query for key, query in wanted.items() if key not in texts]
        report = progress or (lambda _: None)
        report(len(texts))
        size = batch or oracle.batch
        for start in range(0, len(missing), size):
            for _ in self._ask_batch(oracle, missing[start : start + size], system):
                report(1)
            self._flush()
        return self.answers(system, queries)

    def answers(self, system: NumberSystem[E, Any], queries: Sequence[Query]) -> list[E]:
        """The kept answers to the queries, in order. Raises TranscriptError if one is missing."""
        texts = self._texts({query.key: query for query in queries})
        absent = [query for query in queries if query.key not in texts]
        if absent:
            raise TranscriptError(
                f"{self._file}: {len(absent)} of {len(queries)} queries are not answered yet; the first is "
                f"{shown(absent[0])}"
            )
        values = {key: self._parse(text, system) for key, text in texts.items()}
        return [values[query.key] for query in queries]

    @property
    def queries(self) -> int:
        """The number of distinct queries that were answered."""
        return self._number("SELECT count(*) FROM queries WHERE answer IS NOT NULL")

    @property
    def longest(self) -> int:
        """The length of the longest answered sequence."""
        return self._number("SELECT coalesce(max(length), 0) FROM queries WHERE answer IS NOT NULL")

    @property
    def refinements(self) -> int:
        """How many times an answered query was sent again for a narrower ball."""
        return self._number("SELECT coalesce(sum(refined), 0) FROM queries")

    @property
    def resent(self) -> int:
        """The number of queries sent more than once because an interruption lost the answer."""
        return self._number("SELECT count(*) FROM queries WHERE sent > 1")

    def close(self) -> None:
        """Bring everything to disk and release the file."""
        with named_errors(self._file):
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask_batch(
        self, oracle: Oracle, queries: list[Query], system: NumberSystem[E, Any]
    ) -> Iterator[None]:
        """Ask one batch and keep each answer; yields once for each."""
        earlier = self._texts({query.key: query for query in queries})
        outgoing = _Outgoing(queries, self._note_sent)
        stream = iter(oracle.answer(outgoing, system))
        for number in range(len(queries)):
            value = next(stream, _END)
            if value is _END:
                raise OracleError(f"the oracle gave {number} answers to {len(queries)} queries")
            query = outgoing[number]
            self._keep(query, value, earlier.get(query.key), system)
            yield
        if next(stream, _END) is not _END:
            raise OracleError(f"the oracle gave more than {len(queries)} answers to {len(queries)} queries")

    def _keep(self, query: Query, value: Any, earlier: str | None, system: NumberSystem[E, Any]) -> None:
        kind = type(system.value(fmpq(0)))
        if not isinstance(value, kind):
            raise OracleError(
                f"the oracle's answer to the query {shown(query)} has type {type(value).__name__}, not "
                f"{kind.__name__}"
            )
        try:
            text = system.value_text(value)
        except CannotTell:
            raise OracleError(f"the oracle's answer to the query {shown(query)} is not finite") from None
        if system.exact:
            self._exact[text] = value
        if earlier is not None and system.equal(self._parse(earlier, system), value) is Decision.NO:
            raise OracleError(
                "the oracle contradicts itself: at a higher precision it gives certainly another answer to "
                f"the query {shown(query)}"
            )
        self._execute(
            "UPDATE queries SET answer = ?, precision = ? WHERE key = ?",
            (text, precision_of(system), query.key),
        )
        if time.monotonic() - self._flushed > FLUSH_SECONDS:
            self._flush()

    def _note_sent(self, query: Query) -> None:
        self._execute(
            "INSERT INTO queries VALUES (?, ?, 1, 0, NULL, NULL) ON CONFLICT (key) DO UPDATE SET "
            "sent = sent + (answer IS NULL), refined = refined + (answer IS NOT NULL)",
            (query.key, query.length),
        )

    def _texts(self, queries: Mapping[str, Query], precision: int | None = None) -> dict[str, str]:
        """The kept answers to these queries that have at least this precision."""
        found = {}
        for key in queries:
            row = self._execute("SELECT answer, precision FROM queries WHERE key = ?", (key,))
            if row and row[0][0] is not None and (precision is None or row[0][1] >= precision):
                found[key] = row[0][0]
        return found

    def _parse(self, text: str, system: NumberSystem[E, Any]) -> E:
        if text in self._exact:
            known: E = self._exact[text]
            return known
        try:
            with system.context():
                value = system.parse_value(text)
        except InputError as error:
            raise TranscriptError(
                f"{self._file}: it is damaged ({error}); restore a copy, or use another --transcript file"
            ) from None
        if system.exact:
            self._exact[text] = value
        return value

    def _require(self, field: str, value: Any) -> None:
        """Keep what this run is, or compare it, key by key, with what the file holds."""
        text = json.dumps(value)
        rows = self._execute("SELECT value FROM meta WHERE key = ?", (field,))
        if not rows:
            self._execute("INSERT INTO meta VALUES (?, ?)", (field, text))
            return
        there, here = json.loads(rows[0][0]), json.loads(text)
        if there != here:
            if isinstance(there, dict) and isinstance(here, dict):
                field = next(key for key in {**here, **there} if there.get(key, _END) != here.get(key, _END))
                there, here = there.get(field, "absent"), here.get(field, "absent")
            raise TranscriptError(
                f"{self._file}: it is the transcript of another run: {field!r} is {_short(there)} in it and "
                f"{_short(here)} here; use another --transcript file or the same options"
            )

    def _number(self, statement: str) -> int:
        return int(self._execute(statement)[0][0])

    def _execute(self, statement: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
        with named_errors(self._file):
            return self._connection.execute(statement, parameters).fetchall()

    def _flush(self) -> None:
        self._execute("PRAGMA wal_checkpoint(FULL)")
        self._flushed = time.monotonic()


class _Outgoing(Sequence[Query]):
    """The queries of a batch; each is noted as sent when it is first taken out."""

    def __init__(self, queries: list[Query], note: Callable[[Query], None]) -> None:
        self._queries = queries
        self._note = note
        self._taken: set[int] = set()

    def __len__(self) -> int:
        return len(self._queries)

    @overload
    def __getitem__(self, index: int) -> Query: ...
    @overload
    def __getitem__(self, index: slice) -> list[Query]: ...
    def __getitem__(self, index: int | slice) -> Query | list[Query]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        position = range(len(self))[index]
        if position not in self._taken:
            self._note(self._queries[position])
            self._taken.add(position)
        return self._queries[position]


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
