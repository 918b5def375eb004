"""The plan of a recovery certificate, version 2: sizes, vectors drawn from the seed, and probes.

Plans with two stages list their probes: of a kind, with numbers of last tokens (rows) and of tokens a_j or
directions u_j (columns).

    base         0 copied, last b_1
    token        one a_j more; the opposite one, -a_j
    pair         b_i - u_k copied, one b_i - u_k + u_j more, last b_i; or b_i + b_i' - b_1 for b_i
    half         b_i copied, one b_i + u_j more, last b_i
    row base     b_i - u_j copied, last b_i
    row          one more token, which is u_k further

Stage 1 has a base probe and tokens a_2 ... a_d, or tokens a_1 ... a_d: its first row is then *linked*.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .check import (
    MAX_DIM,
    MAX_HEADS,
    MAX_INTEGER,
    MAX_QUERIES,
    add,
    count,
    drawn,
    exactly,
    items,
    record,
    refuse,
)
from .staged import Draw, Probe, minus

__all__ = ["Planned", "Sizes", "check_draw", "check_sizes", "is_linked", "linked_probes", "planned_probes"]

KINDS = {
    "optimal": {"base", "token", "pair", "half"},
    "consistent": {"base", "token", "opposite", "row base", "row"},
}


class Sizes(NamedTuple):
    """Method, bound on the number of heads, token size, bound on the rank, bias, and whether exponents must
    be integers: in all probes of the optimal method, in the first row of the consistency method."""

    method: str
    bound: int
    dim: int
    rank: int
    bias: bool
    integral: bool

    @property
    def rows(self) -> int:
        """The rows of every W."""
        return self.dim + self.bias

    @property
    def formula(self) -> int:
        """The number of queries of the method."""
        numbers = self.rank * (2 * self.dim + self.bias - self.rank) + self.dim
        if self.method == "optimal":
            return self.bound * numbers + self.bias
        if self.method == "consistent":
            return 2 * self.bound * (numbers - 1) + self.bias
        return 2 * self.bound * (2 * self.dim * self.rows - 1) + 1


class Planned(NamedTuple):
    """A probe, and the positions of those it builds on."""

    name: str
    probe: Probe
    builds_on: tuple[int, ...]


def check_sizes(data: dict[str, Any]) -> Sizes:
    if data["method"] not in ("published", "consistent", "optimal"):
        refuse("method", "must be published, consistent or optimal")
    bound = count(data["heads_bound"], "heads_bound", 1, MAX_HEADS)
    dim = count(data["dim"], "dim", 1, MAX_DIM)
    rank = count(data["rank"], "rank", 1, dim)
    if data["method"] == "published" and rank < dim:
        refuse("rank", "must be the token size for the published method")
    for key in ("bias", "integral"):
        if type(data[key]) is not bool:
            refuse(key, "must be true or false")
    needed = data["method"] == "optimal" or is_linked(data)
    if (needed and not data["integral"]) or (data["method"] == "published" and data["integral"]):
        refuse("integral", f"must be {str(needed).lower()} for such a plan")
    sizes = Sizes(data["method"], bound, dim, rank, data["bias"], data["integral"])
    if sizes.formula > MAX_QUERIES:
        refuse("formula", f"the plan has more than {MAX_QUERIES} queries")
    exactly(data["formula"], "formula", sizes.formula)
    return sizes


def is_linked(data: dict[str, Any]) -> bool:
    """Whether the first row has no base probe."""
    probes = data["probes"]
    if data["method"] == "published":
        return False
    return type(probes) is list and not any(type(p) is dict and p.get("kind") == "base" for p in probes)


def check_draw(data: dict[str, Any], sizes: Sizes) -> Draw:
    """The vectors drawn from the seed."""
    linked = is_linked(data)
    dim, rows, staged = sizes.dim, sizes.rows, sizes.method != "published"
    plan = record(data["plan"], "plan", {"seed", "tokens", "versions"})
    seed = count(plan["seed"], "plan.seed", -MAX_INTEGER)
    tokens = record(plan["tokens"], "plan.tokens", {"last", "difference", "first"})
    last, difference, first = (
        count(tokens[key], f"plan.tokens.{key}", 1) for key in ("last", "difference", "first")
    )
    if not staged:
        exactly(first, "plan.tokens.first", last)
    lengths = {"b": rows, "a": dim - (not linked) if staged else 0, "u": dim}
    given = record(plan["versions"], "plan.versions", set(lengths))
    versions = {
        key: [count(x, path) for path, x in items(given[key], f"plan.versions.{key}", n, n)]
        for key, n in lengths.items()
    }
    b = drawn(seed, "b", versions["b"], dim, last)
    b[:1] = drawn(seed, "b", versions["b"][:1], dim, first)
    a = drawn(seed, "a", ([] if linked else [0]) + versions["a"], dim, last)
    if not linked:
        a[0] = b[0]
    return Draw(b, a if staged else [], drawn(seed, "u", versions["u"], dim, difference))


def planned_probes(data: dict[str, Any], sizes: Sizes, draw: Draw) -> list[Planned]:
    """The probes of a plan with two stages, which must show all that is needed."""
    listed = items(data["probes"], "probes", 1, MAX_QUERIES // sizes.bound)
    found: list[Planned] = []
    places: dict[tuple[Any, ...], int] = {}
    shown: set[tuple[int, int]] = set()
    linked = is_linked(data)
    for path, given in listed:
        record(given, path, {"kind", "rows", "columns"})
        kind = given["kind"]
        if type(kind) is not str or kind not in KINDS[sizes.method]:
            refuse(path, f"must have a kind of the {sizes.method} method")
        rows = numbered(given["rows"], f"{path}.rows", sizes.rows)
        columns = numbered(given["columns"], f"{path}.columns", sizes.dim)
        builder = Builder(path, sizes, draw, places, shown, linked)
        probe, builds_on = builder.built(kind, rows, columns)
        place = (kind, rows, columns)
        if place in places:
            refuse(path, "lists a probe twice")
        places[place] = len(found)
        found.append(Planned(f"{kind} probe {list(rows)}, {list(columns)}", probe, builds_on))
    check_complete(sizes, places, shown, linked)
    return found


def linked_probes(data: dict[str, Any], sizes: Sizes) -> list[int]:
    """The positions of the token probes of a linked first row, by tokens; none if it has a base probe."""
    if not is_linked(data):
        return []
    order = {p["columns"][0]: n for n, p in enumerate(data["probes"]) if p["kind"] == "token"}
    return [order[j] for j in range(1, sizes.dim + 1)]


def numbered(x: Any, path: str, most: int) -> tuple[int, ...]:
    """At most two different numbers of vectors."""
    found = tuple(count(y, at, 1, most) for at, y in items(x, path, 0, 2))
    if len(set(found)) < len(found):
        refuse(path, "must be different")
    return found


class Builder(NamedTuple):
    """Makes one probe; enters the numbers b_i^T W u_j that it shows."""

    path: str
    sizes: Sizes
    draw: Draw
    places: dict[tuple[Any, ...], int]
    shown: set[tuple[int, int]]
    linked: bool

    def built(
        self, kind: str, rows: tuple[int, ...], columns: tuple[int, ...]
    ) -> tuple[Probe, tuple[int, ...]]:
        b, _, u = self.draw
        if kind in ("base", "token", "opposite"):
            return self.of_first_row(kind, rows, columns)
        copies = range(self.sizes.bound if kind == "half" else 2 * self.sizes.bound)
        if not rows or 1 in rows or len(columns) != 1 + (kind == "pair") or len(rows) > 1 + (kind == "pair"):
            refuse(self.path, f"has the wrong number of rows or columns for a {kind} probe")
        self.enter(rows, columns)
        last = b[rows[0] - 1]
        if kind == "half":
            return Probe(kind, last, add(last, u[columns[0] - 1]), last, copies), ()
        if kind == "pair":
            if len(rows) == 2:
                last = minus(add(last, b[rows[1] - 1]), b[0])
            filler = minus(last, u[columns[1] - 1])
            return Probe(kind, filler, add(filler, u[columns[0] - 1]), last, copies), ()
        if kind == "row base":
            return Probe(kind, minus(last, u[columns[0] - 1]), None, last, copies), ()
        base = self.earlier("row base", rows, (1,))
        filler = minus(last, u[0])
        return Probe(kind, filler, add(filler, u[columns[0] - 1]), last, copies), (base,)

    def of_first_row(
        self, kind: str, rows: tuple[int, ...], columns: tuple[int, ...]
    ) -> tuple[Probe, tuple[int, ...]]:
        """A probe of stage 1; labels of tokens come from the base probe, without integral exponents in the
        opposite probe, or from all of a linked row. An opposite probe that is not needed is *free*."""
        if rows != (1,) or len(columns) != (kind != "base") or (columns == (1,) and not self.linked):
            refuse(self.path, "must be of row 1, with a token a_j, j >= 2, unless it is the base probe")
        before: list[int] = []
        if kind != "base" and not self.linked:
            before.append(self.earlier("base", (1,), ()))
            if kind == "opposite":
                before.append(self.earlier("token", rows, columns))
        extra = self.draw.a[columns[0] - 1] if columns else None
        if extra is not None and kind == "opposite":
            extra = tuple(-x for x in extra)
        rule = kind
        if kind == "token":
            rule = "linked" if self.linked else "token" if self.sizes.integral else "forward"
        elif kind == "opposite" and self.sizes.integral:
            rule = "free"
        zero, copies = (0,) * self.sizes.dim, range(2 * self.sizes.bound)
        return Probe(rule, zero, extra, self.draw.b[0], copies), tuple(before)

    def earlier(self, kind: str, rows: tuple[int, ...], columns: tuple[int, ...]) -> int:
        place = self.places.get((kind, rows, columns))
        if place is None:
            refuse(self.path, f"comes before the {kind} probe it builds on")
        return place

    def enter(self, rows: tuple[int, ...], columns: tuple[int, ...]) -> None:
        """A sum of two rows (less row 1) shows one number where the other is known."""
        for j in columns:
            if len(rows) == 2 and not any((i, j) in self.shown for i in rows):
                refuse(self.path, "shows a sum of two unknown numbers")
            self.shown.update((i, j) for i in rows)


def check_complete(
    sizes: Sizes, places: dict[tuple[Any, ...], int], shown: set[tuple[int, int]], linked: bool
) -> None:
    """All of stage 1, and the numbers with i <= r or j <= r (all for r = d)."""
    wanted: list[tuple[Any, ...]] = [("token", (1,), (1,)) if linked else ("base", (1,), ())]
    kinds = ["opposite"] if sizes.method == "consistent" and not linked else []
    for j in range(2, sizes.dim + 1):
        wanted += [(kind, (1,), (j,)) for kind in ["token", *kinds]]
    for place in wanted:
        if place not in places:
            refuse("probes", f"a {place[0]} probe of the first row is missing")
    for i in range(2, sizes.rows + 1):
        for j in range(1, sizes.dim + 1):
            needed = i <= sizes.rank or j <= sizes.rank or sizes.rank == sizes.dim
            if needed and (i, j) not in shown:
                refuse("probes", f"no probe shows the number of row {i} and column {j}")
