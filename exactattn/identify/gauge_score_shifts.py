"""Shifts that no score, or no softmax of scores, sees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from exactattn.identify.features import NormKind, Scope, Sinks, Tie
from exactattn.identify.gauge import Tangent
from exactattn.identify.gauge_changes import Changes, dot

__all__ = ["ScoreShifts"]


class ScoreGroup(NamedTuple):
    """Rows of a group's keys with what they make of inputs, its heads, and the same for their queries."""

    keys: tuple[int, ...]
    key_images: list[Any]
    key_constant: list[Any]
    heads: list[int]
    queries: list[tuple[int, ...]]
    query_parts: list[tuple[list[Any], list[Any]]]


class ScoreShifts(Changes):
    """Changes of queries, keys, their norms, sinks and relative biases."""

    def inert_key_bias(self) -> Iterator[Tangent]:
        if "key bias" in self.at and Tie.KEY_VALUE not in self.spec.ties:
            for row in self.inert_rows():
                yield {"key bias": {(row,): self.one}}

    def norm_shifts(self) -> Iterator[Tangent]:
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

    def query_key_means(self) -> Iterator[Tangent]:
        """The same vector added to every row of what a mean-subtracting norm sees."""
        spec = self.spec
        if spec.query_key_norm is None or spec.query_key_norm.norm.kind is not NormKind.LAYER:
            return
        wide = spec.query_key_norm.scope is Scope.WIDTH
        for array, heads in (("query", self.places.query_heads), ("key", spec.groups)):
            size = spec.head_size * (heads if wide else 1)
            for start in range(0, heads * spec.head_size, size):
                yield from self.columns(array, range(start, start + size))

    def score_groups(self) -> Iterator[ScoreGroup]:
        """The unrotated parts of queries and keys of each group, where bases may be changed freely."""
        spec, places = self.spec, self.places
        if spec.query_key_norm is not None or Tie.QUERY_KEY in spec.ties or not spec.unrotated:
            return
        dimensions = range(spec.rotated, spec.head_size)
        for group in range(spec.groups):
            keys = places.key_rows(group, dimensions)
            heads = places.queries_of(group)
            queries = [places.query_rows(head, dimensions) for head in heads]
            seen = [self.seen("query", rows) for rows in queries]
            yield ScoreGroup(keys, *self.seen("key", keys), heads, queries, seen)

    def outside_queries(self) -> Iterator[Tangent]:
        """Query directions orthogonal to all keys of a group."""
        for each in self.score_groups():
            columns = each.key_images + (each.key_constant if self.visible else [])
            for vector in self.orthogonal(columns, len(each.keys)):
                for rows in each.queries:
                    yield from self.columns("query", rows, vector)

    def outside_keys(self) -> Iterator[Tangent]:
        """Key directions orthogonal to all queries of a group."""
        for each in self.score_groups():
            columns = [column for part in each.query_parts for column in part[0] + part[1]]
            for vector in self.orthogonal(columns, len(each.keys)):
                yield from self.columns("key", each.keys, vector)

    def score_constants_by_queries(self) -> Iterator[Tangent]:
        """b_Q·b_K changed through b_Q, against the sink or the relative bias of a head."""
        for each in self.score_groups() if self.constants_move else ():
            for head, rows in zip(each.heads, each.queries, strict=True):
                for vector in self.orthogonal(each.key_images, len(rows)) if each.key_constant else ():
                    for change in self.constant("query", rows, vector):
                        yield self.against(change, {head: dot(vector, each.key_constant[0])})

    def score_constants_by_keys(self) -> Iterator[Tangent]:
        """The same through b_K."""
        for each in self.score_groups() if self.constants_move else ():
            constants = [part[1] for part in each.query_parts]
            if all(constants):
                linear = [column for part in each.query_parts for column in part[0]]
                for vector in self.orthogonal(linear, len(each.keys)):
                    added = zip(each.heads, (dot(vector, constant[0]) for constant in constants), strict=True)
                    for change in self.constant("key", each.keys, vector):
                        yield self.against(change, dict(added))

    @property
    def constants_move(self) -> bool:
        """Whether a sink or a relative bias makes up for constants in scores, which are seen."""
        spec = self.spec
        movable = spec.sinks is Sinks.LEARNED or (spec.sinks is Sinks.ONE and spec.relative_bias is not None)
        return movable and spec.soft_cap is None and not spec.ties

    def against(self, change: Tangent, added: dict[int, Any]) -> Tangent:
        """The change together with what makes up for constants added to the scores of heads."""
        if "sinks" in self.at:
            return {**change, "sinks": {(h,): x for h, x in added.items()}}
        assert self.spec.relative_bias is not None
        buckets = range(self.spec.relative_bias.buckets)
        return {**change, "relative bias": {(h, b): -x for h, x in added.items() for b in buckets}}

    def relative_bias(self) -> Iterator[Tangent]:
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
