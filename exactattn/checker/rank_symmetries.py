"""The symmetries of a layer as tangent vectors at its point.

Why each leaves every output unchanged: scores are sums of products of a query and a key coordinate, rotated
plane by plane by matrices that commute with the plane's scaled rotations; outputs are W_O times values; a
norm is blind to the size of what it norms (eps = 0), to rotations, and with the mean subtracted to the mean;
a constant in a row of scores cancels in the softmax unless there is a sink or a cap; rows of weights sum to 1
without sinks; an up-projection undoes what is done to its latent.
"""

from __future__ import annotations

from collections.abc import Iterator

from .check import refuse
from .rank_algebra import kernel, product
from .rank_changes import Tangent
from .rank_shifts import Shifts

__all__ = ["Gauge"]

LARGEST_CENTRED = 24

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


class Gauge(Shifts):
    """The tangents of all symmetries at the point of a layer, each with the name of its symmetry."""

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

    def both(self, array: str, side: str, places: list[int]) -> Iterator[Move]:
        """A projection and its bias, where it has one."""
        yield from ((name, side, places, "") for name in (array, f"{array} bias") if name in self.at)

    def pieces(self, plane: str, rest: str) -> list[tuple[str, list[int]]]:
        unrotated = [(rest, list(range(self.R, self.D)))] if self.R < self.D else []
        return [(plane, [*pair]) for pair in self.layer.pairs] + unrotated

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
