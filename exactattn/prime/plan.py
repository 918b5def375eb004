"""The published plan over a prime field, cut into blocks of rows that can be asked and solved one by one.

Vectors are b_i = e_i + x_i y and u_j = e_j + x'_j y' with y·x = y'·x' = 0: dense small integers, and the
inverses of B = I + x y^T and U = I + x' y'^T are I − x y^T and I − x' y'^T, so assembly takes d² steps a head
and no determinant stands in the way modulo p − 1. Probes and counts are those of the published method
(theory, section 4): (b_i, u_j), (b_i, u_1 + u_j) and (b_1 + b_i, u_1); with a bias there is one more last
token b_1, the others are b_1 + e_i + x_i y, and the last kind is (2b_i − b_1, u_1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exactattn.prime.layer import ProbeGroup, Tokens
from exactattn.prime.tokens import RADIUS, UnimodularPlan, unimodular
from exactattn.recovery.counts import published_count
from exactattn.recovery.draw import draw_vector

__all__ = ["BlockPlan"]

PROBES = 1 << 14


@dataclass(frozen=True)
class BlockPlan(UnimodularPlan):
    """The published method for ``heads`` heads (or a bound) and token size ``dim``.

    >>> plan = BlockPlan(heads=2, dim=4, seed=1)
    >>> plan.count, plan.blocks[:2]
    (125, (range(0, 1), range(1, 4)))
    >>> sum(len(group.filler) for block in plan.blocks for group in plan.groups(block)) * 4 + 1
    125
    """

    heads: int
    dim: int
    seed: int = 0
    bias: bool = False

    def __post_init__(self) -> None:
        self.require_sizes()

    @property
    def count(self) -> int:
        """4Hd² − 2H + 1, or 4Hd² + 4Hd − 2H + 1."""
        return published_count(self.heads, self.dim, bias=self.bias)

    @property
    def copies(self) -> tuple[int, ...]:
        """m = 1, …, 2H."""
        return tuple(range(1, 2 * self.heads + 1))

    @cached_property
    def blocks(self) -> tuple[range, ...]:
        """Rows by block; the first row is a block of its own, which the others need."""
        size = max(1, PROBES // (2 * self.dim))
        later = [range(i, min(i + size, self.rows)) for i in range(1, self.rows, size)]
        return (range(1), *later)

    @cached_property
    def u_factors(self) -> tuple[Tokens, Tokens]:
        """x' and y'."""
        return unimodular(self.seed, "u", self.dim)

    @cached_property
    def b_factors(self) -> tuple[Tokens, Tokens]:
        """x and y."""
        return unimodular(self.seed, "b", self.dim)

    def first_token(self) -> Tokens:
        """b_1, drawn."""
        drawn = [int(c.p) for c in draw_vector(self.seed, "b", 1, 0, self.dim, RADIUS)]
        return np.array(drawn, dtype=np.int64)

    def joined(self, row: int, factor: int = 1) -> Tokens:
        """The last token of a row probe: factor·b_1 + b_i; with a bias −factor·b_1 + (1 + factor)·b_i."""
        if self.bias:
            combined: Tokens = (1 + factor) * self.b[row] - factor * self.b[0]
            return combined
        summed: Tokens = factor * self.b[0] + self.b[row]
        return summed

    @cached_property
    def differences(self) -> Tokens:
        """u_1 … u_d, u_1 + u_2 … u_1 + u_d: the differences of one row."""
        return np.concatenate([self.u, self.u[:1] + self.u[1:]])

    @cached_property
    def _differences(self) -> NDArray[np.float64]:
        """The same in binary64, in which products with tokens are taken."""
        return self.differences.astype(np.float64)

    def groups(self, block: range) -> Iterator[ProbeGroup]:
        """The probes of a block, row by row, then its row probes."""
        for i in block:
            yield ProbeGroup(self.b[i], self.b[i] - self._differences)
        for i in block:
            if i > 0:
                last = self.joined(i)
                yield ProbeGroup(last, (last - self.u[0])[None])
