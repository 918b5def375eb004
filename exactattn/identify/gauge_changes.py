"""What the symmetries that add something are made of: places, images of inputs, constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from exactattn.identify.features import NormKind, Tie
from exactattn.identify.gauge import Tangent
from exactattn.identify.gauge_around import input_readers
from exactattn.identify.gauge_heads import Places
from exactattn.identify.kernel import kernel_basis
from exactattn.identify.parameters import Parameters
from exactattn.identify.spec import AttentionSpec

__all__ = ["Changes", "dot"]


@dataclass(frozen=True)
class Changes:
    """A layer at a point, and sparse changes of its projections."""

    spec: AttentionSpec
    at: Parameters

    @cached_property
    def places(self) -> Places:
        """Where the numbers of heads are."""
        return Places(self.spec)

    @cached_property
    def one(self) -> Any:
        """The number 1 of the parameters."""
        return self.at["output"].flat[0] ** 0

    @property
    def visible(self) -> bool:
        """Whether a constant added to a row of scores changes the output."""
        return self.spec.sinks is not None or self.spec.soft_cap is not None

    @property
    def open_rows(self) -> bool:
        """Whether rows of weights sum to something else than 1."""
        return self.spec.sinks is not None

    def inert_rows(self) -> list[int]:
        """Rows of the keys at which a constant adds the same to a whole row of scores."""
        spec = self.spec
        if self.visible or spec.query_key_norm is not None or Tie.QUERY_KEY in spec.ties:
            return []
        unrotated = range(spec.rotated, spec.head_size)
        return [row for g in range(spec.groups) for row in self.places.key_rows(g, unrotated)]

    def columns(
        self, array: str, rows: Sequence[int], vector: Sequence[Any] | None = None
    ) -> Iterator[Tangent]:
        """``vector`` (or ones) added to these rows of one column of a projection, and to its bias."""
        entries = [self.one] * len(rows) if vector is None else vector
        for column in range(self.at[array].shape[1]):
            yield {array: {(row, column): x for row, x in zip(rows, entries, strict=True)}}
        if f"{array} bias" in self.at:
            yield {f"{array} bias": {(row,): x for row, x in zip(rows, entries, strict=True)}}

    def seen(self, array: str, rows: Sequence[int]) -> tuple[list[Any], list[Any]]:
        """What rows of a projection make of the input: linear images of what can differ, and the constant."""
        x, spec = self.at[array][list(rows)], self.spec
        constant = np.array([self.one - self.one] * len(rows), dtype=object)
        affine = f"{array} bias" in self.at
        if affine:
            constant = constant + self.at[f"{array} bias"][list(rows)]
        columns = list(x.T)
        if spec.norm_before is not None and array in input_readers(spec):
            if "before shift" in self.at:
                affine, constant = True, constant + x @ self.at["before shift"]
            if spec.norm_before.kind is NormKind.LAYER:
                scaled = x if "before scale" not in self.at else x * self.at["before scale"][None, :]
                columns = [scaled[:, j] - scaled[:, 0] for j in range(1, x.shape[1])]
        return columns, [constant] if affine else []

    def constant(self, array: str, rows: Sequence[int], vector: Sequence[Any]) -> Iterator[Tangent]:
        """A change of a projection that adds a constant vector to what it makes, if one exists."""
        if f"{array} bias" in self.at:
            yield {f"{array} bias": {(row,): x for row, x in zip(rows, vector, strict=True)}}
        elif "before shift" in self.at and array in input_readers(self.spec):
            weights, mean = self.mean_row()
            yield {
                array: {
                    (row, j): x / mean * y
                    for row, x in zip(rows, vector, strict=True)
                    for j, y in enumerate(weights)
                }
            }

    def mean_row(self) -> tuple[list[Any], Any]:
        """1/γ, which a centred input does not see, and what it gives on the shift (0 without shift)."""
        scale, shift = self.at.get("before scale"), self.at.get("before shift")
        weights = [self.one] * self.spec.width if scale is None else list(1 / scale)
        if shift is None:
            return weights, self.one - self.one
        return weights, sum(x * y for x, y in zip(weights, shift, strict=True))

    def orthogonal(self, columns: list[Any], size: int) -> list[list[Any]]:
        """Vectors orthogonal to all columns, which must be independent: then their number is generic."""
        if size <= len(columns):
            return []
        return kernel_basis([list(column) for column in columns], size, self.one)


def dot(x: Sequence[Any], y: Sequence[Any]) -> Any:
    return sum(a * b for a, b in zip(x, y, strict=True))
