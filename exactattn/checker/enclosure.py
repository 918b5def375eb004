"""Enclosure certificates, version 1: every layer that gives answers close to those listed has parameters in
the
enclosures listed.

Why the statement follows from what is verified. Let L' be a layer with at most H canonical heads whose
values (base e) at the listed queries are within E of the listed answers. A family is a pair (b, u) with 2H
nodes x = m/k: m copies of a = b - u and k of b, the last token b; x = oo is a alone. The value of L' is V'.b
- x G'(x), G'(x) = sum_h c'_h/(x + r'_h), c'_h = v'_h.u, r'_h = exp(b^T W'_h u), V' = sum_h v'_h. The listed
r_h, c_h of the family give f(x) = k - x sum_h c_h/(x + r_h), where k is the listed answer at b alone
(direct; a sum of two where b is one), or else w.V with V from the listed c_h of the families (b_1, u_j).

1. f is within E' - E of the answers (verified). So L' perturbs the samples of f by phi, |phi| <= E', and k by
   nu, |nu| <= beta E' (a bound derived here).
2. Put Q(x) = prod (x + r_g), A_hm = l_m(-r_h) Q(x_m)^2/Q'(-r_h)^2, l_m the Lagrange basis at the nodes. If
   sum_h s_h/(x + q_h) takes the perturbed samples, then q_h - r_h = (1/c_h) sum_m A_hm w_hm (phi_m - nu)/x_m
   with w_hm = prod_g (x_m + q_g)/(x_m + r_g) prod_{g != h} (r_g - r_h)/(q_g - r_h), because P~Q - PQ~ has
   degree below 2H and known values at the nodes; the sum over nu is that of first order times w at x = 0.
   s_h - c_h is a derivative of sum_m d_m (Q Q~)(x_m) l_m(x)/prod_{g != h} (x + r_g)(x + q_g) between -r_h
   and -q_h, and sum s - sum c = sum_m d_m (Q Q~)(x_m)/N'(x_m), d_m = (nu - phi_m)/x_m, N(x) = prod (x -
   x_m).
3. The box |q_h - r_h| <= X_h r_h is mapped into itself, its poles are positive and apart, and no s_h vanishes
   in it (verified). Scale the perturbation from 0 to 1: the poles move continuously and cannot leave the
   box. So the perturbed samples have an interpolant with H poles in the box, and |s_h - c_h| <= Y_h
   (verified). Two interpolants with at most H poles are equal, as their difference has a numerator of degree
   below 2H. Hence it is G': L' has H canonical heads, and r'_h, c'_h are in the boxes, in some order in each
   family.
4. On X = (b_i, u_1), Y = (b_i, u_j), Z = (b_i, u_1 + u_j) the log r'_h add and so do the c'_h; on X = (b_1,
u_1),
   Y = (b_i, u_1), Z = (b_1 + b_i, u_1) the log r'_h add and the c'_h are equal. No boxes of h in X, g != h
   in Y and any k in Z allow that (verified), so all families (b_i, u_j) have one order of heads.
5. W'_h = B^-1 (log r'_h(b_i, u_j)) U^-T and v'_h = U^-1 (c'_h(b_1, u_j)), B and U with rows b_i and u_j; the
   listed centres and radii hold these for all r', c' in the boxes (verified, with enclosures of log).

All numbers are rational; bounds are rounded outward to 192 significant bits. With a public model, its values
are enclosed with enclosures of exp, and are within E of the answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from .check import (
    MAX_DIM,
    MAX_HEADS,
    Head,
    Kind,
    count,
    digest,
    dot,
    exactly,
    items,
    number,
    numbers,
    read_heads,
    record,
    refuse,
    sentences,
)

__all__ = ["ENCLOSURE", "Family", "Response", "enclosure_texts", "families", "image", "response", "sum_bound"]

BITS = 192  # significant bits of bounds
MAX_PRECISION = 1 << 13  # bits after the point in sums that must cancel, and in logarithms
MAX_SCORE = 1 << 12
MAX_WORK = 1 << 21  # families times nodes times heads and nodes

ZERO, ONE = Fraction(0), Fraction(1)

Row = tuple[Fraction, ...]


# ---- rounding, exp and log ----


def up(x: Fraction) -> Fraction:
    """A number >= x >= 0 with few bits."""
    return _rounded(x, True)


def down(x: Fraction) -> Fraction:
    """A number <= x, x >= 0, with few bits."""
    return _rounded(x, False)


def _rounded(x: Fraction, upward: bool) -> Fraction:
    p, q = x.numerator, x.denominator
    shift = BITS - p.bit_length() + q.bit_length()
    top, bottom = (p << shift, q) if shift >= 0 else (p, q << -shift)
    n = -(-top // bottom) if upward else top // bottom
    return Fraction(n, 1 << shift) if shift >= 0 else Fraction(n << -shift)


def product(factors: Any) -> Fraction:
    """An upper bound of a product of numbers >= 0."""
    result = Fraction(1)
    for factor in factors:
        result = up(result * factor)
    return result


def log_two(bits: int) -> tuple[int, int]:
    """Integers below and above 2^bits log 2: log 2 = 2 atanh(1/3)."""
    total, power, n = 0, (2 << bits) // 3, 1
    terms = 0
    while power:
        total += power // n
        power //= 9
        n += 2
        terms += 2
    return total, total + terms + 2


def log(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """An enclosure of log x, x > 0, of width about 2^-bits: log x = k log 2 + 2 atanh(z), z = (y - 1)/(y + 1)
    with y = x/2^k near 1."""
    k = x.numerator.bit_length() - x.denominator.bit_length()
    y = x / 2**k if k >= 0 else x * 2**-k
    z = (y - 1) / (y + 1)  # |z| <= 1/3
    sign, unit = (1 if z >= 0 else -1), abs(z)
    work = bits + 16
    power = (unit.numerator << work) // unit.denominator  # z 2^work, below by less than 1
    square = power * power >> work
    total, n, terms, rest = 0, 1, 0, power
    while rest:
        total += rest // n
        rest = rest * square >> work
        n += 2
        terms += 1
    # each power is below the true one by less than 2 units, each quotient by one more; the tail is below 3
    low, high = 2 * total, 2 * (total + 3 * terms + 4)
    if sign < 0:
        low, high = -high, -low
    two = log_two(work)
    lows, highs = (k * two[0], k * two[1]) if k >= 0 else (k * two[1], k * two[0])
    return Fraction(low + lows, 1 << work), Fraction(high + highs, 1 << work)


def exp(s: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """An enclosure of exp(s) of relative width about 2^-bits: exp(s) = 2^k exp(t), t = s - k log 2 halved ten
    times, and the Taylor series with all terms below half the one before."""
    work = bits + 64
    two = log_two(work)
    k = round(s * (1 << work) / two[0])
    floor = (s.numerator << work) // s.denominator
    lows, highs = (k * two[0], k * two[1]) if k >= 0 else (k * two[1], k * two[0])

    def series(t: int, upward: bool) -> int:
        """exp(t/2^work/2^10)^(2^10) in units of 2^-work, rounded one way; |t| < 2^work."""
        one = 1 << work
        total, term, n = one, one, 1
        while term not in (0, -1):
            term = (term * t >> 10 + work) // n
            total += term
            n += 1
        total += 4 * n if upward else -4 * n
        for _ in range(10):
            total = total * total >> work
            total += upward
        return total

    low, high = series(floor - highs, False), series(floor + 1 - lows, True)
    scale = Fraction(2) ** k / (1 << work)
    return low * scale, high * scale


# ---- families ----


class Family(NamedTuple):
    """Name, last token b, difference u, nodes (m, k), and how V.b is known: by the answers at single tokens
    with these places, or as w.V (``derived``)."""

    name: str
    b: Row
    u: Row
    nodes: list[tuple[int, int]]
    singles: list[int]
    derived: bool


def families(b: list[Row], u: list[Row], direct: bool, nodes: list[list[tuple[int, int]]]) -> list[Family]:
    """Base families by rows, then columns, then rows, in the order of their answers."""
    n = range(len(b))

    def named() -> Iterator[tuple[str, list[int], Row, Row]]:
        for i in n:
            for j in n:
                yield f"base probe ({i + 1}, {j + 1})", [i], b[i], u[j]
        for i in n:
            for j in n[1:]:
                yield f"column probe ({i + 1}, {j + 1})", [i], b[i], _plus(u[0], u[j])
        for i in n[1:]:
            yield f"row probe ({i + 1}, 1)", [0, i], _plus(b[0], b[i]), u[0]

    return [
        Family(name, last, difference, own, used, not direct and used != [0])
        for (name, used, last, difference), own in zip(named(), nodes, strict=True)
    ]


def _plus(x: Row, y: Row) -> Row:
    return tuple(p + q for p, q in zip(x, y, strict=True))


class Response(NamedTuple):
    """What one family answers to errors with, to first order, as upper bounds, and the numbers around it.

    ``log_pole[h][m]``: |A_hm/(x_m c_h r_h)|, ``log_pole_nu[h]``: the same for nu; ``residue``,
    ``residue_nu``: of c_h; ``amplitude``, ``amplitude_nu``: |A_hm/x_m|; ``total[m]``, ``total_nu``,
    ``share``: of sum_h c_h. ``reach[h][g]``: r_g/|r_g - r_h|; ``gap[h][g]``: |r_g - r_h| and ``pole[h]``:
    r_h, rounded down; ``near[h]``: r_h/(r_h + x_j) for finite nodes; ``pull[m][g]``: r_g/(x_m + r_g),
    nothing at infinity.
    """

    log_pole: list[list[Fraction]]
    log_pole_nu: list[Fraction]
    residue: list[list[Fraction]]
    residue_nu: list[Fraction]
    amplitude: list[list[Fraction]]
    amplitude_nu: list[Fraction]
    total: list[Fraction]
    total_nu: Fraction
    share: Fraction
    reach: list[list[Fraction]]
    gap: list[list[Fraction]]
    pole: list[Fraction]
    near: list[list[Fraction]]
    pull: list[list[Fraction]]


def response(nodes: list[tuple[int, int]], r: list[Fraction], c: list[Fraction]) -> Response:
    """The response at distinct poles r_h > 0 and residues c_h != 0."""
    heads = range(len(r))
    x = [Fraction(m, k) if k else None for m, k in nodes]
    finite = [y for y in x if y is not None]
    gap = [[down(abs(r[g] - r[h])) if g != h else Fraction(0) for g in heads] for h in heads]
    spread = [product(1 / abs(y - z) for z in finite if z != y) if y is not None else ONE for y in x]
    squared = [up(product(up(y + g) for g in r) ** 2) if y is not None else ONE for y in x]
    square, nodal = product(up(g) ** 2 for g in r), down(exact_product(finite))
    amplitude, residue, amplitude_nu, residue_nu = [], [], [], []
    for h in heads:
        slope = down(exact_product([down(gap[h][g] ** 2) for g in heads if g != h]))
        whole = product(up(r[h] + y) for y in finite)
        # enclosures of the bracket of step 2: -2 sum 1/(r_g - r_h) - sum 1/(r_h + x_j) over the other nodes
        reciprocals = {y: (down(1 / (r[h] + y)), up(1 / (r[h] + y))) for y in finite}
        low, high = enclosed_sum([(r[g] - r[h], -2) for g in heads if g != h])
        low -= sum((above for _, above in reciprocals.values()), ZERO)
        high -= sum((below for below, _ in reciprocals.values()), ZERO)
        row, rates = [], []
        for y, near, far in zip(x, spread, squared, strict=True):
            if y is None:
                row.append(up(whole / slope))
                rates.append(up(max(high, -low)))
            else:
                below, above = reciprocals[y]
                row.append(up(up(whole / down(r[h] + y)) * near * far / (slope * y)))
                rates.append(up(max(high + below, -low - above)))
        amplitude.append(row)
        residue.append([up(a * rate) for a, rate in zip(row, rates, strict=True)])
        amplitude_nu.append(up(square * whole / (nodal * r[h] * slope)))
        below, above = enclosed_sum([(r[h], 1)])
        residue_nu.append(up(amplitude_nu[h] * up(max(high + above, -low - below))))
    if len(finite) < len(nodes):
        total, total_nu, share = [ZERO if y is not None else ONE for y in x], ONE, ZERO
    else:
        total = [up(n * f / y) for y, n, f in zip(finite, spread, squared, strict=True)]
        share = up(square / nodal)
        total_nu = up(
            max(share - 1, 1 - down(exact_product([down(g) ** 2 for g in r])) / up(exact_product(finite)))
        )
    sizes = [down(abs(e) * g) for g, e in zip(r, c, strict=True)]
    return Response(
        log_pole=[[up(a / size) for a in row] for row, size in zip(amplitude, sizes, strict=True)],
        log_pole_nu=[up(a / size) for a, size in zip(amplitude_nu, sizes, strict=True)],
        residue=residue,
        residue_nu=residue_nu,
        amplitude=amplitude,
        amplitude_nu=amplitude_nu,
        total=total,
        total_nu=total_nu,
        share=share,
        reach=[[up(r[g] / gap[h][g]) if g != h else ZERO for g in heads] for h in heads],
        gap=gap,
        pole=[down(g) for g in r],
        near=[[up(r[h] / (r[h] + y)) for y in finite] for h in heads],
        pull=[[] if y is None else [up(g / (y + g)) for g in r] for y in x],
    )


def exact_product(factors: list[Fraction]) -> Fraction:
    """A product of rationals."""
    result = ONE
    for factor in factors:
        result *= factor
    return result


def enclosed_sum(terms: list[tuple[Fraction, int]]) -> tuple[Fraction, Fraction]:
    """An enclosure of the sum of n/x over the terms (x, n)."""
    low = high = ZERO
    for x, n in terms:
        below, above = down(abs(n / x)), up(abs(n / x))
        positive = (x > 0) == (n > 0)
        low, high = low + (below if positive else -above), high + (above if positive else -below)
    return low, high


def image(
    own: Response, X: list[Fraction], error: Fraction, beta: Fraction
) -> tuple[list[Fraction], list[Fraction]] | None:
    """Relative bounds of the poles and bounds of the residues, while the poles are within X_h r_h of r_h;
    None
    if such poles may meet each other or zero."""
    heads = range(len(X))
    moved = [[X[g] * own.reach[h][g] for g in heads] for h in heads]  # |q_g - r_g|/|r_g - r_h|
    if any(X[h] >= 1 or moved[h][g] + moved[g][h] >= 1 for h in heads for g in heads):
        return None
    outside = [product(1 + x * w for x, w in zip(X, row, strict=False)) for row in own.pull]
    inside = product(1 + x for x in X)
    poles, residues = [], []
    for h in heads:
        others = [g for g in heads if g != h]
        along = sum((up(s * f) for s, f in zip(own.log_pole[h], outside, strict=True)), ZERO)
        apart = product(1 / (1 - moved[h][g]) for g in others)
        poles.append(up(error * (along + beta * own.log_pole_nu[h] * inside) * apart))
        factor = product(1 + X[h] * n for n in own.near[h])
        turn = sum((up(n * n * X[h] / (own.pole[h] * (1 - X[h] * n))) for n in own.near[h]), ZERO)
        for g in others:
            one, both = up(moved[g][h]), up(moved[h][g] + moved[g][h])
            factor = up(factor / ((1 - one) * (1 - both)))
            turn += up((one / (1 - one) + both / (1 - both)) / own.gap[h][g])
        rows = zip(outside, own.residue[h], own.amplitude[h], strict=True)
        spread = sum((up(f * (s + turn * a)) for f, s, a in rows), ZERO)
        turn_nu = turn + X[h] / (own.pole[h] * (1 - X[h]))
        spread += beta * inside * (own.residue_nu[h] + turn_nu * own.amplitude_nu[h]) / (1 - X[h])
        residues.append(up(error * factor * spread))
    return poles, residues


def sum_bound(own: Response, X: list[Fraction], error: Fraction) -> Fraction:
    """A bound of |sum_h s_h - sum_h c_h| in the box, for |nu| <= error."""
    outside = [product(1 + x * w for x, w in zip(X, row, strict=False)) for row in own.pull]
    inside = product(1 + x for x in X)
    along = sum((t * f for t, f in zip(own.total, outside, strict=True)), ZERO)
    return up(error * (along + own.total_nu + own.share * (inside - 1)))


# ---- enclosure, version 1 ----


class Layout(NamedTuple):
    """Sizes, vectors and inverses of a certificate."""

    heads: int
    direct: bool
    b: list[Row]
    u: list[Row]
    B: list[Row]
    U: list[Row]
    families: list[Family]


class Boxes(NamedTuple):
    """Of one family, in one order of the heads: r_h, c_h, relative bounds of r_h, bounds of c_h."""

    r: list[Fraction]
    c: list[Fraction]
    X: list[Fraction]
    Y: list[Fraction]


def check_enclosure(data: dict[str, Any]) -> str:
    """Verifies the content of an enclosure certificate; returns the summary of its statement."""
    exactly(data["base"], "base", "e")
    layout = read_layout(data)
    error, total = (number(data[key], key) for key in ("error", "error_with_rounding"))
    if not 0 < error <= total:
        refuse("error_with_rounding", "must be at least the error, and that positive")
    answers = [
        number(x, path) for path, x in items(data["answers"], "answers", data["queries"], data["queries"])
    ]
    boxes = read_boxes(data["families"], layout)
    check_residuals(layout, boxes, answers, total - error)
    check_boxes(layout, boxes, total)
    check_labels(layout, boxes)
    centres = read_heads(data["heads"], "heads", layout.heads, len(layout.b))
    radii = read_heads(data["radii"], "radii", layout.heads, len(layout.b))
    if not len(centres) == len(radii) == layout.heads:
        refuse("heads", f"there must be {layout.heads} heads, and as many radii")
    for h in range(layout.heads):
        check_head(layout, boxes, h, centres[h], radii[h])
    check_values(data["model"], layout, answers, error)
    widest = max(x for W, v in radii for row in (*W, v) for x in row)
    digits = len(str(int(1 / widest))) - 1 if widest else 0
    public = "; the answers are those of the public model" if data["model"] is not None else ""
    return (
        f"enclosure of {layout.heads} heads; token size {len(layout.b)}, queries {data['queries']}, longest "
        f"{data['longest']}; every layer with at most {layout.heads} canonical heads that gives these "
        f"answers to within the stated error lies in it, to {digits} decimal places{public}"
    )


def read_layout(data: dict[str, Any]) -> Layout:
    """Vectors, inverses and families; counts are those of the families."""
    heads = count(data["heads_bound"], "heads_bound", 1, MAX_HEADS)
    dim = count(data["dim"], "dim", 1, MAX_DIM)
    if type(data["direct"]) is not bool:
        refuse("direct", "must be true or false")
    rows = {key: list(numbers(data[key], key, dim, dim)) for key in ("b", "u", "b_inverse", "u_inverse")}
    for key in ("b", "u"):
        inverse = rows[f"{key}_inverse"]
        for i, row in enumerate(rows[key]):
            if any(dot(row, column) != (i == j) for j, column in enumerate(zip(*inverse, strict=True))):
                refuse(f"{key}_inverse", f"is not the inverse of the matrix with rows {key} (row {i})")
    number_of_families = 2 * dim * dim - 1
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
    asked = (dim if data["direct"] else 1) + 2 * heads * number_of_families
    exactly(data["queries"], "queries", asked)
    exactly(data["longest"], "longest", max(m + k for entry in nodes for m, k in entry))
    return Layout(
        heads, data["direct"], rows["b"], rows["u"], rows["b_inverse"], rows["u_inverse"],
        families(rows["b"], rows["u"], data["direct"], nodes),
    )  # fmt: skip


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
    """V.b as the design knows it."""
    if not family.derived:
        return sum((answers[place] for place in family.singles), ZERO)
    sums = [sum(boxes[j].c, ZERO) for j in range(len(layout.u))]
    value: Fraction = dot(family.b, [dot(row, sums) for row in layout.U])
    return value


def check_residuals(layout: Layout, boxes: list[Boxes], answers: list[Fraction], most: Fraction) -> None:
    """Step 1: the listed poles and residues give the answers to within ``most``."""
    if most == 0:
        refuse("error_with_rounding", "must be more than the error")
    work = most.denominator.bit_length() - most.numerator.bit_length() + 64
    if work > MAX_PRECISION:
        refuse("error_with_rounding", "differs too little from the error")
    work = max(work, 64)
    place = len(layout.b) if layout.direct else 1
    slack = Fraction(layout.heads + 2, 1 << work)
    for family, box in zip(layout.families, boxes, strict=True):
        known = known_value(layout, family, boxes, answers)
        for m, k in family.nodes:
            parts = [fixed(c * m / (m + k * r) if k else c, work) for r, c in zip(box.r, box.c, strict=True)]
            value = known - Fraction(sum(parts), 1 << work)
            if abs(value - answers[place]) + slack > most:
                refuse(
                    f"answers[{place}]", f"{family.name}: is not the value of the poles and residues listed"
                )
            place += 1


def fixed(x: Fraction, work: int) -> int:
    """The integer below 2^work x."""
    return (x.numerator << work) // x.denominator


def check_boxes(layout: Layout, boxes: list[Boxes], error: Fraction) -> None:
    """Step 3, with the bound on nu of step 1."""
    totals: list[Fraction] = []
    for n, (family, box) in enumerate(zip(layout.families, boxes, strict=True)):
        own = response(family.nodes, box.r, box.c)
        if n < len(layout.u) and not layout.direct:
            totals.append(sum_bound(own, box.X, error))
        found = image(own, box.X, error, beta(layout, family, totals, error))
        if found is None or any(x > y for x, y in zip(found[0], box.X, strict=True)):
            refuse(f"families[{n}]", f"{family.name}: poles may leave their bounds")
        if any(x > y or y >= abs(c) for x, y, c in zip(found[1], box.Y, box.c, strict=True)):
            refuse(f"families[{n}]", f"{family.name}: residues may leave their bounds, or vanish")


def beta(layout: Layout, family: Family, totals: list[Fraction], error: Fraction) -> Fraction:
    """|nu| in units of the error: how many single answers V.b is made of, or what the sums of residues of the
    first row may be off by (``totals``)."""
    if not family.derived:
        return Fraction(len(family.singles))
    weights = [dot(family.b, column) for column in zip(*layout.U, strict=True)]
    return up(sum((abs(w) * t for w, t in zip(weights, totals, strict=True)), ZERO) / error)


def check_labels(layout: Layout, boxes: list[Boxes]) -> None:
    """Step 4."""
    dim = len(layout.b)
    base = [[boxes[i * dim + j] for j in range(dim)] for i in range(dim)]
    columns = iter(boxes[dim * dim : dim * dim + dim * (dim - 1)])
    for i in range(dim):
        for j in range(1, dim):
            check_link(f"column probe ({i + 1}, {j + 1})", base[i][0], base[i][j], next(columns), False)
    for i, z in enumerate(boxes[dim * dim + dim * (dim - 1) :], 1):
        check_link(f"row probe ({i + 1}, 1)", base[0][0], base[i][0], z, True)


def check_link(name: str, x: Boxes, y: Boxes, z: Boxes, row: bool) -> None:
    """No poles of different heads of X and Y go together in Z."""
    ends = [
        ([down(r * (1 - X)) for r, X in zip(f.r, f.X, strict=True)],
         [up(r * (1 + X)) for r, X in zip(f.r, f.X, strict=True)])
        for f in (x, y, z)
    ]  # fmt: skip
    (xl, xh), (yl, yh), (zl, zh) = ends
    n = range(len(x.r))
    for h in n:
        for g in n:
            if g == h or (row and abs(x.c[h] - y.c[g]) > x.Y[h] + y.Y[g]):
                continue
            low, high = xl[h] * yl[g], xh[h] * yh[g]
            for k in n:
                if low > zh[k] or high < zl[k]:
                    continue
                expected, bound = (x.c[h], x.Y[h]) if row else (x.c[h] + y.c[g], x.Y[h] + y.Y[g])
                if abs(expected - z.c[k]) <= bound + z.Y[k]:
                    refuse("families", f"{name}: the labels of two heads are ambiguous")


def check_head(layout: Layout, boxes: list[Boxes], h: int, centre: Head, radius: Head) -> None:
    """Step 5 for one head."""
    (W_radius, v_radius) = radius
    least = min(x for row in (*W_radius, v_radius) for x in row)
    if least <= 0:
        refuse(f"radii[{h}]", "must be positive")
    bits = max(64, least.denominator.bit_length() - least.numerator.bit_length() + 64)
    if bits > MAX_PRECISION:
        refuse(f"radii[{h}]", f"has more than {MAX_PRECISION} bits after the point")
    W, v = needed_radii(layout, boxes, h, centre, bits)
    for i, (needed, given) in enumerate(zip((*W, v), (*W_radius, v_radius), strict=True)):
        for j, (x, y) in enumerate(zip(needed, given, strict=True)):
            if x > y:
                refuse(f"radii[{h}]", f"is too small in row {i}, column {j}, of W and v")


def needed_radii(layout: Layout, boxes: list[Boxes], h: int, centre: Head, bits: int) -> Head:
    """How far the entries of W_h and v_h may be from a centre, with logarithms to so many bits."""
    W, v = centre
    n = range(len(layout.b))
    scores = [
        [dot([dot(b, column) for column in zip(*W, strict=True)], u) for u in layout.u] for b in layout.b
    ]
    off = []
    for i in n:
        row = []
        for j in n:
            box = boxes[i * len(n) + j]
            low, high = log(box.r[h], bits)
            row.append(up(max(abs(scores[i][j] - low), abs(scores[i][j] - high)) + box.X[h] / (1 - box.X[h])))
        off.append(row)
    B, U = ([[abs(x) for x in row] for row in matrix] for matrix in (layout.B, layout.U))
    half = [[dot(row, column) for column in zip(*off, strict=True)] for row in B]
    away = [up(abs(dot(v, layout.u[j]) - boxes[j].c[h]) + boxes[j].Y[h]) for j in n]
    return tuple(tuple(up(dot(row, u)) for u in U) for row in half), tuple(up(dot(u, away)) for u in U)


def check_values(model: Any, layout: Layout, answers: list[Fraction], error: Fraction) -> None:
    """The answers are within the error of the public model's values, and it has at most H canonical heads."""
    if model is None:
        return
    given = read_heads(record(model, "model", {"heads"})["heads"], "model.heads", MAX_HEADS, len(layout.b))
    merged: dict[Any, Row] = {}
    for W, v in given:
        merged[W] = _plus(merged.get(W, (ZERO,) * len(v)), v)
    heads = [(W, v) for W, v in merged.items() if any(v)]
    if len(heads) > layout.heads:
        refuse("model.heads", f"there are more than {layout.heads} canonical heads")
    work = error.denominator.bit_length() - error.numerator.bit_length() + 64
    if not 64 <= work <= MAX_PRECISION:
        refuse("error", "is too large or too small to compare answers with the model's values")
    place = 0
    for row in layout.b[: len(layout.b) if layout.direct else 1]:
        if abs(sum((dot(v, row) for _, v in heads), ZERO) - answers[place]) > error:
            refuse(f"answers[{place}]", "is not the model's value at one token")
        place += 1
    for family in layout.families:
        known = sum((dot(v, family.b) for _, v in heads), ZERO)
        terms = []
        for W, v in heads:
            score = dot([dot(family.b, column) for column in zip(*W, strict=True)], family.u)
            if abs(score) > MAX_SCORE:
                refuse("model.heads", f"{family.name}: the score is beyond {MAX_SCORE}")
            terms.append((dot(v, family.u), *exp(score, work)))
        for m, k in family.nodes:
            low = high = 0
            for c, *ends in terms:
                values = [fixed(c * m / (m + k * r) if k else c, work) for r in ends]
                low, high = low + min(values), high + max(values) + 1
            far = max(abs(known - Fraction(x, 1 << work) - answers[place]) for x in (low, high))
            if far > error:
                refuse(f"answers[{place}]", f"{family.name}: is not within the error of the model's value")
            place += 1


ENCLOSURE_STATEMENT = """
* The {queries} queries are: {singles}; and in each of 2*d^2 - 1 = {families} probes (b, u), d = {dim}, at
2*H = {nodes} nodes [m, k] m copies of b - u and k of b, the last token b ([1, 0]: b - u alone). The probes
are (b_i, u_j), (b_i, u_1 + u_j), (b_1 + b_i, u_1). The longest query has {longest} tokens.
* Every layer with real parameters, softmax scores in base e and at most H = {K} canonical heads, whose values
at these queries differ from the answers listed by at most {error} each, has exactly {K} canonical heads
(W_h, v_h), and in some order each of their entries differs from the one listed by at most the radius listed.
* In every probe, for every such layer, the numbers exp(b^T W_h u) are pairwise distinct and no v_h.u is zero;
they are within the bounds listed for the probe.
* model | The values of the public model ({model}) at these queries differ from the answers by at most {error}
each, and it has at most {K} canonical heads: so its canonical heads are in these enclosures.
"""
ENCLOSURE_HYPOTHESES = """
* invertible | verified | The matrix with rows b_i and the matrix with rows u_j are invertible (witnesses:
b_inverse, u_inverse).
* near-answers | verified | The poles and residues listed give the answers to within rounding.
* boxes | verified | In every probe the bounds on poles are mapped into themselves by all errors allowed,
poles stay apart and positive, and no residue reaches zero.
* unique-labels | verified | No scores and residues of different heads of two probes can go together in a
third.
* model | layer | verified for the model | The public model has at most H canonical heads, and its values are
within the error of the answers.
* no model | layer | assumed | Whoever answered computes an attention layer with at most H canonical heads, in
base e, with errors of at most {error}.
"""
ENCLOSURE_LIMITS = """
* no model | That whoever answered computes such a layer, or that its errors are as small as stated.
* model | That any program which is said to compute the public model does so.
* That no layer with more than {K} canonical heads gives answers as close.
* That the enclosures are as small as they could be.
* How the query vectors were chosen, and whether before the answers were known.
* Anything about heads before those with equal W are merged and those with v = 0 dropped.
"""


def enclosure_texts(data: dict[str, Any]) -> dict[str, Any]:
    """The sentences of an enclosure certificate, from its content."""
    dim, public = data["dim"], data["model"] is not None
    facts = {key: data[key] for key in ("queries", "longest", "error", "dim")}
    facts |= {"K": data["heads_bound"], "nodes": 2 * data["heads_bound"], "families": 2 * dim * dim - 1}
    facts |= {"model": digest(data["model"])}
    facts["singles"] = "each b_i alone" if data["direct"] else "b_1 alone"
    conditions = {"model": public, "no model": not public}
    return sentences((ENCLOSURE_STATEMENT, ENCLOSURE_HYPOTHESES, ENCLOSURE_LIMITS), facts, conditions)


ENCLOSURE_KEYS = """base heads_bound dim direct b u b_inverse u_inverse nodes answers error
error_with_rounding
    families heads radii queries longest model"""
ENCLOSURE = Kind(ENCLOSURE_KEYS, check_enclosure, enclosure_texts)
