"""Value queries: token runs and a last token.

The order of the tokens before the last one does not change a layer's output, so a query is a multiset of
(token, count) runs plus the last token, which asks (theory, section 1).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.numbers import Vector, rational_text, rational_vector

__all__ = ["Query", "token"]


def token(*entries: Any) -> Vector:
    """A token: a vector of exact rationals.

    >>> token(1, "1/2")
    (1, 1/2)
    """
    return rational_vector(entries)


@dataclass(frozen=True)
class Query:
    """A value query in normal form: equal tokens merged into one run, runs sorted, counts positive.

    Attributes: ``runs``, pairs (token, count), and ``last``, the asking token; tokens are vectors in Q^d.

    >>> q = Query.of([(token(1, 0), 2), (token(1, 0), 1)], last=token(0, 1))
    >>> q.length, len(q.runs)
    (4, 1)
    >>> Query.from_json(q.to_json()) == q
    True
    """

    runs: tuple[tuple[Vector, int], ...]
    last: Vector

    @classmethod
    def of(cls, runs: list[tuple[Vector, int]], last: Vector) -> Query:
        """The normal form of a query. Raises InputError on negative counts or unequal token sizes."""
        merged: dict[Vector, int] = {}
        for tok, count in runs:
            if count < 0:
                raise InputError(f"a run has count {count}; counts are at least 0")
            if len(tok) != len(last):
                raise InputError(f"a token has {len(tok)} entries and the last token {len(last)}")
            merged[tok] = merged.get(tok, 0) + count
        return cls(tuple(sorted((t, c) for t, c in merged.items() if c)), last)

    @property
    def dim(self) -> int:
        """The token size d."""
        return len(self.last)

    @property
    def length(self) -> int:
        """The number of tokens of the sequence, the last one included."""
        return 1 + sum(count for _, count in self.runs)

    def to_json(self) -> dict[str, Any]:
        """{"runs": [[token, count], …], "last": token}, numbers as canonical text."""

        def texts(tok: Vector) -> list[str]:
            return [rational_text(x) for x in tok]

        return {"runs": [[texts(t), c] for t, c in self.runs], "last": texts(self.last)}

    @classmethod
    def from_json(cls, data: Any) -> Query:
        """The inverse of :meth:`to_json`. Raises InputError if the data is not a query."""
        shape = 'a query is {"runs": [[token, count], ...], "last": token}, a token a list of numbers'
        if not isinstance(data, dict) or set(data) != {"runs", "last"} or not isinstance(data["runs"], list):
            raise InputError(shape)
        runs: list[tuple[Vector, int]] = []
        for run in data["runs"]:
            if not isinstance(run, list) or len(run) != 2 or not isinstance(run[0], list):
                raise InputError(shape)
            if not isinstance(run[1], int) or isinstance(run[1], bool):
                raise InputError("the count of a run must be an integer")
            runs.append((rational_vector(run[0]), run[1]))
        if not isinstance(data["last"], list) or not data["last"]:
            raise InputError(shape)
        last = rational_vector(data["last"])
        return cls.of(runs, last)

    @cached_property
    def key(self) -> str:
        """Canonical text; two queries are equal if and only if their keys are."""
        return json.dumps(self.to_json(), separators=(",", ":"), sort_keys=True)

    def expanded(self) -> list[list[fmpq]]:
        """The sequence written out, one row a token, the last token last."""
        rows = [list(t) for t, c in self.runs for _ in range(c)]
        return [*rows, list(self.last)]
