"""What the optimal and the consistency method share: a first row that gives every v, then other rows.

Stage 1: last token b_1, filler 0; a base probe without a further token gives b_1^T W_h b_1 and v_h·b_1, and
one with a token a_j gives b_1^T W_h a_j and v_h·a_j: the whole row b_1^T W_h, and v_h. Stage 2: rows b_i^T
W_h in the directions u_j, with all v_h known (theory, section 5). With a bias one more query, the token 0
alone, gives the constant output.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.model.query import Query
from exactattn.numbers import Vector
from exactattn.recovery.draw import TokenRange, has_proportional_entries, has_short_relation
from exactattn.recovery.method import Plan
from exactattn.recovery.methods.rows import Task, needed_columns
from exactattn.recovery.probe import Probe, minus, plus

__all__ = ["StagedPlan"]

MAX_AVOIDED = 8


@dataclass(frozen=True)
class StagedPlan(Plan):
    """A plan in two stages; vectors are ("b", i), ("a", j) for j ≥ 2, and ("u", j).

    ``rank``: an upper bound on the rank of every W_h; None is full rank. ``checked``: the rank is a
    hypothesis, and one column more of row ``rank`` + 1 tells whether it is higher. ``closeness`` k > 0: a_j
    and b_i − b_1 are 2^−k times the drawn vectors, for labels by proximity.

    ``rounds``: earlier answers may change later vectors. ``rows_asked`` ends the plan after so many rows; 0
    is the first row without its base probe, and ``by_tokens`` puts one more token a_1 in place of that probe.
    """

    rank: int | None = None
    closeness: int = 0
    checked: bool = False
    rows_asked: int | None = None
    rounds: bool = False
    by_tokens: bool = False

    @classmethod
    def draw(
        cls,
        heads: int,
        dim: int,
        seed: int,
        tokens: TokenRange,
        *,
        bias: bool = False,
        rank: int | None = None,
        closeness: int = 0,
    ) -> Self:
        """A valid plan. Raises InputError for sizes below 1 or a rank not in 1 … dim."""
        if rank is not None and not 1 <= rank <= dim:
            raise InputError(f"must be 1 to {dim}, the token size, not {rank}", field="rank")
        return cls(heads, dim, seed, tokens, bias=bias, rank=rank, closeness=closeness).made_valid()

    @property
    def full_rank(self) -> int:
        """The rank in use: the given one, or d."""
        return self.dim if self.rank is None else self.rank

    @property
    def longest(self) -> int:
        return 2 * self.heads + 1

    def identity(self) -> dict[str, Any]:
        rank = "auto" if self.checked else self.rank
        return {**super().identity(), **({} if rank is None else {"rank": rank})}

    def closer(self) -> Self:
        """The plan with δ = 2^−closeness squared."""
        return replace(self, closeness=2 * self.closeness).made_valid()

    def from_rank_one(self) -> Self:
        """The plan that finds the rank out, row by row."""
        rows = None if self.dim == 1 else 2
        return replace(self, rank=1, checked=True, rows_asked=rows).made_valid()

    def of_higher_rank(self) -> Self:
        """The plan for the next rank, asked as far as the row that tells whether that is enough."""
        rank = self.full_rank + 1
        rows = None if rank >= self.dim else rank + 1
        return replace(self, rank=rank, rows_asked=rows).made_valid()

    def in_rounds(self) -> Self:
        """The plan asked in rounds: tokens of the first row, the rest of it, other rows in directions that
        are chosen once every v_h is known."""
        alone = 1 if self.rows > 1 else None
        rows = 0 if self.dim > 1 else alone
        return replace(self, rounds=True, by_tokens=False, rows_asked=rows).made_valid()

    def with_first_row(self, *, by_tokens: bool) -> Self:
        """The plan for the rest of the first row."""
        return replace(self, rows_asked=1, by_tokens=by_tokens).made_valid()

    def after_first_row(self) -> Self:
        """The plan for the rows that come next."""
        return replace(self, rows_asked=2 if self.checked and self.dim > 1 else None).made_valid()

    def redrawn(self, vectors: set[tuple[str, int]]) -> Self:
        """The plan with these vectors replaced; another b_1 begins the rounds again."""
        again = self.rounds and ("b", 1) in vectors and not self.checked
        plan = self.in_rounds() if again else self
        return super(StagedPlan, plan).redrawn(vectors)

    def complete(self) -> Self:
        """The plan with all rows asked."""
        return replace(self, rows_asked=None).made_valid()

    def bases(self) -> Iterable[tuple[tuple[tuple[str, int], Vector], ...]]:
        yield tuple((("b", i), self.lifted(x)) for i, x in enumerate(self.b, 1))
        names = [("a", j) for j in range(1, self.dim + 1)]
        if not self.by_tokens:
            names[0] = ("b", 1)
        yield tuple(zip(names, self.first_basis, strict=True))
        yield tuple((("u", j), x) for j, x in enumerate(self.u, 1))

    def _first_dependent(self) -> tuple[str, int] | None:
        """Also b_1 if a short vector is orthogonal to it where that may hide W_h: at a lower rank, b_1^T W_h
        vanishes if b_1 is orthogonal to r vectors, for d = 2 differences are singular often enough. And a_j
        if two of its entries are proportional to those of b_1, as then a short vector is orthogonal to both.
        """
        if self.rounds:
            few = self.full_rank < self.dim or self.dim == 2
            if few and self.version("b", 1) < MAX_AVOIDED and has_short_relation(self.b[0]):
                return ("b", 1)
            for j, a in enumerate(self.first_basis, 1):
                if a != self.b[0] and has_proportional_entries(a, self.b[0]):
                    return ("a", j)
        return super()._first_dependent()

    def _scaled(self, x: Vector) -> Vector:
        return tuple(a / (1 << self.closeness) for a in x) if self.closeness else x

    @cached_property
    def b(self) -> tuple[Vector, ...]:
        """The last tokens b_1 … b_d (b_{d+1} with a bias)."""
        first = self.drawn("b", 1, self.tokens.first or self.tokens.last)
        drawn = [self.drawn("b", i, self.tokens.last) for i in range(2, self.rows + 1)]
        if self.closeness:
            return (first, *(plus(first, self._scaled(x)) for x in drawn))
        return (first, *drawn)

    @cached_property
    def first_basis(self) -> tuple[Vector, ...]:
        """b_1 (or a_1) and the tokens a_2 … a_d: the directions of stage 1."""
        tokens = [self._scaled(self.drawn("a", j, self.tokens.last)) for j in range(1, self.dim + 1)]
        return tuple(tokens) if self.by_tokens else (self.b[0], *tokens[1:])

    @cached_property
    def u(self) -> tuple[Vector, ...]:
        """The directions u_1 … u_d of stage 2."""
        return tuple(self.drawn("u", j, self.tokens.difference) for j in range(1, self.dim + 1))

    @property
    def zero(self) -> Vector:
        """The token 0, the filler of stage 1."""
        return (fmpq(0),) * self.dim

    @property
    def singles(self) -> tuple[Query, ...]:
        return (Query.of([], self.zero),) if self.bias else ()

    @property
    def copies(self) -> range:
        """The numbers of copies m = 0 … 2H − 1 asked in every whole probe."""
        return range(2 * self.heads)

    def first_probe(self, kind: str, j: int, extra: Vector | None) -> Probe:
        """A probe of stage 1."""
        made_of: tuple[tuple[str, int], ...] = (("b", 1),) if extra is None else (("a", j), ("b", 1))
        return Probe(kind, 1, j, self.zero, self.b[0], self.copies, made_of, extra)

    @property
    def base_probe(self) -> Probe:
        """Filler 0 and last token b_1."""
        return self.first_probe("base", 1, None)

    @property
    def opening(self) -> tuple[Probe, ...]:
        """What stage 1 begins with: nothing in the round before it, the probe of a_1, or the base probe."""
        if self.rows_asked == 0:
            return ()
        return (self.first_probe("token", 1, self.first_basis[0]) if self.by_tokens else self.base_probe,)

    @property
    @abstractmethod
    def column_pairs(self) -> set[tuple[int, int]]:
        """Pairs of directions whose probes must tell heads apart."""

    @property
    @abstractmethod
    def single_columns(self) -> set[int]:
        """Directions whose probes must do so alone."""

    @property
    def needed(self) -> dict[int, range]:
        """The columns asked in each row from the second."""
        rows = self.rows if self.rows_asked is None else self.rows_asked
        return needed_columns(rows, self.dim, self.full_rank, self.checked_columns)

    @property
    @abstractmethod
    def checked_columns(self) -> int:
        """How many columns more than the rank are asked in row r + 1, to tell whether it is higher."""

    @property
    @abstractmethod
    def first_probes(self) -> tuple[Probe, ...]:
        """The probes of stage 1, the opening first."""

    @cached_property
    @abstractmethod
    def row_probes(self) -> tuple[tuple[Task, Probe], ...]:
        """The probes of stage 2 and what they show."""

    @cached_property
    def probes(self) -> tuple[Probe, ...]:
        return (*self.first_probes, *(probe for _, probe in self.row_probes))

    @property
    def check_query(self) -> Query:
        """A random query whose value the recovered heads must reproduce."""
        tokens = [self.drawn("check", k, self.tokens.last) for k in range(1, 4)]
        return Query.of([(tokens[1], 1), (tokens[2], 1)], tokens[0])

    def versions_json(self) -> dict[str, list[int]]:
        """Versions of all vectors, as a certificate discloses them."""
        return {
            "b": [self.version("b", i) for i in range(1, self.rows + 1)],
            "a": [self.version("a", j) for j in range(1 if self.by_tokens else 2, self.dim + 1)],
            "u": [self.version("u", j) for j in range(1, self.dim + 1)],
        }

    def filler_for(self, last: Vector, direction: int) -> Vector:
        """a_0 with b − a_0 = u_j."""
        return minus(last, self.u[direction - 1])

    def beyond(self, filler: Vector, direction: int) -> Vector:
        """a_1 with a_1 − a_0 = u_j."""
        return plus(filler, self.u[direction - 1])
