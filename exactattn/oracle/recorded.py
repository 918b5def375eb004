"""Recorded answers as the oracle."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from exactattn.exceptions import InputError, MissingAnswers, OracleError
from exactattn.model.query import Query
from exactattn.numbers import NumberSystem, rational, rational_text
from exactattn.oracle.answers import json_answer, read_answer, shown
from exactattn.oracle.base import Oracle

__all__ = ["RecordedOracle"]

E = TypeVar("E")


class RecordedOracle(Oracle):
    """Answers from a table of queries and answers, each a number, a text, or a pair (midpoint, radius).

    Raises InputError if the table is empty or its queries differ in token size.

    >>> from exactattn.model import token
    >>> from exactattn.numbers import LogLattice
    >>> query = Query.of([], last=token(1))
    >>> list(RecordedOracle({query: "1/3"}).answer([query], LogLattice()))
    [1/3]
    """

    batch = 1 << 30  # what is missing is told at once

    def __init__(self, answers: Mapping[Query, Any]) -> None:
        sizes = sorted({query.dim for query in answers})
        if len(sizes) != 1:
            raise InputError(
                f"the recorded queries have token sizes {sizes}; all must be equal"
                if sizes
                else "there is no recorded answer"
            )
        super().__init__(sizes[0])
        self._answers = dict(answers)

    @classmethod
    def from_jsonl(cls, path: str | os.PathLike[str]) -> RecordedOracle:
        """Read a file with one JSON object on each line: {"query": …, "value": "…"}, where a query is
        {"runs": [[token, count], …], "last": token}; over balls, "error" may give the radius of the value.

        Raises InputError, with file and line, if the file is anything else, OracleError if it holds two
        different values for one query.
        """
        file = Path(path)
        answers: dict[Query, Any] = {}
        seen: dict[Query, int] = {}
        try:
            with file.open("rb") as lines:
                for number, line in enumerate(lines, 1):
                    if not line.strip():
                        continue
                    query, answer = _parse_line(line, file, number)
                    if query in answers and _plain(answers[query]) != _plain(answer):
                        raise OracleError(
                            f"{file}: the recorded oracle contradicts itself: lines {seen[query]} and "
                            f"{number} give different values for one query; remove the wrong one"
                        )
                    answers.setdefault(query, answer)
                    seen.setdefault(query, number)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}; check the path", file=file) from None
        try:
            return cls(answers)
        except InputError as error:
            raise error.in_file(file) from None

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the whole table."""
        table = sorted((query.key, _plain(answer)) for query, answer in self._answers.items())
        return f"recording sha256 {hashlib.sha256(json.dumps(table).encode()).hexdigest()}"

    def answer(self, queries: Sequence[Query], system: NumberSystem[E, Any]) -> Iterator[E]:
        """The recorded values. Raises MissingAnswers, before the first one, if queries are not recorded,
        OracleError if an answer is not a value of the number system."""
        missing = [query for query in queries if query not in self._answers]
        if missing:
            raise MissingAnswers(
                f"the recording has no answer for {len(missing)} of {len(queries)} queries; the first is "
                f"{shown(missing[0])}; answer them too",
                missing,
            )
        for query in queries:
            try:
                value = read_answer(self._answers[query], system)
            except InputError as error:
                raise OracleError(
                    f"the recorded answer to the query {shown(query)} cannot be used: {error}"
                ) from None
            yield value


def _parse_line(line: bytes, file: Path, number: int) -> tuple[Query, Any]:
    try:
        data, answer = json_answer(line, "query")
        return Query.from_json(data), answer
    except InputError as error:
        raise InputError(str(error), file=file, field=f"line {number}") from None


def _plain(answer: Any) -> list[str]:
    """An answer as texts that are equal for equal numbers."""
    texts = []
    for part in answer if isinstance(answer, tuple) else (answer,):
        try:
            texts.append(rational_text(rational(part)))
        except InputError:  # a ball's own text, or no number at all
            texts.append(str(part))
    return texts
