"""A layer's projections as exact affine maps: weights beside biases, norms absorbed where that is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exactattn.checkpoint.dyadic import Dyadic
from exactattn.checkpoint.place import Array
from exactattn.checkpoint.weights import AttentionWeights, with_column
from exactattn.identify.features import Scope
from exactattn.identify.gauge_around import input_readers

__all__ = ["ExactLayer"]


@dataclass(frozen=True)
class ExactLayer:
    """Projections (n×(k+1), the bias as last column) of stored numbers.

    ``absorbed``: names of norms ("before", "query latent", "key/value latent") whose scales and shifts count
    as part of the projections that read them.
    """

    weights: AttentionWeights
    absorbed: frozenset[str] = frozenset()

    def projection(self, name: str, rows: Sequence[int], *, constants: bool = True) -> Dyadic:
        """Rows of a projection; without ``constants`` the last column is 0."""
        chosen, norm = list(rows), self.norm_read_by(name)
        matrix = self.weights.parameters[name][chosen]
        if norm not in self.absorbed:
            return Dyadic.of(with_column(matrix, self._bias(name, chosen) if constants else None))
        exact, scale = Dyadic.of(matrix), self.vector(f"{norm} scale")
        column = self.constants(name, rows) if constants else Dyadic.of(np.zeros(len(chosen)))
        return (exact if scale is None else exact.scaled_columns(scale)).beside(column)

    def constants(self, name: str, rows: Sequence[int]) -> Dyadic:
        """What rows of a projection add whatever they read: b, or b + W β with a shift β absorbed."""
        chosen, norm = list(rows), self.norm_read_by(name)
        stored = self._bias(name, chosen)
        bias = Dyadic.of(np.zeros(len(chosen)) if stored is None else stored)
        shift = self.vector(f"{norm} shift") if norm in self.absorbed else None
        return bias if shift is None else bias + Dyadic.of(self.weights.parameters[name][chosen]) @ shift

    def _bias(self, name: str, rows: list[int]) -> Array | None:
        stored = self.weights.parameters.get(f"{name} bias")
        return None if stored is None else stored[rows]

    def norm_read_by(self, name: str) -> str:
        """The norm whose results a projection reads: "before" or that of a latent; empty if there is none."""
        spec = self.weights.spec
        if name in input_readers(spec):
            return "before"
        if name == "query" and spec.query_latent is not None:
            return "query latent"
        if name in ("key", "value") and spec.key_value_latent is not None:
            return "key/value latent"
        return ""

    def vector(self, name: str) -> Dyadic | None:
        """A vector of parameters as one column, with the 1 that stored scales lack; None if there is none."""
        array = self.weights.parameters.get(name)
        if array is None:
            return None
        exact = Dyadic.of(array)
        return exact + Dyadic.of(np.ones(len(array))) if name in self.weights.shifted else exact

    def norm_side(self, side: str, number: int) -> Dyadic:
        """What the norm of queries or keys makes of the normed vector n of a head or group: (Γ | β)."""
        spec = self.weights.spec
        assert spec.query_key_norm is not None
        size = spec.head_size
        start = 0 if spec.query_key_norm.scope is Scope.SHARED else number * size
        exact = Dyadic.of(np.eye(size))
        scale, shift = self.vector(f"{side} norm scale"), self.vector(f"{side} norm shift")
        if scale is not None:
            exact = exact.scaled_columns(scale.rows(start, start + size))
        constant = Dyadic.of(np.zeros(size)) if shift is None else shift.rows(start, start + size)
        return exact.beside(constant)

    def output(self, head: int) -> Dyadic:
        """W_O of a head, transposed (C×E)."""
        return Dyadic.of(self.weights.head(head).output).T

    def constant(self) -> Dyadic:
        """What outputs have besides weighted linear values, if rows sum to 1: Σ W_O b_V + b_O (b_O with
        sinks), one column."""
        spec = self.weights.spec
        stored = self.weights.parameters.get("output bias")
        total = Dyadic.of(np.zeros(spec.width) if stored is None else stored)
        if spec.sinks is not None:
            return total
        for head in range(spec.heads):
            group = head // spec.heads_per_group
            rows = range(group * spec.value_size, (group + 1) * spec.value_size)
            total = total + self.output(head).T @ self.constants("value", rows)
        return total
