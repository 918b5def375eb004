"""Enclosure certificates, version 1: every layer that gives answers close to those listed has parameters in
the enclosures listed.

Why the statement follows from what is verified. Let L' be a layer with at most H canonical heads whose
values (base e) at the listed queries are within E of the listed answers. A family is a pair (b, u) with 2H
nodes x = m/k: m copies of a = b - u and k of b, the last token b; x = oo is a alone. The value of L' is V'.b
- x G'(x), G'(x) = sum_h c'_h/(x + r'_h), c'_h = v'_h.u, r'_h = exp(b^T W'_h u), V' = sum_h v'_h. The listed
r_h, c_h of the family give f(x) = k - x sum_h c_h/(x + r_h), where k is the listed answer at b alone
(direct; a sum of two where b is one), or else w.V with V from the listed c_h of the families (b_1, u_j).

With biases there are d + 1 last tokens, r'_h = exp((1, b)^T W'_h u), and a constant is added to all values: k
is then the answer at b_1 plus V.(b - b_1), and the constant is the value at b_1 less V'.b_1. In base 2 with
denominator D, exp(s) is 2^(D s), so log r'_h is D log 2 times a score.

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
4. On X = (b_i, u_1), Y = (b_i, u_j), Z = (b_i, u_1 + u_j) the log r'_h add and so do the c'_h; on
   X = (b_1, u_1), Y = (b_i, u_1), Z = (b_1 + b_i, u_1) the log r'_h add and the c'_h are equal (with biases
   Z = (2 b_i - b_1, u_1), and twice the one of Y is the sum of the others). No boxes of h in X, g != h in Y
   and any k in Z allow that (verified), so all families (b_i, u_j) have one order of heads.
5. W'_h = B^-1 (log r'_h(b_i, u_j)) U^-T and v'_h = U^-1 (c'_h(b_1, u_j)), B and U with rows b_i, or (1, b_i),
   and u_j; the listed centres and radii hold these for all r', c' in the boxes (verified, with enclosures of
   log).

All numbers are rational; bounds are rounded outward to 192 significant bits. With a public model, its values
are enclosed with enclosures of exp, and are within E of the answers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .boxes import Row, combined, image, response, sum_bound
from .check import MAX_HEADS, Head, Kind, dot, items, number, record, refuse
from .enclosure_content import (
    Boxes,
    Layout,
    beta,
    known_value,
    needed_constant_radius,
    needed_radii,
    read_boxes,
    read_heads,
    read_layout,
)
from .enclosure_text import enclosure_texts
from .real_bounds import ONE, ZERO, down, exp, up

__all__ = ["ENCLOSURE"]

MAX_PRECISION = 1 << 13  # bits after the point in sums that must cancel, and in logarithms
MAX_SCORE = 1 << 12


def check_enclosure(data: dict[str, Any]) -> str:
    """Verifies the content of an enclosure certificate; returns the summary of its statement."""
    layout = read_layout(data)
    error, total = (number(data[key], key) for key in ("error", "error_with_rounding"))
    if not 0 < error <= total:
        refuse("error_with_rounding", "must be at least the error, and that positive")
    answers = [
        number(x, path) for path, x in items(data["answers"], "answers", data["queries"], data["queries"])
    ]
    boxes = read_boxes(data["families"], layout)
    totals: list[Fraction] = []
    check_residuals(layout, boxes, answers, total - error)
    check_boxes(layout, boxes, total, totals)
    check_labels(layout, boxes)
    centres = read_heads(data["heads"], "heads", layout.heads, layout)
    radii = read_heads(data["radii"], "radii", layout.heads, layout)
    if not len(centres) == len(radii) == layout.heads:
        refuse("heads", f"there must be {layout.heads} heads, and as many radii")
    for h in range(layout.heads):
        check_head(layout, boxes, h, centres[h], radii[h])
    check_constant(data, layout, boxes, answers[0], error, totals)
    check_values(data["model"], layout, answers, error)
    widest = max(x for W, v in radii for row in (*W, v) for x in row)
    digits = len(str(int(1 / widest))) - 1 if widest else 0
    public = "; the answers are those of the public model" if data["model"] is not None else ""
    return (
        f"enclosure of {layout.heads} heads; token size {len(layout.u)}, queries {data['queries']}, longest "
        f"{data['longest']}; every layer with at most {layout.heads} canonical heads that gives these "
        f"answers to within the stated error lies in it, to {digits} decimal places{public}"
    )


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


def check_boxes(layout: Layout, boxes: list[Boxes], error: Fraction, totals: list[Fraction]) -> None:
    """Step 3, with the bound on nu of step 1; ``totals`` gets the bounds of the sums of residues in the first
    row of families."""
    for n, (family, box) in enumerate(zip(layout.families, boxes, strict=True)):
        own = response(family.nodes, box.r, box.c)
        if n < len(layout.u):
            totals.append(sum_bound(own, box.X, error))
        found = image(own, box.X, error, beta(layout, family, totals, error))
        if found is None or any(x > y for x, y in zip(found[0], box.X, strict=True)):
            refuse(f"families[{n}]", f"{family.name}: poles may leave their bounds")
        if any(x > y or y >= abs(c) for x, y, c in zip(found[1], box.Y, box.c, strict=True)):
            refuse(f"families[{n}]", f"{family.name}: residues may leave their bounds, or vanish")


def check_labels(layout: Layout, boxes: list[Boxes]) -> None:
    """Step 4."""
    rows, dim = len(layout.b), len(layout.u)
    base = [[boxes[i * dim + j] for j in range(dim)] for i in range(rows)]
    others = iter(boxes[rows * dim :])
    for i in range(rows):
        for j in range(1, dim):
            check_link(f"column probe ({i + 1}, {j + 1})", base[i][0], base[i][j], next(others), False, False)
    for i, z in enumerate(others, 1):
        check_link(f"row probe ({i + 1}, 1)", base[0][0], base[i][0], z, True, layout.bias)


def check_link(name: str, x: Boxes, y: Boxes, z: Boxes, row: bool, bias: bool) -> None:
    """No poles of different heads of X and Y go together in Z: with r_X r_Y = r_Z, or in a row with biases
    r_Y^2 = r_X r_Z."""
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
            if row and bias:
                low, high = yl[g] ** 2 / xh[h], yh[g] ** 2 / xl[h]
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


def check_constant(
    data: dict[str, Any],
    layout: Layout,
    boxes: list[Boxes],
    alone: Fraction,
    error: Fraction,
    totals: list[Fraction],
) -> None:
    """The constant output: the value at b_1 alone less V.b_1."""
    if not layout.bias:
        if data["constant"] is not None or data["constant_radius"] is not None:
            refuse("constant", "must be null without biases, and so must its radius")
        return
    centre, radius = (number(data[key], key) for key in ("constant", "constant_radius"))
    if needed_constant_radius(layout, boxes, centre, alone, error, totals) > radius:
        refuse("constant_radius", "is too small")


def check_values(model: Any, layout: Layout, answers: list[Fraction], error: Fraction) -> None:
    """The answers are within the error of the public model's values, and it has at most H canonical heads."""
    if model is None:
        return
    record(model, "model", {"heads", "constant"} if layout.bias else {"heads"})
    given = read_heads(model["heads"], "model.heads", MAX_HEADS, layout)
    constant = number(model["constant"], "model.constant") if layout.bias else ZERO
    merged: dict[Any, Row] = {}
    for W, v in given:
        merged[W] = combined([(1, merged.get(W, (ZERO,) * len(v))), (1, v)])
    heads = [(W, v) for W, v in merged.items() if any(v)]
    if len(heads) > layout.heads:
        refuse("model.heads", f"there are more than {layout.heads} canonical heads")
    work = error.denominator.bit_length() - error.numerator.bit_length() + 64
    if not 64 <= work <= MAX_PRECISION:
        refuse("error", "is too large or too small to compare answers with the model's values")
    place = 0
    for row in layout.b[: len(layout.b) if layout.direct else 1]:
        if abs(sum((dot(v, row) for _, v in heads), constant) - answers[place]) > error:
            refuse(f"answers[{place}]", "is not the model's value at one token")
        place += 1
    for family in layout.families:
        known = sum((dot(v, family.b) for _, v in heads), constant)
        terms = []
        asking = (ONE, *family.b) if layout.bias else family.b
        for W, v in heads:
            score = dot([dot(asking, column) for column in zip(*W, strict=True)], family.u)
            if abs(score) * (layout.D or 1) > MAX_SCORE:
                refuse("model.heads", f"{family.name}: the score is beyond {MAX_SCORE}")
            terms.append((dot(v, family.u), *power(score, layout.D, work, family.name)))
        for m, k in family.nodes:
            low = high = 0
            for c, *ends in terms:
                values = [fixed(c * m / (m + k * r) if k else c, work) for r in ends]
                low, high = low + min(values), high + max(values) + 1
            far = max(abs(known - Fraction(x, 1 << work) - answers[place]) for x in (low, high))
            if far > error:
                refuse(f"answers[{place}]", f"{family.name}: is not within the error of the model's value")
            place += 1


def power(score: Fraction, D: int | None, work: int, name: str) -> tuple[Fraction, Fraction]:
    """An enclosure of exp(score), or 2^(D score) exactly."""
    if D is None:
        return exp(score, work)
    if (score * D).denominator != 1:
        refuse("model.heads", f"{name}: D times the score is no integer")
    exact = Fraction(2) ** int(score * D)
    return exact, exact


ENCLOSURE_KEYS = """base denominator bias heads_bound dim direct b u b_inverse u_inverse nodes answers error
    error_with_rounding families heads radii constant constant_radius queries longest model"""
ENCLOSURE = Kind(ENCLOSURE_KEYS, check_enclosure, enclosure_texts)
