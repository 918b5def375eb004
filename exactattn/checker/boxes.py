"""Boxes of one probe: steps 2 and 3 of :mod:`exactattn.checker.enclosure`."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from .real_bounds import ONE, ZERO, down, enclosed_sum, exact_product, product, up

__all__ = ["Family", "Response", "Row", "combined", "families", "image", "response", "sum_bound"]

Row = tuple[Fraction, ...]


class Family(NamedTuple):
    """Name, last token b, difference u, nodes (m, k), and how the value at b alone is known: as n times the
    answer at a single token, for (place, n) in ``singles``, plus w.V (``of_sum``, nothing if None)."""

    name: str
    b: Row
    u: Row
    nodes: list[tuple[int, int]]
    singles: list[tuple[int, int]]
    of_sum: Row | None


def families(
    b: list[Row], u: list[Row], direct: bool, bias: bool, nodes: list[list[tuple[int, int]]]
) -> list[Family]:
    """Base families by rows, then columns, then rows, in the order of their answers.

    The last token that joins b_1 and b_i is their sum, with biases 2 b_i - b_1. Unless it is asked, the value
    at b alone is V.b, with biases that at b_1 plus V.(b - b_1).
    """
    rows, columns = range(len(b)), range(len(u))

    def named() -> Iterator[tuple[str, list[tuple[int, int]], Row]]:
        for i in rows:
            for j in columns:
                yield f"base probe ({i + 1}, {j + 1})", [(i, 1)], u[j]
        for i in rows:
            for j in columns[1:]:
                yield f"column probe ({i + 1}, {j + 1})", [(i, 1)], combined([(1, u[0]), (1, u[j])])
        for i in rows[1:]:
            yield f"row probe ({i + 1}, 1)", [(0, -1), (i, 2)] if bias else [(0, 1), (i, 1)], u[0]

    result = []
    for (name, used, difference), own in zip(named(), nodes, strict=True):
        last = combined([(n, b[i]) for i, n in used])
        if direct or used == [(0, 1)]:
            result.append(Family(name, last, difference, own, used, None))
        elif bias:
            result.append(Family(name, last, difference, own, [(0, 1)], combined([(1, last), (-1, b[0])])))
        else:
            result.append(Family(name, last, difference, own, [], last))
    return result


def combined(terms: list[tuple[int, Row]]) -> Row:
    """The sum of n times a vector."""
    columns = zip(*(row for _, row in terms), strict=True)
    return tuple(sum((n * x for (n, _), x in zip(terms, c, strict=True)), ZERO) for c in columns)


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
