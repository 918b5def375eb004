"""The frozen walk, for d > H: tokens move where no softmax weight can see it.

At a last token b let N = {y: b^T W_h y = 0 for all h}. Tokens b + x_j + y_j with y_j in N have weights that
do not depend on the y_j, so Z is exactly affine in them, and the blocks of Z can move apart. Neurons whose
blocks add up to 0, or to parallel vectors, have kinks of their own there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from exactattn.model.query import Query
from exactattn.model.relu_form import Blocks
from exactattn.model.transformer import stacked_outputs
from exactattn.numbers import Matrix, Vector, to_matrix
from exactattn.recovery.probe import plus
from exactattn.recovery.relu.asking import Asker
from exactattn.recovery.relu.differences import Differences, NoDifferences
from exactattn.recovery.relu.draws import Draws
from exactattn.recovery.relu.paths import inner_abscissa
from exactattn.recovery.relu.pieces import Piece, place
from exactattn.recovery.relu.regions import Region, RegionFailed, predicted

__all__ = ["FrozenPath", "FrozenRegions", "frozen_path"]

FAR = 1 << 20
COPIES = 1 << 24
MAX_SQUARES = 1  # lengths stay below 2^63, as transcripts keep them
STEP = "regions"


@dataclass(frozen=True)
class FrozenPath:
    """Tokens fixed_j + λ(y_j + s·c_j), last token b; abscissa t with place (x, y) is s = −x/y.

    Times y, F is p·x + q·y on each piece, as on the path of single tokens.
    """

    last: Vector
    fixed: tuple[Vector, ...]
    start: tuple[Vector, ...]
    direction: tuple[Vector, ...]

    low = fmpq(1, FAR)
    high = 2 - fmpq(1, FAR)

    def tokens(self, t: fmpq) -> list[Vector]:
        """The tokens before the last one."""
        x, y = place(t)
        s = -x / y
        return [
            tuple(f + FAR * (g + s * c) for f, g, c in zip(*rows, strict=True))
            for rows in zip(self.fixed, self.start, self.direction, strict=True)
        ]

    def query(self, t: fmpq) -> Query:
        """The query at an abscissa."""
        return Query.of([(tok, 1) for tok in self.tokens(t)], self.last)


def frozen_path(matrices: Sequence[Matrix], dim: int, asker: Asker, draws: Draws) -> FrozenPath:
    """A random path for d > H. Raises NoDifferences if the last token is unlucky."""
    last = draws.vector("last", dim, 9)
    differences = Differences(last, matrices, True, asker.system, draws)
    kernel = _kernel(differences.rows, dim)
    if not kernel:
        raise NoDifferences

    def frozen() -> Vector:
        factors = draws.vector("frozen", len(kernel), 99)
        total = (fmpq(0),) * dim
        for factor, y in zip(factors, kernel, strict=True):
            total = plus(total, tuple(factor * x for x in y))
        return total

    count = len(matrices) + 1
    return FrozenPath(
        last,
        tuple(plus(last, differences.draw()) for _ in range(count)),
        tuple(frozen() for _ in range(count)),
        tuple(frozen() for _ in range(count)),
    )


def _kernel(rows: Sequence[Vector], dim: int) -> list[Vector]:
    """A basis of the vectors that all rows annihilate."""
    if not rows:
        return [tuple(fmpq(i == j) for j in range(dim)) for i in range(dim)]
    reduced, rank = to_matrix(rows).rref()
    entries = reduced.tolist()[:rank]
    pivots = [next(k for k, x in enumerate(row) if x != 0) for row in entries]
    found = []
    for free in (k for k in range(dim) if k not in pivots):
        y = [fmpq(0)] * dim
        y[free] = fmpq(1)
        for pivot, row in zip(pivots, entries, strict=True):
            y[pivot] = -row[free]
        found.append(tuple(y))
    return found


class FrozenRegions:
    """Fits v^A in a piece of a frozen walk: many copies of a point of the piece, and further random tokens.

    With N copies Z stays within O(1/N) of the point, and the known heads give it exactly: H·d answers are
    linear equations for v^A.
    """

    def __init__(self, asker: Asker, draws: Draws, path: FrozenPath, matrices: Sequence[Matrix]) -> None:
        self.asker, self.draws, self.path = asker, draws, path
        self.matrices, self.dim = tuple(matrices), len(path.last)

    def fit(self, piece: Piece) -> Region:
        """The region of a piece. Raises RegionFailed."""
        t, copies = inner_abscissa(piece, 0), COPIES
        differences = Differences(self.path.last, self.matrices, True, self.asker.system, self.draws)
        for _ in range(MAX_SQUARES + 1):
            found = self.at(piece, t, copies, differences)
            if found is not None:
                return found
            copies *= copies
        raise RegionFailed("F is not linear in Z around a piece of the frozen walk")

    def at(self, piece: Piece, t: fmpq, copies: int, differences: Differences) -> Region | None:
        last, size = self.path.last, len(self.matrices) * self.dim
        repeated = [(tok, copies) for tok in self.path.tokens(t)] + [(last, copies - 1)]

        def diluted(count: int) -> Query:
            more = [(plus(last, differences.draw()), 1) for _ in range(count)]
            return Query.of([*repeated, *more], last)

        queries = [diluted(1) for _ in range(size)]
        rows = fmpq_mat(size, size, [x for query in queries for x in self.stacked(query)])
        try:
            blocks = self.solved(rows, self.asker.ask(STEP, queries))
        except ZeroDivisionError:
            return None
        test = diluted(2)
        base = self.path.query(t)
        region = Region(
            piece, self.matrices, blocks, base, tuple(self.stacked(base)), copies, tuple(queries), (test,)
        )
        fits = self.on_line(region) and self.asker.ask(STEP, [test])[0] == self.value(region, test)
        return region if fits else None

    def stacked(self, query: Query) -> list[fmpq]:
        return [x for row in stacked_outputs(self.matrices, False, query, self.asker.system) for x in row]

    def solved(self, rows: fmpq_mat, answers: Sequence[fmpq]) -> Blocks:
        entries = rows.solve(fmpq_mat(len(answers), 1, list(answers))).entries()
        return tuple(tuple(entries[i : i + self.dim]) for i in range(0, len(entries), self.dim))

    def value(self, region: Region, query: Query) -> fmpq:
        return predicted(self.matrices, False, region.blocks, query, self.asker.system)

    def on_line(self, region: Region) -> bool:
        """Whether v^A has the piece's values on the path."""
        return all(
            self.value(region, self.path.query(t)) * place(t)[1] == region.piece.at(t)
            for t in (region.piece.low, region.piece.high)
        )
