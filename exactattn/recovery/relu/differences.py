"""Differences u with short scores b^T W_h u that tell the known heads apart.

With exponents as short as that, a last token b may be as long as it must.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq, fmpq_mat, fmpz_mat

from exactattn.numbers import LogLattice, Matrix, Vector, dot, to_matrix
from exactattn.recovery.relu.draws import Draws

__all__ = ["Differences", "NoDifferences"]

TRIES = 300


class NoDifferences(Exception):
    """At this last token the scores of two heads cannot be told apart. Never reaches the user."""


class Differences:
    """Random differences at a last token b.

    ``complete`` says that no other head exists: then scores are chosen, and u solves for them; otherwise u is
    integral, so that scores of other heads are on the lattice too.
    """

    def __init__(
        self, b: Vector, matrices: Sequence[Matrix], complete: bool, system: LogLattice, draws: Draws
    ) -> None:
        self.dim, self.heads, self.system, self.draws = len(b), len(matrices), system, draws
        self.rows = [tuple(dot(b, column) for column in zip(*W, strict=True)) for W in matrices]
        self._inverse: fmpq_mat | None = None
        self._basis: list[Vector] = [tuple(fmpq(i == j) for j in range(self.dim)) for i in range(self.dim)]
        if not matrices:
            return
        scores = to_matrix(self.rows)
        if complete and self.heads <= self.dim and scores.rank() == self.heads:
            square = scores * scores.transpose()
            self._inverse = scores.transpose() * square.inv()
        else:
            scaled = (scores * system.denominator).transpose()
            integral = fmpz_mat(self.dim, self.heads, [x.p for x in scaled.entries()])
            if integral.rank() == self.dim:
                _, change = integral.lll(True)
                self._basis = [tuple(fmpq(x) for x in row) for row in change.tolist()]

    def scores(self, u: Vector) -> tuple[fmpq, ...]:
        """b^T W_h u for each head."""
        return tuple(dot(row, u) for row in self.rows)

    def weights(self, u: Vector) -> list[fmpq]:
        """r_h = exp(b^T W_h u)."""
        return [self.system.exp(s) for s in self.scores(u)]

    def draw(self) -> Vector:
        """One difference; its scores are distinct. Raises NoDifferences."""
        for _ in range(TRIES):
            u = self._one()
            if any(x != 0 for x in u) and len(set(self.scores(u))) == self.heads:
                return u
        raise NoDifferences

    def basis(self) -> list[Vector]:
        """d independent ones. Raises NoDifferences."""
        found: list[Vector] = []
        for _ in range(TRIES):
            u = self.draw()
            if to_matrix([*found, u]).rank() > len(found):
                found.append(u)
            if len(found) == self.dim:
                return found
        raise NoDifferences

    def _one(self) -> Vector:
        radius = 4 + 2 * self.heads
        if self._inverse is None:
            factors = self.draws.vector("difference", self.dim, 3)
            return tuple(dot(factors, column) for column in zip(*self._basis, strict=True))
        w = self.draws.vector("difference", self.dim, radius)
        wanted = self.draws.vector("score", self.heads, radius)
        lacking = [s / self.system.denominator - have for s, have in zip(wanted, self.scores(w), strict=True)]
        change = self._inverse * fmpq_mat(self.heads, 1, lacking)
        return tuple(x + y for x, y in zip(w, change.entries(), strict=True))
