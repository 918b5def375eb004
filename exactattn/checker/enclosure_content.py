"""What an enclosure certificate lists, and what follows from it for :mod:`exactattn.checker.enclosure`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from .boxes import Family, Row, families
from .check import MAX_DIM, MAX_HEADS, Head, count, dot, exactly, items, numbers, record, refuse
from .real_bounds import ONE, ZERO, log, up

__all__ = [
    "Boxes",
    "Layout",
    "beta",
    "known_value",
    "needed_constant_radius",
    "needed_radii",
    "read_boxes",
    "read_heads",
    "read_layout",
    "sum_off",
]

MAX_WORK = 1 << 21  # families times nodes times heads and nodes


class Layout(NamedTuple):
    """Sizes, vectors and inverses of a certificate."""

    heads: int
    direct: bool
    bias: bool
    D: int | None  # base 2: weights are 2^(D score); None for base e
    b: list[Row]
    u: list[Row]
    B: list[Row]
    U: list[Row]
    families: list[Family]

    @property
    def lifted(self) -> list[Row]:
        """What multiplies W from the left: b, with biases (1, b)."""
        return [(ONE, *row) for row in self.b] if self.bias else self.b


class Boxes(NamedTuple):
    """Of one family, in one order of the heads: r_h, c_h, relative bounds of r_h, bounds of c_h."""

    r: list[Fraction]
    c: list[Fraction]
    X: list[Fraction]
    Y: list[Fraction]


def read_layout(data: dict[str, Any]) -> Layout:
    """Vectors, inverses and families; counts are those of the families."""
    heads = count(data["heads_bound"], "heads_bound", 1, MAX_HEADS)
    dim = count(data["dim"], "dim", 1, MAX_DIM)
    for key in ("direct", "bias"):
        if type(data[key]) is not bool:
            refuse(key, "must be true or false")
    direct, bias = data["direct"], data["bias"]
    D = count(data["denominator"], "denominator", 1)
    exactly(data["base"], "base", "e" if data["base"] == "e" else "2")
    if data["base"] == "e" and D != 1:
        refuse("denominator", "must be 1 for base e")
    last = dim + bias
    b, u = list(numbers(data["b"], "b", last, dim)), list(numbers(data["u"], "u", dim, dim))
    B = list(numbers(data["b_inverse"], "b_inverse", last, last))
    U = list(numbers(data["u_inverse"], "u_inverse", dim, dim))
    for key, rows, inverse in (("b", [(ONE, *row) for row in b] if bias else b, B), ("u", u, U)):
        for i, row in enumerate(rows):
            if any(dot(row, column) != (i == j) for j, column in enumerate(zip(*inverse, strict=True))):
                refuse(f"{key}_inverse", f"is not the inverse of the matrix with rows {key} (row {i})")
    number_of_families = last * (2 * dim - 1) + last - 1
    if 6 * heads**3 * number_of_families > MAX_WORK:
        refuse("dim", "is too large with so many heads")
    nodes: list[list[tuple[int, int]]] = []
    for path, entry in items(data["nodes"], "nodes", number_of_families, number_of_families):
        pairs = []
        for place, pair in items(entry, path, 2 * heads, 2 * heads):
            (at, m), (other, k) = items(pair, place, 2, 2)
            pairs.append((count(m, at, 1), count(k, other)))
        ratios = [Fraction(m, k) if k else None for m, k in pairs]
        if len(set(ratios)) < len(ratios) or any(k == 0 and m != 1 for m, k in pairs):
            refuse(path, "must be different nodes [m, k], with k copies of b; [1, 0] is a alone")
        nodes.append(pairs)
    asked = (last if direct else 1) + 2 * heads * number_of_families
    exactly(data["queries"], "queries", asked)
    exactly(data["longest"], "longest", max(m + k for entry in nodes for m, k in entry))
    return Layout(
        heads, direct, bias, None if data["base"] == "e" else D, b, u, B, U,
        families(b, u, direct, bias, nodes),
    )  # fmt: skip


def read_heads(x: Any, path: str, most: int, layout: Layout) -> list[Head]:
    """Heads with W of as many rows as last tokens."""
    shape = len(layout.b), len(layout.u)
    heads: list[Head] = []
    for place, head in items(x, path, 0, most):
        record(head, place, {"W", "v"})
        heads.append((numbers(head["W"], f"{place}.W", *shape), numbers(head["v"], f"{place}.v", shape[1])))
    return heads


def read_boxes(x: Any, layout: Layout) -> list[Boxes]:
    """Poles > 0, residues, and bounds of every family."""
    result = []
    for path, entry in items(x, "families", len(layout.families), len(layout.families)):
        keys = ("poles", "residues", "pole_bounds", "residue_bounds")
        record(entry, path, set(keys))
        lists = [list(numbers(entry[key], f"{path}.{key}", layout.heads)) for key in keys]
        if len(set(lists[0])) < layout.heads or any(r <= 0 for r in lists[0]) or 0 in lists[1]:
            refuse(path, "poles must be positive and different, and residues not 0")
        if any(x <= 0 for x in lists[2]):
            refuse(path, "bounds of poles must be positive")
        result.append(Boxes(*lists))
    return result


def known_value(layout: Layout, family: Family, boxes: list[Boxes], answers: list[Fraction]) -> Fraction:
    """The value at b alone as the design knows it."""
    value = sum((n * answers[place] for place, n in family.singles), ZERO)
    return value if family.of_sum is None else value + sum_at(layout, family.of_sum, boxes)


def sum_at(layout: Layout, w: Row, boxes: list[Boxes]) -> Fraction:
    """w.V, with V from the residues listed for the first row of families."""
    sums = [sum(boxes[j].c, ZERO) for j in range(len(layout.u))]
    value: Fraction = dot(w, [dot(row, sums) for row in layout.U])
    return value


def sum_off(layout: Layout, w: Row, totals: list[Fraction]) -> Fraction:
    """A bound of how far w.V is off."""
    weights = [dot(w, column) for column in zip(*layout.U, strict=True)]
    return sum((abs(x) * t for x, t in zip(weights, totals, strict=True)), ZERO)


def beta(layout: Layout, family: Family, totals: list[Fraction], error: Fraction) -> Fraction:
    """|nu| in units of the error: how many single answers the value at b alone is made of, and what the sums
    of residues of the first row may be off by (``totals``)."""
    answers = Fraction(sum(abs(n) for _, n in family.singles))
    return answers if family.of_sum is None else answers + up(sum_off(layout, family.of_sum, totals) / error)


def needed_radii(layout: Layout, boxes: list[Boxes], h: int, centre: Head, bits: int) -> Head:
    """How far the entries of W_h and v_h may be from a centre, with logarithms to so many bits."""
    W, v = centre
    columns = range(len(layout.u))
    two = (ONE, ONE) if layout.D is None else tuple(layout.D * x for x in log(Fraction(2), bits))
    off = []
    for i, b in enumerate(layout.lifted):
        row = []
        asking = [dot(b, column) for column in zip(*W, strict=True)]
        for j in columns:
            box, score = boxes[i * len(columns) + j], dot(asking, layout.u[j])
            ends = [x / y for x in log(box.r[h], bits) for y in two]  # of log r_h in units of scores
            moved = box.X[h] / (1 - box.X[h]) / two[0]
            row.append(up(max(abs(score - min(ends)), abs(score - max(ends))) + moved))
        off.append(row)
    B, U = ([[abs(x) for x in row] for row in matrix] for matrix in (layout.B, layout.U))
    half = [[dot(row, column) for column in zip(*off, strict=True)] for row in B]
    away = [up(abs(dot(v, layout.u[j]) - boxes[j].c[h]) + boxes[j].Y[h]) for j in columns]
    return tuple(tuple(up(dot(row, u)) for u in U) for row in half), tuple(up(dot(u, away)) for u in U)


def needed_constant_radius(
    layout: Layout,
    boxes: list[Boxes],
    centre: Fraction,
    alone: Fraction,
    error: Fraction,
    totals: list[Fraction],
) -> Fraction:
    """How far the constant output may be from a centre."""
    middle = alone - sum_at(layout, layout.b[0], boxes)
    return up(abs(centre - middle) + error + sum_off(layout, layout.b[0], totals))
