"""What a method of recovery is: a plan, and a rule that labels the poles of its probes.

The plan is data: every query of one draw, from a seed. The rule is in the solver of the method, a pure
function of plan and answers. Asking, interpolation, assembly, redraws and precision are common to all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from exactattn.exceptions import InputError
from exactattn.model.query import Query
from exactattn.numbers import NumberSystem, Vector, to_matrix
from exactattn.recovery.draw import TokenRange, draw_vector
from exactattn.recovery.probe import Probe
from exactattn.recovery.solution import Further, Solution

__all__ = ["Plan"]

MAX_QUERIES = 100_000_000


@dataclass(frozen=True)
class Plan(ABC):
    """The queries of one draw: ``heads`` is the number of heads or an upper bound, ``dim`` the token size d.

    ``versions`` tells, for each vector such as ("b", i), how often it was replaced. Vectors are drawn from
    the seed. That the vectors of every basis are independent and all queries distinct is part of the plan and
    needs no answer. ``bias``: scores of (1, b)^T W a and a constant output (theory, section 5).
    """

    heads: int
    dim: int
    seed: int
    tokens: TokenRange
    versions: tuple[tuple[tuple[str, int], int], ...] = ()
    bias: bool = False

    method: ClassVar[str]

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of queries, by the method's formula."""

    @property
    @abstractmethod
    def formula(self) -> str:
        """The formula in words."""

    @property
    @abstractmethod
    def longest(self) -> int:
        """The length of the longest query, by the method's formula."""

    @property
    @abstractmethod
    def singles(self) -> tuple[Query, ...]:
        """Queries that belong to no probe."""

    @cached_property
    @abstractmethod
    def probes(self) -> tuple[Probe, ...]:
        """All probes, in the order in which they are asked."""

    @abstractmethod
    def bases(self) -> Iterable[tuple[tuple[tuple[str, int], Vector], ...]]:
        """Named vectors that must be independent, basis by basis."""

    @abstractmethod
    def versions_json(self) -> dict[str, list[int]]:
        """Versions of all vectors, as a certificate discloses them."""

    @abstractmethod
    def solve(
        self,
        answers: Sequence[Any],
        system: NumberSystem[Any, Any],
        progress: Callable[[int], None] | None = None,
    ) -> Solution | Further:
        """The heads behind the answers to :meth:`queries`, in that order, or what to ask next."""

    @property
    def check_query(self) -> Query | None:
        """A query beyond the plan whose value the recovered heads must reproduce, if labels or sizes may be
        wrong without it."""
        return None

    def queries(self) -> list[Query]:
        """Every query: single ones, then each probe's queries by number of copies."""
        return [*self.singles, *(query for probe in self.probes for query in probe.queries())]

    def samples(self, answers: Sequence[Any]) -> dict[Probe, Sequence[Any]]:
        """The answers that belong to each probe."""
        found, start = {}, len(self.singles)
        for probe in self.probes:
            found[probe] = answers[start : start + len(probe.copies)]
            start += len(probe.copies)
        return found

    def identity(self) -> dict[str, Any]:
        """What makes a transcript belong to this plan (redraws keep it)."""
        return {
            "method": self.method,
            "heads": self.heads,
            "dim": self.dim,
            "seed": self.seed,
            "tokens": self.tokens.to_json(),
            **({"bias": True} if self.bias else {}),
        }

    @property
    def rows(self) -> int:
        """The number of rows of W: d, or d + 1 with a bias."""
        return self.dim + 1 if self.bias else self.dim

    def lifted(self, last: Vector) -> Vector:
        """The last token as it enters scores: b, or (1, b) with a bias."""
        return (last[0] * 0 + 1, *last) if self.bias else last

    def version(self, name: str, index: int) -> int:
        """How often a vector was replaced."""
        return dict(self.versions).get((name, index), 0)

    def drawn(self, name: str, index: int, radius: int) -> Vector:
        """A vector of the seed's stream in its present version."""
        return draw_vector(
            self.seed, name, index, self.version(name, index), self.dim, radius, self.tokens.denominator
        )

    def redrawn(self, vectors: set[tuple[str, int]]) -> Self:
        """The plan with these vectors replaced by their next versions, made valid again."""
        return self._bumped(vectors).made_valid()

    def made_valid(self) -> Self:
        """Replaces vectors until all bases are independent and all queries distinct; asks nothing.

        Raises InputError for sizes below 1, plans too large, or a range too narrow.
        """
        for name, number in (("heads", self.heads), ("dim", self.dim)):
            if number < 1:
                raise InputError(f"must be at least 1, not {number}", field=name)
        if self.count > MAX_QUERIES:
            raise InputError(f"the plan would have {self.count} queries, more than {MAX_QUERIES}")
        plan = self
        for _ in range(1000):
            faulty = plan._first_dependent() or plan._first_repeated()
            if faulty is None:
                return plan
            plan = plan._bumped({faulty})
        raise InputError("no valid query vectors were found; use a wider token range")

    def _first_dependent(self) -> tuple[str, int] | None:
        """The first vector that depends on those before it."""
        for basis in self.bases():
            vectors = [vector for _, vector in basis]
            if to_matrix(vectors).rank() < len(vectors):
                ranks = (to_matrix(vectors[:i]).rank() for i in range(1, len(vectors) + 1))
                return basis[next(i for i, rank in enumerate(ranks) if rank <= i)][0]
        return None

    def _first_repeated(self) -> tuple[str, int] | None:
        """The vector to blame for the first probe that is empty or repeats another."""
        seen = set(self.singles)
        for probe in self.probes:
            empty = probe.extra == probe.filler or (probe.extra is None and probe.filler == probe.last)
            first = {probe.query(m) for m in probe.copies[:2]}
            if empty or not seen.isdisjoint(first):
                return probe.made_of[0]
            seen |= first
        return None

    def _bumped(self, vectors: set[tuple[str, int]]) -> Self:
        table = dict(self.versions)
        for vector in vectors:
            table[vector] = table.get(vector, 0) + 1
        return replace(self, versions=tuple(sorted(table.items())))
