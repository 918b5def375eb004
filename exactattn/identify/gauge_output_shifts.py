"""Shifts of values and outputs that no output sees, and those that norms around the layer hide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from exactattn.identify.features import NormKind, Sinks, Tie
from exactattn.identify.gauge import Tangent
from exactattn.identify.gauge_around import input_readers
from exactattn.identify.gauge_changes import Changes, dot
from exactattn.identify.kernel import kernel_basis
from exactattn.identify.parameters import Array

__all__ = ["OutputShifts"]


class OutputShifts(Changes):
    """Changes of values, W_O and biases, and of projections along the mean that a norm subtracts."""

    def output_parts(self, group: int) -> list[Array]:
        """What reads a group: W_O of each head, or their sum where patterns are equal."""
        parts = [
            self.at["output"][:, list(self.places.output_columns(h))] for h in self.places.heads_of(group)
        ]
        return [sum(parts[1:], parts[0])] if Tie.QUERY_HEADS in self.spec.ties else parts

    def outside_values(self) -> Iterator[Tangent]:
        """Changes of values that no output reads."""
        spec = self.spec
        if Tie.KEY_VALUE in spec.ties:
            return
        centred = spec.norm_after is not None and spec.norm_after.kind is NormKind.LAYER
        for group in range(spec.groups):
            rows = self.places.value_rows(group)
            readers = [
                row for part in self.output_parts(group) for row in (part[1:] - part[:1] if centred else part)
            ]
            for vector in self.orthogonal(readers, len(rows)):
                yield from self.columns("value", rows, vector)

    def unread_columns(self) -> Iterator[tuple[Tangent, dict[int, Any]]]:
        """Changes of W_O orthogonal to all values but for a constant, with what they add to the output."""
        spec = self.spec
        if Tie.KEY_VALUE in spec.ties:
            return
        for group in range(spec.groups):
            rows = self.places.value_rows(group)
            values, constant = self.seen("value", rows)
            for vector in self.orthogonal(values + (constant if self.open_rows else []), len(rows)):
                added = dot(vector, constant[0]) if constant else None
                for head in self.places.heads_of(group):
                    columns = self.places.output_columns(head)
                    for e in range(spec.width):
                        change: Tangent = {
                            "output": {(e, c): x for c, x in zip(columns, vector, strict=True)}
                        }
                        yield change, {} if added is None or self.open_rows else {e: added}

    def value_constants(self) -> Iterator[tuple[Tangent, dict[int, Any]]]:
        """Changes that add a constant to values, with what they add to the output (rows that sum to 1)."""
        spec, tied = self.spec, Tie.KEY_VALUE in self.spec.ties
        if self.open_rows or (tied and Tie.QUERY_KEY in spec.ties):
            return
        array = self.places.value_array
        for group in range(spec.groups):
            total = sum(self.output_parts(group)[1:], self.output_parts(group)[0])
            first = spec.rotated if tied else 0
            for d in range(first, spec.value_size):
                row = self.places.value_rows(group)[d]
                for change in self.constant(array, [row], [self.one]):
                    yield change, dict(enumerate(total[:, d]))

    def outside_outputs(self) -> Iterator[Tangent]:
        """Changes of W_O orthogonal to all values, but for a constant that the output bias takes."""
        for change, added in self.unread_columns():
            if not added or self.spec.output_bias:
                yield self.taken(change, added)

    def taken(self, change: Tangent, added: dict[int, Any]) -> Tangent:
        """The change, and what it adds to the output taken from the output bias."""
        return {**change, "output bias": {(e,): -x for e, x in added.items()}} if added else change

    def output_constants(self) -> Iterator[Tangent]:
        """Constants of values taken from the output bias; without one, combinations that add nothing."""
        if self.spec.output_bias:
            yield from (self.taken(change, added) for change, added in self.value_constants())
            return
        unread = [(change, added) for change, added in self.unread_columns() if added]
        moving = [*unread, *self.value_constants()]
        zero = self.one - self.one
        rows = [[added.get(e, zero) for _, added in moving] for e in range(self.spec.width)]
        if self.spec.norm_after is not None and self.spec.norm_after.kind is NormKind.LAYER:
            rows = [[x - y for x, y in zip(row, rows[0], strict=True)] for row in rows[1:]]
        for vector in kernel_basis(rows, len(moving), self.one) if moving else []:
            yield _combined([(x, change) for x, (change, _) in zip(vector, moving, strict=True)])

    def equal_patterns(self) -> Iterator[Tangent]:
        spec = self.spec
        apart = spec.alibi or spec.relative_bias is not None or spec.sinks is Sinks.LEARNED
        if Tie.QUERY_HEADS not in spec.ties or apart:
            return
        for group in range(self.spec.groups):
            first, *others = self.places.heads_of(group)
            for head in others:
                pairs = zip(self.places.output_columns(first), self.places.output_columns(head), strict=True)
                for a, b in pairs:
                    for e in range(self.spec.width):
                        yield {"output": {(e, a): -self.one, (e, b): self.one}}

    def means_before(self) -> Iterator[Tangent]:
        """Rows of projections along 1/γ; a constant they make is taken from the bias, or inert."""
        spec = self.spec
        if spec.norm_before is None or spec.norm_before.kind is not NormKind.LAYER:
            return
        weights, mean = self.mean_row()
        inert = set(self.inert_rows())
        for array in input_readers(spec):
            bias = f"{array} bias"
            for row in range(self.at[array].shape[0]):
                tangent: Tangent = {array: {(row, j): x for j, x in enumerate(weights)}}
                if bias in self.at and spec.norm_before.shift:
                    tangent[bias] = {(row,): -mean}
                if bias in self.at or not spec.norm_before.shift or (array == "key" and row in inert):
                    yield tangent

    def means_after(self) -> Iterator[Tangent]:
        """The same number added to a column of W_O, or to b_O."""
        spec = self.spec
        if spec.norm_after is not None and spec.norm_after.kind is NormKind.LAYER:
            yield from self.columns("output", range(spec.width))


def _combined(terms: Sequence[tuple[Any, Tangent]]) -> Tangent:
    """A linear combination of sparse vectors."""
    result: Tangent = {}
    for factor, vector in terms:
        if factor == 0:
            continue
        for name, entries in vector.items():
            into = result.setdefault(name, {})
            for index, x in entries.items():
                into[index] = into[index] + factor * x if index in into else factor * x
    return result
