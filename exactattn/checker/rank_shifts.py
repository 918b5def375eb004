"""Symmetries that add something: biases nobody sees, subtracted means, directions nothing meets."""

from __future__ import annotations

from collections.abc import Iterator

from .check import dot
from .rank_algebra import kernel
from .rank_changes import Changes, Tangent
from .rank_layer import Rows
from .rank_spec import bucket

__all__ = ["Shifts"]


class Shifts(Changes):
    """Changes of biases, norms, sinks, relative biases, and of projections along what nothing sees."""

    def key_bias(self) -> Iterator[Tangent]:
        if "key bias" in self.at and self.s["value"] == "value":
            yield from (self.vector([("key bias", row, 0, 1)]) for row in self.inert_rows())

    def norm_shifts(self) -> Iterator[Tangent]:
        """Shifts of unrotated keys are constants; shifts of queries along 1/scale meet centred keys only."""
        norm, D = self.s["query_key_norm"], self.D
        if not norm or not norm["shift"]:
            return
        shared = norm["scope"] == "shared"
        for g in range(1 if shared else self.s["groups"]):
            for d in range(self.R, D) if not self.visible else ():
                yield self.vector([("key norm shift", g * D + d, 0, 1)])
            for h in ([0] if shared else self.queries(g)) if not self.R else ():
                inverses = [pow(row[0], -1, self.p) for row in self.at["key norm scale"][g * D : (g + 1) * D]]
                yield self.vector(("query norm shift", h * D + d, 0, x) for d, x in enumerate(inverses))

    def query_key_means(self) -> Iterator[Tangent]:
        norm = self.s["query_key_norm"]
        if norm and norm["kind"] == "layer":
            for array, heads in (("query", self.s["query_heads"]), ("key", self.s["groups"])):
                length = self.D * (heads if norm["scope"] == "width" else 1)
                for start in range(0, heads * self.D, length):
                    yield from self.columns(array, range(start, start + length), [1] * length)

    def score_groups(self) -> Iterator[tuple[int, list[int], list[list[int]]]]:
        """The rows of the unrotated keys of each group, and of its queries, where bases may change freely."""
        first = max(self.R, self.s["shared"])
        if self.s["query_key_norm"] or self.s["key"] == "query" or first == self.D:
            return
        for g in range(self.s["groups"]):
            yield g, self.key_rows(g, first), [self.query_rows(h, first) for h in self.queries(g)]

    def outside_queries(self) -> Iterator[Tangent]:
        """Query directions that no key of the group has."""
        for _, rows, heads in self.score_groups():
            keys, constant = self.seen("key", rows)
            for vector in self.orthogonal(keys + (constant if self.visible else []), len(rows)):
                for head in heads:
                    yield from self.columns("query", head, vector)

    def outside_keys(self) -> Iterator[Tangent]:
        """Key directions that no query of the group has."""
        for _, rows, heads in self.score_groups():
            parts = [self.seen("query", head) for head in heads]
            for vector in self.orthogonal([c for linear, fixed in parts for c in linear + fixed], len(rows)):
                yield from self.columns("key", rows, vector)

    def score_constants_by_queries(self) -> Iterator[Tangent]:
        """The constant b_Q.b_K of a head changed through b_Q, against its sink or its relative bias."""
        for g, rows, heads in self.score_groups() if self.constants_move() else ():
            keys, constant = self.seen("key", rows)
            for h, head in zip(self.queries(g), heads, strict=True):
                for vector in self.orthogonal(keys, len(rows)) if constant else ():
                    for change in self.constant("query", head, vector):
                        yield self.against(change, {h: dot(vector, constant[0])})

    def score_constants_by_keys(self) -> Iterator[Tangent]:
        """The same through b_K."""
        for g, rows, heads in self.score_groups() if self.constants_move() else ():
            parts = [self.seen("query", head) for head in heads]
            if all(fixed for _, fixed in parts):
                for vector in self.orthogonal([c for linear, _ in parts for c in linear], len(rows)):
                    added = [dot(vector, fixed[0]) for _, fixed in parts]
                    for change in self.constant("key", rows, vector):
                        yield self.against(change, dict(zip(self.queries(g), added, strict=True)))

    def constants_move(self) -> bool:
        """Whether a sink or a relative bias makes up for constants in scores, which are seen."""
        s = self.s
        movable = s["sinks"] == "learned" or (s["sinks"] == "one" and s["relative_bias"])
        return bool(movable and s["soft_cap"] is None and not s["ties"])

    def against(self, change: Tangent, added: dict[int, int]) -> Tangent:
        """The change with what makes up for constants added to the scores of heads."""
        if "sinks" in self.at:
            return change | self.vector(("sinks", h, 0, x) for h, x in added.items())
        buckets = range(self.s["relative_bias"]["buckets"])
        return change | self.vector(("relative bias", h, b, -x) for h, x in added.items() for b in buckets)

    def relative_bias(self) -> Iterator[Tangent]:
        """One constant a head (with its sink), and buckets that no two positions reach."""
        table = self.s["relative_bias"]
        if not table:
            return
        past = range(-table["distance"], 1 if self.s["causal"] else table["distance"] + 1)
        reached = {bucket(table, t) for t in past}
        for h in range(self.s["heads"]):
            tangent = self.vector(("relative bias", h, b, 1) for b in range(table["buckets"]))
            if self.s["sinks"] == "learned":
                self.add(tangent, "sinks", h, 0, 1)
            if self.s["sinks"] != "one":
                yield tangent
            for b in sorted(set(range(table["buckets"])) - reached):
                yield self.vector([("relative bias", h, b, 1)])

    def output_parts(self, group: int) -> list[Rows]:
        """What reads a group: W_O of each head, or their sum where patterns are equal."""
        parts = [
            [[row[c] for c in self.value_rows(h)] for row in self.at["output"]] for h in self.heads(group)
        ]
        return [self.summed(parts)] if "query heads" in self.s["ties"] else parts

    def summed(self, parts: list[Rows]) -> Rows:
        return [[sum(xs) % self.p for xs in zip(*rows, strict=True)] for rows in zip(*parts, strict=True)]

    def centred_rows(self, rows: Rows) -> Rows:
        """Differences of rows with the first one, where a norm after the layer subtracts the mean."""
        after = self.s["norm_after"]
        if not after or after["kind"] != "layer":
            return rows
        return [[(x - y) % self.p for x, y in zip(row, rows[0], strict=True)] for row in rows[1:]]

    def outside_values(self) -> Iterator[Tangent]:
        for g in range(self.s["groups"]) if self.s["value"] == "value" else ():
            readers = [row for part in self.output_parts(g) for row in self.centred_rows(part)]
            for vector in self.orthogonal(readers, self.C):
                yield from self.columns("value", self.value_rows(g), vector)

    def unread_columns(self) -> Iterator[tuple[Tangent, dict[int, int]]]:
        """Changes of W_O orthogonal to all values but for a constant, with what they add to the output."""
        closed = self.s["sinks"] is None
        for g in range(self.s["groups"]) if self.s["value"] == "value" else ():
            values, constant = self.seen("value", self.value_rows(g))
            for vector in self.orthogonal(values + ([] if closed else constant), self.C):
                for h in self.heads(g):
                    for e in range(self.s["width"]):
                        pairs = zip(self.value_rows(h), vector, strict=True)
                        added = {e: dot(vector, constant[0]) % self.p} if constant and closed else {}
                        yield self.vector(("output", e, c, x) for c, x in pairs), added

    def value_constants(self) -> Iterator[tuple[Tangent, dict[int, int]]]:
        """Changes that add a constant to values, with what they add to the output."""
        s, tied = self.s, self.s["value"] != "value"
        if s["sinks"] is not None or s["value"] == "query":
            return
        for g in range(s["groups"]):
            total = self.summed(self.output_parts(g))
            for d in range(self.R if tied else 0, self.C):
                for change in self.constant(s["value"], [self.value_rows(g)[d]], [1]):
                    yield change, {e: row[d] for e, row in enumerate(total)}

    def outside_outputs(self) -> Iterator[Tangent]:
        """Changes of W_O orthogonal to all values, but for a constant that the output bias takes."""
        for change, added in self.unread_columns():
            if not added or self.s["output_bias"]:
                yield self.taken(change, added)

    def taken(self, change: Tangent, added: dict[int, int]) -> Tangent:
        """The change, and what it adds to the output taken from the output bias."""
        return change | self.vector(("output bias", e, 0, -x) for e, x in added.items())

    def output_constants(self) -> Iterator[Tangent]:
        """Constants of values taken from the output bias; without one, combinations that add nothing."""
        if self.s["output_bias"]:
            yield from (self.taken(change, added) for change, added in self.value_constants())
            return
        unread = [(change, added) for change, added in self.unread_columns() if added]
        moving = [*unread, *self.value_constants()]
        rows = self.centred_rows([[added.get(e, 0) for _, added in moving] for e in range(self.s["width"])])
        for vector in kernel(rows, len(moving), self.p) if moving else ():
            tangent: Tangent = {}
            for factor, (change, _) in zip(vector, moving, strict=True):
                for k, x in change.items():
                    tangent[k] = (tangent.get(k, 0) + factor * x) % self.p
            yield tangent

    def equal_patterns(self) -> Iterator[Tangent]:
        for g in range(self.s["groups"]) if "query heads" in self.s["ties"] else ():
            first, *others = self.heads(g)
            for h in others:
                for a, b in zip(self.value_rows(first), self.value_rows(h), strict=True):
                    for e in range(self.s["width"]):
                        yield self.vector([("output", e, a, -1), ("output", e, b, 1)])

    def means_before(self) -> Iterator[Tangent]:
        """Rows of projections along 1/scale; a constant they make is taken from the bias, or cancels."""
        before = self.s["norm_before"]
        if not before or before["kind"] != "layer":
            return
        weights, mean = self.mean_row()
        inert = set(self.inert_rows())
        for array in self.readers():
            bias = f"{array} bias" in self.at
            for row in range(self.layer.shapes[array][0]):
                if bias or not before["shift"] or (array == "key" and row in inert):
                    fixed = [(f"{array} bias", row, 0, -mean)] if bias and before["shift"] else []
                    yield self.vector([*((array, row, j, x) for j, x in enumerate(weights)), *fixed])

    def shifts_before(self) -> Iterator[Tangent]:
        """A shift undone along 1/scale in all projections."""
        before = self.s["norm_before"]
        if not before or not before["shift"]:
            return
        weights, mean = self.mean_row()
        part = -pow(mean, -1, self.p)
        for i in range(self.s["width"]):
            tangent = self.vector([("before shift", i, 0, 1)])
            for array in self.readers():
                for row, xs in enumerate(self.at[array]):
                    for j, y in enumerate(weights):
                        self.add(tangent, array, row, j, xs[i] * part * y)
            yield tangent

    def means_after(self) -> Iterator[Tangent]:
        after, width = self.s["norm_after"], self.s["width"]
        if after and after["kind"] == "layer":
            yield from self.columns("output", range(width), [1] * width)
