"""The symmetries of a layer as tangent vectors at its point.

Why each leaves every output unchanged: scores are sums of products of a query and a key coordinate, rotated
plane by plane by matrices that commute with the plane's scaled rotations; outputs are W_O times values; a
norm is blind to the size of what it norms (eps = 0), to rotations, and with the mean subtracted to the mean;
a constant in a row of scores cancels in the softmax unless there is a sink or a cap; rows of weights sum to 1
without sinks; an up-projection undoes what is done to its latent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate

from .check import dot, refuse
from .rank_algebra import kernel, product
from .rank_layer import Level, Rows
from .rank_spec import bucket

__all__ = ["Gauge", "Tangent"]

LARGEST_CENTRED = 24

Tangent = dict[int, int]
Move = tuple[str, str, list[int], str]


def generators(kind: str, c: list[int]) -> Iterator[dict[tuple[int, int], int]]:
    """A basis of a Lie algebra of matrices on coordinates c (for planes: the first and the second one)."""
    if kind == "linear":
        yield from ({(i, j): 1} for i in c for j in c)
    elif kind == "orthogonal":
        yield from ({(i, j): 1, (j, i): -1} for k, i in enumerate(c) for j in c[k + 1 :])
    elif kind == "centred":
        for k, i in enumerate(c[1:]):
            for j in c[k + 2 :]:
                yield {(c[0], i): 1, (i, j): 1, (j, c[0]): 1, (i, c[0]): -1, (j, i): -1, (c[0], j): -1}
    if kind in ("size", "plane"):
        yield {(i, i): 1 for i in c}
    if kind in ("plane", "turn"):
        yield {(c[0], c[1]): -1, (c[1], c[0]): 1}


class Gauge:
    """The tangents of all symmetries at the point of a layer, each with the name of its symmetry."""

    def __init__(self, layer: Level) -> None:
        self.layer, self.s, self.p, self.at = layer, layer.s, layer.p, layer.values
        starts = accumulate((r * c for r, c in layer.shapes.values()), initial=0)
        self.starts = dict(zip(layer.shapes, starts, strict=False))
        self.visible = self.s["sinks"] is not None or self.s["soft_cap"] is not None
        self.D, self.C, self.R = self.s["head_size"], self.s["value_size"], self.s["R"]
        self.each = self.s["query_heads"] // self.s["groups"]  # query projections a group

    def all(self) -> Iterator[tuple[str, Tangent]]:
        """Every tangent, in a fixed order."""
        yield from self.normed() if self.s["query_key_norm"] else self.basis()
        if self.s["value"] == "value":
            for g in range(self.s["groups"]):
                moves = [*self.both("value", "left", self.value_rows(g))]
                moves += [("output", "right", self.value_rows(h), "") for h in self.heads(g)]
                yield from self.group("basis of values", [("linear", list(range(self.C)))], moves)
        yield from self.latents()
        yield from self.around()
        for name, tangents in (
            ("key bias", self.key_bias()),
            ("shifts of query and key norms", self.norm_shifts()),
            ("mean of queries and keys", self.query_key_means()),
            ("queries outside the keys", self.outside_queries()),
            ("keys outside the queries", self.outside_keys()),
            ("constants of scores by queries", self.score_constants_by_queries()),
            ("constants of scores by keys", self.score_constants_by_keys()),
            ("values outside the outputs", self.outside_values()),
            ("outputs outside the values", self.outside_outputs()),
            ("heads with equal patterns", self.equal_patterns()),
            ("mean behind the norm before", self.means_before()),
            ("constants of the output", self.output_constants()),
            ("relative bias", self.relative_bias()),
            ("mean in front of the norm after", self.means_after()),
            ("shifts of the norm before", self.shifts_before()),
            ("scales behind the mean", self.isospectral()),
        ):
            yield from ((name, tangent) for tangent in tangents)

    # how groups of matrices act

    def group(
        self, name: str, pieces: list[tuple[str, list[int]]], moves: list[Move]
    ) -> Iterator[tuple[str, Tangent]]:
        """The tangents of a group, the product of pieces, that acts on arrays by moves."""
        for kind, coordinates in pieces:
            for generator in generators(kind, coordinates):
                tangent: Tangent = {}
                for move in moves:
                    for (i, j), x in generator.items():
                        self.act(tangent, move, i, j, x)
                yield name, tangent

    def act(self, tangent: Tangent, move: Move, i: int, j: int, x: int) -> None:
        """Adds what entry (i, j) of A does: A X, for the dual group -A^T X, on the right -X A, or X A^T."""
        array, side, places, within = move
        x = x if side in ("left", "right dual") else -x
        source, target = (i, j) if side in ("dual", "right") else (j, i)
        if within:
            scales = self.at[within]
            x = x * scales[source][0] * pow(scales[target][0], -1, self.p)
        if side in ("left", "dual"):
            for k, y in enumerate(self.at[array][places[source]]):
                self.add(tangent, array, places[target], k, x * y)
        else:
            for k, row in enumerate(self.at[array]):
                self.add(tangent, array, k, places[target], x * row[places[source]])

    def add(self, tangent: Tangent, array: str, row: int, column: int, x: int) -> None:
        at = self.starts[array] + row * self.layer.shapes[array][1] + column
        tangent[at] = (tangent.get(at, 0) + x) % self.p

    def both(self, array: str, side: str, places: list[int]) -> Iterator[Move]:
        """A projection and its bias, where it has one."""
        yield from ((name, side, places, "") for name in (array, f"{array} bias") if name in self.at)

    # places

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

    def pieces(self, plane: str, rest: str) -> list[tuple[str, list[int]]]:
        unrotated = [(rest, list(range(self.R, self.D)))] if self.R < self.D else []
        return [(plane, [*pair]) for pair in self.layer.pairs] + unrotated

    # queries and keys

    def basis(self) -> Iterator[tuple[str, Tangent]]:
        """Changes of basis of queries and keys, within what rotations and ties allow."""
        s, tied, start = self.s, self.s["key"] == "query", self.s["shared"]
        if start:
            moves = [
                m for h in range(s["heads"]) for m in self.both("query", "left", self.query_rows(h, 0, start))
            ]
            moves += self.both("rotated key", "dual", list(range(start)))
            planes = [("plane", [*pair]) for pair in self.layer.pairs]
            yield from self.group("planes of the shared rotated key", planes, moves)
        pieces = self.pieces("turn", "orthogonal") if tied else self.pieces("plane", "linear")
        if start:
            pieces = [("linear", list(range(self.D - start)))]
        for g in range(s["groups"]) if start < self.D else ():
            moves = [
                m for h in self.queries(g) for m in self.both("query", "left", self.query_rows(h, start))
            ]
            moves += [] if tied else self.both("key", "dual", self.key_rows(g))
            if s["value"] != "value":
                moves += [("output", "right dual", self.value_rows(h), "") for h in self.heads(g)]
            yield from self.group("basis of queries and keys", pieces, moves)

    def normed(self) -> Iterator[tuple[str, Tangent]]:
        """What the norm of queries and keys leaves: sizes, pairs of scales, rotations."""
        s, norm = self.s, self.s["query_key_norm"]
        if norm["eps"] == 0:
            for array, heads in (("query", s["query_heads"]), ("key", s["groups"])):
                length = self.D * (heads if norm["scope"] == "width" else 1)
                for start in range(0, heads * self.D, length):
                    moves = [*self.both(array, "left", list(range(start, start + length)))]
                    name = f"size of what the {array} norm sees"
                    yield from self.group(name, [("size", list(range(length)))], moves)
        shared = norm["scope"] == "shared"
        for g in range(1 if shared and norm["scale"] else s["groups"]):
            moves = []
            if norm["scale"]:
                for kind in ("scale", "shift") if norm["shift"] else ("scale",):
                    queries = [0] if shared else self.queries(g)
                    moves += [(f"query norm {kind}", "left", self.query_rows(h), "") for h in queries]
                    moves.append((f"key norm {kind}", "dual", self.query_rows(g), ""))
                pieces = [("size", [*pair]) for pair in self.layer.pairs]
                pieces += [("size", [d]) for d in range(self.R, self.D)]
                yield from self.group("pairs of query and key scales", pieces, moves)
            else:
                moves = [m for h in self.queries(g) for m in self.both("query", "left", self.query_rows(h))]
                moves += self.both("key", "dual", self.query_rows(g))
                centred = [("centred", list(range(self.R, self.D)))]
                pieces = centred if norm["kind"] == "layer" else self.pieces("turn", "orthogonal")
                yield from self.group("rotations of normed queries and keys", pieces, moves)

    def key_bias(self) -> Iterator[Tangent]:
        if "key bias" in self.at and self.s["value"] == "value":
            yield from (self.vector([("key bias", row, 0, 1)]) for row in self.inert_rows())

    def inert_rows(self) -> list[int]:
        """Rows of keys at which a constant adds the same to a whole row of scores, which cancels."""
        if self.visible or self.s["query_key_norm"] or self.s["key"] == "query":
            return []
        return [row for g in range(self.s["groups"]) for row in self.key_rows(g, self.R)]

    def vector(self, entries: Iterable[tuple[str, int, int, int]]) -> Tangent:
        tangent: Tangent = {}
        for array, row, column, x in entries:
            self.add(tangent, array, row, column, x)
        return tangent

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

    def readers(self) -> list[str]:
        """The projections that read what the norm before makes."""
        s = self.s
        names = ["query down" if s["query_latent"] else "query"]
        if not s["cross"]:
            names += ["key/value down", "rotated key"] if s["key_value_latent"] else ["key", "value"]
        return [name for name in names if name in self.at]

    def orthogonal(self, columns: Rows, length: int) -> Rows:
        return kernel(columns, length, self.p) if length > len(columns) else []

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

    def constant(self, array: str, rows: list[int], vector: list[int]) -> Iterator[Tangent]:
        """A change of a projection that adds a constant vector to what it makes, if there is one."""
        if f"{array} bias" in self.at:
            yield self.vector((f"{array} bias", row, 0, x) for row, x in zip(rows, vector, strict=True))
        elif self.s["norm_before"] and self.s["norm_before"]["shift"] and array in self.readers():
            weights, mean = self.mean_row()
            part = pow(mean, -1, self.p)
            entries = [(row, x * part) for row, x in zip(rows, vector, strict=True)]
            yield self.vector((array, row, j, x * y) for row, x in entries for j, y in enumerate(weights))

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

    # values and outputs

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

    # latents, and the norms around the layer

    def latents(self) -> Iterator[tuple[str, Tangent]]:
        for name, all_readers in (("query", ["query"]), ("key/value", ["key", "value"])):
            latent = self.s[name.replace("/", "_") + "_latent"]
            if not latent:
                continue
            norm, every = latent["norm"], list(range(latent["rank"]))
            readers = [reader for reader in all_readers if reader in self.at]
            down, up = [*self.both(f"{name} down", "left", every)], [(n, "right", every, "") for n in readers]
            if not norm:
                yield from self.group(f"basis of the {name} latent", [("linear", every)], down + up)
                continue
            kind = "orthogonal" if norm["kind"] == "rms" else "centred"
            scale = f"{name} latent scale"
            within = [(n, "right", every, scale if norm["scale"] else "") for n in readers]
            yield from self.group(f"rotations of the {name} latent", [(kind, every)], down + within)
            if norm["scale"]:
                sizes = [("size", [k]) for k in every]
                yield from self.group(
                    f"scales of the {name} latent", sizes, [(scale, "left", every, ""), *up]
                )
            if norm["eps"] == 0:
                yield from self.group(f"size of the {name} latent", [("size", every)], down)

    def around(self) -> Iterator[tuple[str, Tangent]]:
        before, after, every = self.s["norm_before"], self.s["norm_after"], list(range(self.s["width"]))
        if before and before["scale"]:
            kinds = ("scale", "shift") if before["shift"] else ("scale",)
            moves = [(f"before {kind}", "left", every, "") for kind in kinds]
            moves += [(name, "right", every, "") for name in self.readers()]
            yield from self.group("scales of the norm before", [("size", [k]) for k in every], moves)
        if after and after["eps"] == 0:
            moves = [*self.both("output", "left", every)]
            yield from self.group("size of what the norm after sees", [("size", every)], moves)

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

    def isospectral(self) -> Iterator[Tangent]:
        """Centred queries and keys meet in F = P diag(a b) P, a and b their scales, P the projection along
        (1, ..., 1). F has one eigenvalue less than there are scales, so it can change by AF - FA with A skew,
        A 1 = 0, and queries, keys and P(b shift) turn with A."""
        norm, D, p = self.s["query_key_norm"], self.D, self.p
        if not norm or norm["kind"] != "layer" or not norm["scale"] or self.R:
            return
        if norm["scope"] != "shared" and (norm["scope"] == "width" or self.s["heads"] != self.s["groups"]):
            return
        if D > LARGEST_CENTRED:
            refuse(
                "spec.head_size", f"is above {LARGEST_CENTRED}, too large for layer norm of queries and keys"
            )
        part, every = pow(D, -1, p), list(range(D))
        P = [[(int(i == j) - part) % p for j in every] for i in every]
        turns = [[[g.get((i, j), 0) for j in every] for i in every] for g in generators("centred", every)]
        for start in range(0, self.layer.shapes["key norm scale"][0], D):
            a, b = (
                [row[0] for row in self.at[f"{n} norm scale"][start : start + D]] for n in ("query", "key")
            )
            F = product(P, [[x * y * z for z in row] for x, y, row in zip(a, b, P, strict=True)], p)
            images = [
                [
                    [y - x for x, y in zip(*rows, strict=True)]
                    for rows in zip(product(A, F, p), product(F, A, p), strict=True)
                ]
                for A in turns
            ]
            images += [[[P[i][d] * P[d][j] for j in every] for i in every] for d in every]
            system = [[image[i][j] % p for image in images] for i in every for j in range(i)]
            solution = kernel(system, len(images), p)[0]
            A = [
                [sum(x * turn[i][j] for x, turn in zip(solution, turns, strict=False)) % p for j in every]
                for i in every
            ]
            inverses = [pow(x, -1, p) for x in b]
            change = [x * y for x, y in zip(solution[len(turns) :], inverses, strict=True)]
            tangent = self.vector(("query norm scale", start + d, 0, x) for d, x in enumerate(change))
            if norm["shift"]:
                met = [
                    x * row[0]
                    for x, row in zip(b, self.at["query norm shift"][start : start + D], strict=True)
                ]
                for d, row in enumerate(product(A, product(P, [[x] for x in met], p), p)):
                    self.add(tangent, "query norm shift", start + d, 0, row[0] * inverses[d])
            for array in [name for name in ("query", "query bias", "key", "key bias") if name in self.at]:
                rows = self.at[array]
                for head in range(0, len(rows), D) if norm["scope"] == "shared" else [start]:
                    for d, row in enumerate(product(A, rows[head : head + D], p)):
                        for k, x in enumerate(row):
                            self.add(tangent, array, head + d, k, x)
            yield tangent
