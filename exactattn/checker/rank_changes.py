"""Sparse changes of a layer's learned numbers at its point: what symmetries are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate

from .check import dot
from .rank_algebra import kernel
from .rank_layer import Level, Rows

__all__ = ["Changes", "Tangent"]

Tangent = dict[int, int]


class Changes:
    """The point of a layer, where its numbers are, and changes of projections."""

    def __init__(self, layer: Level) -> None:
        self.layer, self.s, self.p, self.at = layer, layer.s, layer.p, layer.values
        starts = accumulate((r * c for r, c in layer.shapes.values()), initial=0)
        self.starts = dict(zip(layer.shapes, starts, strict=False))
        self.visible = self.s["sinks"] is not None or self.s["soft_cap"] is not None
        self.D, self.C, self.R = self.s["head_size"], self.s["value_size"], self.s["R"]
        self.each = self.s["query_heads"] // self.s["groups"]  # query projections a group

    def add(self, tangent: Tangent, array: str, row: int, column: int, x: int) -> None:
        at = self.starts[array] + row * self.layer.shapes[array][1] + column
        tangent[at] = (tangent.get(at, 0) + x) % self.p

    def vector(self, entries: Iterable[tuple[str, int, int, int]]) -> Tangent:
        tangent: Tangent = {}
        for array, row, column, x in entries:
            self.add(tangent, array, row, column, x)
        return tangent

    def heads(self, group: int) -> range:
        each = self.s["heads"] // self.s["groups"]
        return range(group * each, (group + 1) * each)

    def queries(self, group: int) -> range:
        return range(group * self.each, (group + 1) * self.each)

    def query_rows(self, head: int, first: int = 0, end: int | None = None) -> list[int]:
        return [head * self.D + d for d in range(first, self.D if end is None else end)]

    def key_rows(self, group: int, first: int = 0) -> list[int]:
        shared = self.s["shared"]
        return [group * (self.D - shared) + d - shared for d in range(max(first, shared), self.D)]

    def value_rows(self, group: int) -> list[int]:
        return list(range(group * self.C, (group + 1) * self.C))

    def inert_rows(self) -> list[int]:
        """Rows of keys at which a constant adds the same to a whole row of scores, which cancels."""
        if self.visible or self.s["query_key_norm"] or self.s["key"] == "query":
            return []
        return [row for g in range(self.s["groups"]) for row in self.key_rows(g, self.R)]

    def readers(self) -> list[str]:
        """The projections that read what the norm before makes."""
        s = self.s
        names = ["query down" if s["query_latent"] else "query"]
        if not s["cross"]:
            names += ["key/value down", "rotated key"] if s["key_value_latent"] else ["key", "value"]
        return [name for name in names if name in self.at]

    def columns(self, array: str, rows: Iterable[int], vector: list[int]) -> Iterator[Tangent]:
        """A vector added to these rows of one column of a projection, and of its bias."""
        rows = list(rows)
        for name in (array, f"{array} bias"):
            for column in range(self.layer.shapes[name][1]) if name in self.at else ():
                yield self.vector((name, row, column, x) for row, x in zip(rows, vector, strict=True))

    def seen(self, array: str, rows: list[int]) -> tuple[Rows, Rows]:
        """What rows of a projection make of the input: linear images of what can differ, and the constant."""
        before, X = self.s["norm_before"], [self.at[array][row] for row in rows]
        affine = f"{array} bias" in self.at
        constant = [self.at[f"{array} bias"][row][0] if affine else 0 for row in rows]
        columns = [list(column) for column in zip(*X, strict=True)]
        if before and array in self.readers():
            if before["shift"]:
                shift = [row[0] for row in self.at["before shift"]]
                constant = [(c + dot(row, shift)) % self.p for c, row in zip(constant, X, strict=True)]
                affine = True
            if before["kind"] == "layer":
                scales = (
                    [row[0] for row in self.at["before scale"]] if before["scale"] else [1] * len(columns)
                )
                scaled = [[x * c for x in column] for column, c in zip(columns, scales, strict=True)]
                columns = [[(x - y) % self.p for x, y in zip(c, scaled[0], strict=True)] for c in scaled[1:]]
        return columns, [constant] if affine else []

    def mean_row(self) -> tuple[list[int], int]:
        """1/scale, which a centred input does not see, and what it gives on the shift."""
        before, p = self.s["norm_before"], self.p
        weights = (
            [pow(row[0], -1, p) for row in self.at["before scale"]]
            if before["scale"]
            else [1] * self.s["width"]
        )
        shift = [row[0] for row in self.at["before shift"]] if before["shift"] else [0] * len(weights)
        return weights, dot(weights, shift) % p

    def constant(self, array: str, rows: list[int], vector: list[int]) -> Iterator[Tangent]:
        """A change of a projection that adds a constant vector to what it makes, if there is one."""
        if f"{array} bias" in self.at:
            yield self.vector((f"{array} bias", row, 0, x) for row, x in zip(rows, vector, strict=True))
        elif self.s["norm_before"] and self.s["norm_before"]["shift"] and array in self.readers():
            weights, mean = self.mean_row()
            part = pow(mean, -1, self.p)
            entries = [(row, x * part) for row, x in zip(rows, vector, strict=True)]
            yield self.vector((array, row, j, x * y) for row, x in entries for j, y in enumerate(weights))

    def orthogonal(self, columns: Rows, length: int) -> Rows:
        return kernel(columns, length, self.p) if length > len(columns) else []
