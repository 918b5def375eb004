"""A probe: one family of queries with a growing number of copies of one token.

With m copies of a_0, at most one more token a_1 and the last token b, put p = a_1 − a_0, q = b − a_0,
x_h = exp(b^T W_h p) (0 if there is no a_1), y_h = exp(b^T W_h q), and V the sum of all v_h. Then

    f(m) = V·a_0 + Σ_h S_h/(m + R_h),    R_h = x_h + y_h,    S_h = x_h v_h·p + y_h v_h·q

(theory, section 5; without a_1 it is the probe of section 3, with S_h = r_h c_h).
"""

from __future__ import annotations

from dataclasses import dataclass

from exactattn.model.query import Query
from exactattn.numbers import Vector

__all__ = ["Probe", "minus", "plus", "times"]


def plus(x: Vector, y: Vector) -> Vector:
    """The sum of two vectors."""
    return tuple(a + b for a, b in zip(x, y, strict=True))


def minus(x: Vector, y: Vector) -> Vector:
    """The difference of two vectors."""
    return tuple(a - b for a, b in zip(x, y, strict=True))


def times(factor: int, x: Vector) -> Vector:
    """A multiple of a vector."""
    return tuple(factor * a for a in x)


@dataclass(frozen=True)
class Probe:
    """One probe of a plan: ``filler`` a_0, ``last`` b, ``extra`` a_1 if there is one, and the ``copies`` m.

    ``kind`` and the numbers ``i``, ``j`` name it; ``made_of`` names the vectors of the plan that it is made
    of, first the one to replace if the probe repeats another.

    >>> from exactattn.numbers import rational_vector as vec
    >>> probe = Probe("base", 1, 1, vec([1, 0]), vec([1, 2]), range(1, 3), (("u", 1), ("b", 1)))
    >>> probe.difference, probe.query(2).length
    ((0, 2), 3)
    """

    kind: str
    i: int
    j: int
    filler: Vector
    last: Vector
    copies: range
    made_of: tuple[tuple[str, int], ...]
    extra: Vector | None = None

    def __str__(self) -> str:
        return f"{self.kind} probe ({self.i}, {self.j})"

    @property
    def difference(self) -> Vector:
        """q = b − a_0."""
        return minus(self.last, self.filler)

    @property
    def vectors(self) -> frozenset[tuple[str, int]]:
        """Names of the vectors it uses, e.g. ("b", 1) and ("u", 3)."""
        return frozenset(self.made_of)

    def query(self, copies: int) -> Query:
        """The query with that many copies of a_0."""
        runs = [(self.filler, copies)]
        if self.extra is not None:
            runs.append((self.extra, 1))
        return Query.of(runs, self.last)

    def queries(self) -> list[Query]:
        """All queries of the probe, by number of copies."""
        return [self.query(m) for m in self.copies]
