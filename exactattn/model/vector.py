"""Layers with several outputs: one V_h of o×d a head instead of one vector.

Output k is the layer with v_h the k-th row of V_h; all outputs share the matrices W_h. The canonical form
merges equal W_h over all outputs, and drops a merged head whose V_h is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.model.heads import Attention, Head
from exactattn.numbers import Matrix, Vector, dot, rational_vector

__all__ = ["VectorAttention", "VectorHead"]


@dataclass(frozen=True, order=True)
class VectorHead:
    """One head: W (d×d) and V (o×d)."""

    W: Matrix
    V: Matrix

    @classmethod
    def of(cls, W: Sequence[Sequence[Any]], V: Sequence[Sequence[Any]]) -> VectorHead:
        """A head from numbers. InputError on bad shapes."""
        matrix, outputs = (tuple(rational_vector(row) for row in M) for M in (W, V))
        d = len(matrix)
        if d == 0 or not outputs or any(len(row) != d for row in (*matrix, *outputs)):
            raise InputError("W must be d×d and V o×d, with d and o at least 1", field="V")
        return cls(matrix, outputs)


@dataclass(frozen=True)
class VectorAttention:
    """A layer with ``outputs`` numbers as its answer.

    >>> head = VectorHead.of([[1]], [[2], [3]])
    >>> layer = VectorAttention.of([head, head])
    >>> layer.canonical().heads[0].V
    ((4,), (6,))
    """

    heads: tuple[VectorHead, ...]
    dim: int
    outputs: int

    @classmethod
    def of(cls, heads: Sequence[VectorHead]) -> VectorAttention:
        """A layer of at least one head; all of one size."""
        sizes = {(len(h.W), len(h.V)) for h in heads}
        if len(sizes) != 1:
            raise InputError(f"heads have sizes (d, o) {sorted(sizes)}; one size is needed")
        ((d, o),) = sizes
        return cls(tuple(heads), d, o)

    def output(self, weights: Vector) -> Attention:
        """The layer whose answer is that combination of the outputs."""
        heads = [
            Head(h.W, tuple(dot(weights, column) for column in zip(*h.V, strict=True))) for h in self.heads
        ]
        return Attention(tuple(heads), self.dim)

    def canonical(self) -> VectorAttention:
        """Equal W merged over all outputs, zero V dropped, heads sorted."""
        merged: dict[Matrix, list[list[fmpq]]] = {}
        for head in self.heads:
            zero = [[fmpq(0)] * self.dim for _ in range(self.outputs)]
            total = merged.setdefault(head.W, zero)
            for row, added in zip(total, head.V, strict=True):
                row[:] = [x + y for x, y in zip(row, added, strict=True)]
        kept = sorted(
            VectorHead(W, tuple(map(tuple, V))) for W, V in merged.items() if any(any(row) for row in V)
        )
        return VectorAttention(tuple(kept), self.dim, self.outputs)
