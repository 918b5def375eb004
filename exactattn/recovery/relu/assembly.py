"""From regions to the canonical form: jumps, signs and v."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from flint import fmpq

from exactattn.model.relu_form import Blocks, ReluForm, flat, relu_form
from exactattn.model.transformer import stacked_outputs
from exactattn.numbers import LogLattice, Matrix
from exactattn.recovery.relu.regions import Region
from exactattn.recovery.relu.result import Jump

__all__ = ["Assembly"]


@dataclass(frozen=True)
class Assembly:
    """Puts regions together, for all heads that are known in the end.

    The jump from one region to the next is ±D_k, with σ_k = 1 where F is convex at the kink, and v is the sum
    of the first and the last region's v^A, where all signs are opposite.
    """

    matrices: tuple[Matrix, ...]
    dim: int
    residual: bool
    system: LogLattice

    def padded(self, matrices: Sequence[Matrix], blocks: Blocks) -> Blocks:
        """Blocks for all heads, and the last token's; those of heads that a fit did without are 0."""
        known = dict(zip(matrices, blocks, strict=False))
        zero = (fmpq(0),) * self.dim
        return tuple(known.get(W, zero) for W in self.matrices) + blocks[len(matrices) :]

    def jumps(self, regions: Sequence[Region]) -> tuple[Blocks, tuple[Jump, ...]]:
        """v, and the jumps between neighbours."""
        vectors = [self.padded(region.matrices, region.blocks) for region in regions]
        found = []
        for (before, after), region in zip(pairwise(vectors), regions[1:], strict=True):
            direction = _plus(after, before, -1)
            found.append(Jump(1 if self.along(direction, region) > 0 else -1, direction))
        return _plus(vectors[0], vectors[-1]), tuple(found)

    def along(self, direction: Blocks, region: Region) -> fmpq:
        """The jump along Z at a point of the later region: positive where F is convex at the kink."""
        blocks = stacked_outputs(self.matrices, self.residual, region.base, self.system)
        z = [x for row in blocks for x in row]
        return sum((c * x for c, x in zip(flat(direction), z, strict=True)), fmpq(0))

    def form(self, linear: Blocks, jumps: Sequence[Jump]) -> ReluForm:
        """The canonical form with this v and these jumps."""
        rest = linear
        for jump in jumps:
            rest = _plus(rest, jump.direction, -jump.sign)
        half = tuple(tuple(x / 2 for x in block) for block in rest)
        neurons = [(fmpq(jump.sign), jump.direction) for jump in jumps]
        return relu_form(self.matrices, self.dim, self.residual, half, neurons)


def _plus(x: Blocks, y: Blocks, factor: int = 1) -> Blocks:
    return tuple(
        tuple(a + factor * b for a, b in zip(row, other, strict=True))
        for row, other in zip(x, y, strict=True)
    )
