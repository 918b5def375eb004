"""The linear function that F is in the cone of a piece, from nearly equal tokens.

With last token λb and m copies of λb − u/λ, every z_h is λb − q_h u/λ, with q_h = m/(m + r_h) and r_h =
exp(b^T W_h u): scores do not depend on λ, and for large λ no neuron changes its sign, so F = v^A · Z with

    λ(λF(b) − F(X)) = Σ_h q_h v^A_h · u.

m = 1 … H for d differences u give all blocks of v^A. It is accepted if it has the piece's line and gives F at
one further random query, with two kinds of tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq

from exactattn.exceptions import InconsistentAnswers
from exactattn.model.query import Query
from exactattn.model.relu_form import Blocks, flat
from exactattn.model.transformer import stacked_outputs
from exactattn.numbers import LogLattice, Matrix, Vector, dot, to_matrix
from exactattn.recovery.assembly import assemble_vector
from exactattn.recovery.interpolation import interpolate
from exactattn.recovery.relu.asking import Asker
from exactattn.recovery.relu.differences import Differences, NoDifferences
from exactattn.recovery.relu.draws import Draws
from exactattn.recovery.relu.paths import TokenPath
from exactattn.recovery.relu.pieces import Piece

__all__ = ["MissedHead", "Region", "RegionFailed", "TokenRegions", "predicted"]

STEP = "regions"
FIRST_SCALE = 1 << 20
MAX_SQUARES = 2
MAX_CENTRES = 3


class RegionFailed(Exception):
    """No linear function fits around a piece. Never reaches the user."""


class MissedHead(Exception):
    """A pole that no known head has shows around ``b``: ``u`` is the difference, ``scale`` the λ."""

    def __init__(self, b: Vector, u: Vector, scale: int) -> None:
        self.b, self.u, self.scale = b, u, scale
        super().__init__("a head shows that the antisymmetric queries missed")


@dataclass(frozen=True)
class Region:
    """v^A by blocks in the order of ``matrices`` (then the last token's), where it holds, and what shows it.

    ``centre`` is the stacked Z of a point of the region, ``base`` the query there; ``fitted`` are the queries
    that determine v^A, ``tests`` those that check it; ``scale`` is λ.
    """

    piece: Piece
    matrices: tuple[Matrix, ...]
    blocks: Blocks
    base: Query
    centre: tuple[fmpq, ...]
    scale: int
    fitted: tuple[Query, ...]
    tests: tuple[Query, ...]


def predicted(
    matrices: Sequence[Matrix], residual: bool, blocks: Blocks, query: Query, system: LogLattice
) -> fmpq:
    """v · Z(X)."""
    z = [x for row in stacked_outputs(matrices, residual, query, system) for x in row]
    return system.sum([fmpq(0), *(v * x for v, x in zip(flat(blocks), z, strict=True))])


class TokenRegions:
    """Fits regions around single tokens of a path, for the heads known so far."""

    def __init__(
        self,
        asker: Asker,
        draws: Draws,
        path: TokenPath,
        matrices: Sequence[Matrix],
        bound: int,
        residual: bool,
    ) -> None:
        self.asker, self.draws, self.path, self.bound, self.residual = asker, draws, path, bound, residual
        self.matrices = tuple(matrices)
        self.tests = 1
        self.system, self.dim = asker.system, len(path.start)

    @property
    def complete(self) -> bool:
        """Whether as many heads are known as there can be."""
        return len(self.matrices) == self.bound

    def fit(self, piece: Piece) -> Region:
        """The region of a piece. Raises RegionFailed, or MissedHead."""
        for number in range(MAX_CENTRES):
            b, value = self.path.inner(piece, number)
            scale = FIRST_SCALE
            for _ in range(MAX_SQUARES + 1):
                try:
                    found = self.at(piece, b, value, scale)
                except NoDifferences:
                    break
                if found is not None:
                    return found
                self.look_for_heads(b, value, scale)
                scale *= scale
        raise RegionFailed("F is not linear around a piece of the walk")

    def at(self, piece: Piece, b: Vector, value: fmpq, scale: int) -> Region | None:
        """The region at b with λ = scale; None if the fit is not accepted."""
        differences = Differences(b, self.matrices, self.complete, self.system, self.draws)
        heads = range(1, len(self.matrices) + 1)
        asked: list[Query] = []
        columns: list[list[fmpq]] = []
        basis = differences.basis()
        for u in basis if self.matrices else []:
            queries = [near(b, scale, [(u, m)]) for m in heads]
            answers = self.asker.ask(STEP, queries)
            asked += queries
            right = [scale * (scale * value - f) for f in answers]
            r = differences.weights(u)
            shares = [[m / (m + x) for x in r] for m in heads]
            columns.append([row[0] for row in self.system.solve(shares, [[x] for x in right])])
        blocks = [
            assemble_vector(basis, [column[h] for column in columns], self.system)
            for h in range(len(self.matrices))
        ]
        wide = scale if self.complete else 1 << 6
        if self.residual:
            blocks.append(self.last_block(piece, blocks, b, value, wide, asked))
        tests = tuple(self.test_query(b, scale, wide) for _ in range(self.tests))
        found = Region(
            piece, self.matrices, tuple(blocks), Query.of([], b),
            tuple(x for _ in blocks for x in b), scale, tuple(asked), tests,
        )  # fmt: skip
        return found if self.on_line(found) and all(self.stands(found, test) for test in tests) else None

    def stands(self, region: Region, test: Query) -> bool:
        """Whether v^A gives F at a further query."""
        value = predicted(self.matrices, self.residual, region.blocks, test, self.system)
        return self.asker.ask(STEP, [test])[0] == value

    def last_block(
        self, piece: Piece, blocks: Sequence[Vector], b: Vector, value: fmpq, wide: int, asked: list[Query]
    ) -> Vector:
        """v^A of the last token: the sum of all blocks is known on the path's plane by the piece's line, and
        d − 2 single tokens near b show the rest."""
        tokens, values = [self.path.start, self.path.corner], list(piece.line)
        while len(tokens) < self.dim:
            w = self.draws.vector("single", self.dim, 5)
            if independent([*tokens, w]):
                query = Query.of([], tuple(wide * x + y for x, y in zip(b, w, strict=True)))
                asked.append(query)
                tokens.append(w)
                values.append(self.asker.ask(STEP, [query])[0] - wide * value)
        total = assemble_vector(tokens, values, self.system)
        return tuple(
            x - sum(column, fmpq(0)) for x, column in zip(total, columns_of(blocks, self.dim), strict=True)
        )

    def test_query(self, b: Vector, scale: int, wide: int) -> Query:
        """Two kinds of tokens near λb; with a residual the last token leaves the ray of b."""
        last = b
        if self.residual:
            w = self.draws.vector("single", self.dim, 5)
            last = tuple(wide * x + y for x, y in zip(b, w, strict=True))
        differences = Differences(last, self.matrices, self.complete, self.system, self.draws)
        return near(last, scale, [(differences.draw(), 1), (differences.draw(), 1)])

    def on_line(self, region: Region) -> bool:
        """Whether v^A is the piece's line on the path."""
        total = [sum(column, fmpq(0)) for column in columns_of(region.blocks, self.dim)]
        line = tuple(dot(tuple(total), x) for x in (self.path.start, self.path.corner))
        return line == region.piece.line

    def look_for_heads(self, b: Vector, value: fmpq, scale: int) -> None:
        """Raises MissedHead if F near b has a pole of no known head."""
        if self.complete:
            return
        differences = Differences(b, self.matrices, self.complete, self.system, self.draws)
        u = differences.draw()
        nodes = [fmpq(m) for m in range(1, 2 * self.bound + 2)]
        answers = self.asker.ask(STEP, [near(b, scale, [(u, int(m.p))]) for m in nodes])
        values = [scale * (scale * value - f) / m for m, f in zip(nodes, answers, strict=True)]
        try:
            poles = interpolate(nodes, values, self.bound, self.system).poles
        except InconsistentAnswers:
            return
        if not set(poles) <= set(differences.weights(u)):
            raise MissedHead(b, u, scale)


def near(b: Vector, scale: int, runs: Sequence[tuple[Vector, int]]) -> Query:
    """Last token λb, and copies of λb − u/λ for each (u, count)."""
    last = tuple(scale * x for x in b)
    return Query.of(
        [(tuple(x - y / scale for x, y in zip(last, u, strict=True)), count) for u, count in runs], last
    )


def columns_of(blocks: Sequence[Vector], dim: int) -> list[list[fmpq]]:
    """The i-th entries of all blocks, for each i."""
    return [[block[i] for block in blocks] for i in range(dim)]


def independent(vectors: Sequence[Vector]) -> bool:
    """Whether the vectors are linearly independent."""
    return bool(to_matrix(vectors).rank() == len(vectors))
