"""The symmetries that add something: biases nobody sees, means that a norm subtracts, directions no other
projection has (theory, section 8).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq

from exactattn.identify.features import NormKind, Scope, Sinks, Tie
from exactattn.identify.gauge import ShiftSymmetry, Tangent, TangentsOnly
from exactattn.identify.gauge_around import input_readers
from exactattn.identify.gauge_heads import Places
from exactattn.identify.kernel import kernel_basis
from exactattn.identify.parameters import Array, Parameters
from exactattn.identify.spec import AttentionSpec

__all__ = ["AgainstMean", "shift_symmetries"]


@dataclass(frozen=True)
class AgainstMean:
    """Shifts β of a layer norm before the layer, undone in the direction of the mean.

    β + v with every W that reads it replaced by W(1 − v (1/γ)^T / (κ + v·(1/γ))), κ = Σ β_i/γ_i: on n with
    Σ n_i = 0 both give W(γ n + β).
    """

    readers: tuple[str, ...]
    name: str = "shifts of the norm before"

    def tangents(self, parameters: Parameters) -> Iterator[Tangent]:
        """One a coordinate of β."""
        inverses = 1 / parameters["before scale"]
        mean = (parameters["before shift"] * inverses).sum()
        for i in range(len(inverses)):
            tangent: Tangent = {"before shift": {(i,): parameters["before shift"][i] ** 0}}
            for array in self.readers:
                into = tangent.setdefault(array, {})
                for row, x in enumerate(parameters[array][:, i]):
                    for j, y in enumerate(inverses):
                        into[row, j] = -x / mean * y
            yield tangent

    def transformed(
        self, parameters: Parameters, source: random.Random, number: Callable[[fmpq], Any]
    ) -> Parameters:
        """The parameters moved by a random v."""
        moved = dict(parameters)
        inverses = 1 / parameters["before scale"]
        shift = np.array([number(fmpq(source.randint(1, 9), 7)) for _ in inverses], dtype=object)
        mean = ((parameters["before shift"] + shift) * inverses).sum()
        moved["before shift"] = parameters["before shift"] + shift
        for array in self.readers:
            images = parameters[array] @ shift / mean
            moved[array] = parameters[array] - images[:, None] * inverses[None, :]
        return moved


def shift_symmetries(
    spec: AttentionSpec, parameters: Parameters
) -> Iterator[ShiftSymmetry | TangentsOnly | AgainstMean]:
    """All of them at a point, in a fixed order; parts that are empty are left out."""
    shifts = _Shifts(spec, parameters)
    for name, vectors in shifts.all():
        found = tuple(vectors)
        # values and outputs that change together add a product of both changes
        together = any("output" in v for v in found) and any("output" not in v or len(v) > 1 for v in found)
        if found and name == "constants of the output" and together:
            yield TangentsOnly(name, found)
        elif found:
            yield ShiftSymmetry(name, found)
    if spec.norm_before is not None and spec.norm_before.shift:
        yield AgainstMean(tuple(input_readers(spec)))


class _ScoreGroup(NamedTuple):
    """Rows of a group's keys with what they make of inputs, its heads, and the same for their queries."""

    keys: tuple[int, ...]
    key_images: list[Any]
    key_constant: list[Any]
    heads: list[int]
    queries: list[tuple[int, ...]]
    query_parts: list[tuple[list[Any], list[Any]]]


@dataclass(frozen=True)
class _Shifts:
    spec: AttentionSpec
    at: Parameters

    @cached_property
    def places(self) -> Places:
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

    def all(self) -> Iterator[tuple[str, Iterator[Tangent]]]:
        """Name and vectors of each."""
        yield "key bias", self._inert_key_bias()
        yield "shifts of query and key norms", self._norm_shifts()
        yield "mean of queries and keys", self._query_key_means()
        yield "queries outside the keys", self._outside_queries()
        yield "keys outside the queries", self._outside_keys()
        yield "constants of scores by queries", self._score_constants_by_queries()
        yield "constants of scores by keys", self._score_constants_by_keys()
        yield "values outside the outputs", self._outside_values()
        yield "outputs outside the values", self._outside_outputs()
        yield "heads with equal patterns", self._equal_patterns()
        yield "mean behind the norm before", self._means_before()
        yield "constants of the output", self._output_constants()
        yield "relative bias", self._relative_bias()
        yield "mean in front of the norm after", self._means_after()

    # ---- scores ----

    def _inert_rows(self) -> list[int]:
        """Rows of the keys at which a constant adds the same to a whole row of scores."""
        spec = self.spec
        if self.visible or spec.query_key_norm is not None or Tie.QUERY_KEY in spec.ties:
            return []
        unrotated = range(spec.rotated, spec.head_size)
        return [row for g in range(spec.groups) for row in self.places.key_rows(g, unrotated)]

    def _inert_key_bias(self) -> Iterator[Tangent]:
        if "key bias" in self.at and Tie.KEY_VALUE not in self.spec.ties:
            for row in self._inert_rows():
                yield {"key bias": {(row,): self.one}}

    def _norm_shifts(self) -> Iterator[Tangent]:
        """Key shifts are constants of unrotated keys; query shifts along 1/γ_k meet centred keys only."""
        spec = self.spec
        if spec.query_key_norm is None or not spec.query_key_norm.norm.shift:
            return
        size, shared = spec.head_size, spec.query_key_norm.scope is Scope.SHARED
        for group in range(1 if shared else spec.groups):
            for d in range(spec.rotated, size) if not self.visible else ():
                yield {"key norm shift": {(group * size + d,): self.one}}
            for head in [0] if shared else self.places.queries_of(group):
                if not spec.rotated:
                    inverses = 1 / self.at["key norm scale"][group * size : (group + 1) * size]
                    yield {"query norm shift": {(head * size + d,): x for d, x in enumerate(inverses)}}

    def _query_key_means(self) -> Iterator[Tangent]:
        """The same vector added to every row of what a mean-subtracting norm sees."""
        spec = self.spec
        if spec.query_key_norm is None or spec.query_key_norm.norm.kind is not NormKind.LAYER:
            return
        wide = spec.query_key_norm.scope is Scope.WIDTH
        for array, heads in (("query", self.places.query_heads), ("key", spec.groups)):
            size = spec.head_size * (heads if wide else 1)
            for start in range(0, heads * spec.head_size, size):
                yield from self._columns(array, range(start, start + size))

    def _columns(
        self, array: str, rows: Sequence[int], vector: Sequence[Any] | None = None
    ) -> Iterator[Tangent]:
        """``vector`` (or ones) added to these rows of one column of a projection, and to its bias."""
        entries = [self.one] * len(rows) if vector is None else vector
        for column in range(self.at[array].shape[1]):
            yield {array: {(row, column): x for row, x in zip(rows, entries, strict=True)}}
        if f"{array} bias" in self.at:
            yield {f"{array} bias": {(row,): x for row, x in zip(rows, entries, strict=True)}}

    def _seen(self, array: str, rows: Sequence[int]) -> tuple[list[Any], list[Any]]:
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

    def _score_groups(self) -> Iterator[_ScoreGroup]:
        """The unrotated parts of queries and keys of each group, where bases may be changed freely."""
        spec, places = self.spec, self.places
        if spec.query_key_norm is not None or Tie.QUERY_KEY in spec.ties or not spec.unrotated:
            return
        dimensions = range(spec.rotated, spec.head_size)
        for group in range(spec.groups):
            keys = places.key_rows(group, dimensions)
            heads = places.queries_of(group)
            queries = [places.query_rows(head, dimensions) for head in heads]
            seen = [self._seen("query", rows) for rows in queries]
            yield _ScoreGroup(keys, *self._seen("key", keys), heads, queries, seen)

    def _outside_queries(self) -> Iterator[Tangent]:
        """Query directions orthogonal to all keys of a group."""
        for each in self._score_groups():
            columns = each.key_images + (each.key_constant if self.visible else [])
            for vector in self._orthogonal(columns, len(each.keys)):
                for rows in each.queries:
                    yield from self._columns("query", rows, vector)

    def _outside_keys(self) -> Iterator[Tangent]:
        """Key directions orthogonal to all queries of a group."""
        for each in self._score_groups():
            columns = [column for part in each.query_parts for column in part[0] + part[1]]
            for vector in self._orthogonal(columns, len(each.keys)):
                yield from self._columns("key", each.keys, vector)

    def _score_constants_by_queries(self) -> Iterator[Tangent]:
        """b_Q·b_K changed through b_Q, against the sink or the relative bias of a head."""
        for each in self._score_groups() if self._constants_move else ():
            for head, rows in zip(each.heads, each.queries, strict=True):
                for vector in self._orthogonal(each.key_images, len(rows)) if each.key_constant else ():
                    for change in self._constant("query", rows, vector):
                        yield self._against(change, {head: _dot(vector, each.key_constant[0])})

    def _score_constants_by_keys(self) -> Iterator[Tangent]:
        """The same through b_K."""
        for each in self._score_groups() if self._constants_move else ():
            constants = [part[1] for part in each.query_parts]
            if all(constants):
                linear = [column for part in each.query_parts for column in part[0]]
                for vector in self._orthogonal(linear, len(each.keys)):
                    added = zip(
                        each.heads, (_dot(vector, constant[0]) for constant in constants), strict=True
                    )
                    for change in self._constant("key", each.keys, vector):
                        yield self._against(change, dict(added))

    @property
    def _constants_move(self) -> bool:
        """Whether a sink or a relative bias makes up for constants in scores, which are seen."""
        spec = self.spec
        movable = spec.sinks is Sinks.LEARNED or (spec.sinks is Sinks.ONE and spec.relative_bias is not None)
        return movable and spec.soft_cap is None and not spec.ties

    def _constant(self, array: str, rows: Sequence[int], vector: Sequence[Any]) -> Iterator[Tangent]:
        """A change of a projection that adds a constant vector to what it makes, if one exists."""
        if f"{array} bias" in self.at:
            yield {f"{array} bias": {(row,): x for row, x in zip(rows, vector, strict=True)}}
        elif "before shift" in self.at and array in input_readers(self.spec):
            weights, mean = self._mean_row()
            yield {
                array: {
                    (row, j): x / mean * y
                    for row, x in zip(rows, vector, strict=True)
                    for j, y in enumerate(weights)
                }
            }

    def _against(self, change: Tangent, added: dict[int, Any]) -> Tangent:
        """The change together with what makes up for constants added to the scores of heads."""
        if "sinks" in self.at:
            return {**change, "sinks": {(h,): x for h, x in added.items()}}
        assert self.spec.relative_bias is not None
        buckets = range(self.spec.relative_bias.buckets)
        return {**change, "relative bias": {(h, b): -x for h, x in added.items() for b in buckets}}

    def _orthogonal(self, columns: list[Any], size: int) -> list[list[Any]]:
        """Vectors orthogonal to all columns, which must be independent: then their number is generic."""
        if size <= len(columns):
            return []
        return kernel_basis([list(column) for column in columns], size, self.one)

    def _relative_bias(self) -> Iterator[Tangent]:
        spec = self.spec
        if spec.relative_bias is None:
            return
        buckets = range(spec.relative_bias.buckets)
        dead = set(buckets) - spec.relative_bias.reached(causal=spec.causal)
        for h in range(spec.heads):
            tangent: Tangent = {"relative bias": {(h, b): self.one for b in buckets}}
            if spec.sinks is Sinks.LEARNED:
                tangent["sinks"] = {(h,): self.one}
            if spec.sinks is not Sinks.ONE:
                yield tangent
            for b in sorted(dead):
                yield {"relative bias": {(h, b): self.one}}

    # ---- values and outputs ----

    def _output_parts(self, group: int) -> list[Array]:
        """What reads a group: W_O of each head, or their sum where patterns are equal."""
        parts = [
            self.at["output"][:, list(self.places.output_columns(h))] for h in self.places.heads_of(group)
        ]
        return [sum(parts[1:], parts[0])] if Tie.QUERY_HEADS in self.spec.ties else parts

    def _outside_values(self) -> Iterator[Tangent]:
        """Changes of values that no output reads."""
        spec = self.spec
        if Tie.KEY_VALUE in spec.ties:
            return
        centred = spec.norm_after is not None and spec.norm_after.kind is NormKind.LAYER
        for group in range(spec.groups):
            rows = self.places.value_rows(group)
            readers = [
                row
                for part in self._output_parts(group)
                for row in (part[1:] - part[:1] if centred else part)
            ]
            for vector in self._orthogonal(readers, len(rows)):
                yield from self._columns("value", rows, vector)

    def _unread_columns(self) -> Iterator[tuple[Tangent, dict[int, Any]]]:
        """Changes of W_O orthogonal to all values but for a constant, with what they add to the output."""
        spec = self.spec
        if Tie.KEY_VALUE in spec.ties:
            return
        for group in range(spec.groups):
            rows = self.places.value_rows(group)
            values, constant = self._seen("value", rows)
            for vector in self._orthogonal(values + (constant if self.open_rows else []), len(rows)):
                added = _dot(vector, constant[0]) if constant else None
                for head in self.places.heads_of(group):
                    columns = self.places.output_columns(head)
                    for e in range(spec.width):
                        change: Tangent = {
                            "output": {(e, c): x for c, x in zip(columns, vector, strict=True)}
                        }
                        yield change, {} if added is None or self.open_rows else {e: added}

    def _value_constants(self) -> Iterator[tuple[Tangent, dict[int, Any]]]:
        """Changes that add a constant to values, with what they add to the output (rows that sum to 1)."""
        spec, tied = self.spec, Tie.KEY_VALUE in self.spec.ties
        if self.open_rows or (tied and Tie.QUERY_KEY in spec.ties):
            return
        array = self.places.value_array
        for group in range(spec.groups):
            total = sum(self._output_parts(group)[1:], self._output_parts(group)[0])
            first = spec.rotated if tied else 0
            for d in range(first, spec.value_size):
                row = self.places.value_rows(group)[d]
                for change in self._constant(array, [row], [self.one]):
                    yield change, dict(enumerate(total[:, d]))

    def _outside_outputs(self) -> Iterator[Tangent]:
        """Changes of W_O orthogonal to all values, but for a constant that the output bias takes."""
        for change, added in self._unread_columns():
            if not added or self.spec.output_bias:
                yield self._taken(change, added)

    def _taken(self, change: Tangent, added: dict[int, Any]) -> Tangent:
        """The change, and what it adds to the output taken from the output bias."""
        return {**change, "output bias": {(e,): -x for e, x in added.items()}} if added else change

    def _output_constants(self) -> Iterator[Tangent]:
        """Constants of values taken from the output bias; without one, combinations that add nothing."""
        if self.spec.output_bias:
            yield from (self._taken(change, added) for change, added in self._value_constants())
            return
        unread = [(change, added) for change, added in self._unread_columns() if added]
        moving = [*unread, *self._value_constants()]
        zero = self.one - self.one
        rows = [[added.get(e, zero) for _, added in moving] for e in range(self.spec.width)]
        if self.spec.norm_after is not None and self.spec.norm_after.kind is NormKind.LAYER:
            rows = [[x - y for x, y in zip(row, rows[0], strict=True)] for row in rows[1:]]
        for vector in kernel_basis(rows, len(moving), self.one) if moving else []:
            yield _combined([(x, change) for x, (change, _) in zip(vector, moving, strict=True)])

    def _equal_patterns(self) -> Iterator[Tangent]:
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

    # ---- norms around the layer ----

    def _mean_row(self) -> tuple[list[Any], Any]:
        """1/γ, which a centred input does not see, and what it gives on the shift (0 without shift)."""
        scale, shift = self.at.get("before scale"), self.at.get("before shift")
        weights = [self.one] * self.spec.width if scale is None else list(1 / scale)
        if shift is None:
            return weights, self.one - self.one
        return weights, sum(x * y for x, y in zip(weights, shift, strict=True))

    def _means_before(self) -> Iterator[Tangent]:
        """Rows of projections along 1/γ; a constant they make is taken from the bias, or inert."""
        spec = self.spec
        if spec.norm_before is None or spec.norm_before.kind is not NormKind.LAYER:
            return
        weights, mean = self._mean_row()
        inert = set(self._inert_rows())
        for array in input_readers(spec):
            bias = f"{array} bias"
            for row in range(self.at[array].shape[0]):
                tangent: Tangent = {array: {(row, j): x for j, x in enumerate(weights)}}
                if bias in self.at and spec.norm_before.shift:
                    tangent[bias] = {(row,): -mean}
                if bias in self.at or not spec.norm_before.shift or (array == "key" and row in inert):
                    yield tangent

    def _means_after(self) -> Iterator[Tangent]:
        """The same number added to a column of W_O, or to b_O."""
        spec = self.spec
        if spec.norm_after is not None and spec.norm_after.kind is NormKind.LAYER:
            yield from self._columns("output", range(spec.width))


def _dot(x: Sequence[Any], y: Sequence[Any]) -> Any:
    return sum(a * b for a, b in zip(x, y, strict=True))


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
