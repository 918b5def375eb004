"""The listed form of a Transformer, its network, its signed sums, and the public model.

Matrices by rows; v and the directions D_k flat over all blocks: one of d numbers for each head, then one for
the last token, with a residual.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from .check import MAX_DIM, MAX_HEADS, cleared, count, items, number, numbers, record, refuse

__all__ = ["Form", "check_model", "check_network", "check_sums", "flat", "read_form"]

MAX_NEURONS, MAX_SIZE = 1 << 8, 1 << 9  # MAX_SIZE: numbers in one direction
MAX_SUMMED = 10  # neurons whose signed sums are all tried, (3^K - 1)/2 of them

Row = tuple[Fraction, ...]
Integers = tuple[int, ...]


class Form(NamedTuple):
    """F = 1/2 (v.Z + sum_k sigma_k |D_k.Z|), as it is listed and cleared of denominators.

    ``rows`` are v and the D_k as integers over ``unit``, ``scores`` the matrices D*W_h each over its own.
    """

    matrices: list[tuple[Row, ...]]
    linear: Row
    kinks: list[tuple[int, Row]]
    dim: int
    residual: bool
    rows: list[Integers]
    unit: int
    scores: list[tuple[list[Integers], int]]

    @property
    def blocks(self) -> int:
        return len(self.matrices) + self.residual

    @property
    def size(self) -> int:
        return self.blocks * self.dim


def read_form(data: dict[str, Any]) -> Form:
    """The form, which must be canonical."""
    D = number(data["denominator"], "denominator")
    if D < 1 or D.denominator != 1:
        refuse("denominator", "must be a positive integer")
    dim = count(data["dim"], "dim", 2, MAX_DIM)
    bound = count(data["heads_bound"], "heads_bound", 1, MAX_HEADS)
    residual = truth(data["residual"], "residual")
    matrices = [numbers(W, path, dim, dim) for path, W in items(data["matrices"], "matrices", 0, bound)]
    if any(x >= y for x, y in pairwise(matrices)):
        refuse("matrices", "must be different, in ascending order")
    blocks = len(matrices) + residual
    if blocks * dim > MAX_SIZE:
        refuse("matrices", f"give directions of more than {MAX_SIZE} numbers")
    linear = flat(numbers(data["linear"], "linear", blocks, dim))
    kinks = []
    for path, kink in items(data["kinks"], "kinks", 0, MAX_NEURONS):
        record(kink, path, {"sign", "direction"})
        sign = count(kink["sign"], f"{path}.sign", -1, 1)
        direction = flat(numbers(kink["direction"], f"{path}.direction", blocks, dim))
        if sign == 0 or next((x for x in direction if x), Fraction(-1)) < 0:
            refuse(path, "must have a sign, and a direction whose first non-zero entry is positive")
        kinks.append((sign, direction))
    if any(x >= y for x, y in pairwise(kinks)):
        refuse("kinks", "must be different, in ascending order")
    units = [tuple(x / next(y for y in d if y) for x in d) for _, d in kinks]
    if len(set(units)) < len(units):
        refuse("kinks", "two are parallel")
    for block in range(blocks):
        part = slice(block * dim, (block + 1) * dim)
        if not any(any(row[part]) for row in [linear, *(d for _, d in kinks)]):
            refuse("matrices" if block < len(matrices) else "residual", f"block {block} has no effect")
    rows, unit = cleared((linear, *(d for _, d in kinks)), "kinks")
    scores = [
        cleared(tuple(tuple(D * x for x in row) for row in W), f"matrices[{h}]")
        for h, W in enumerate(matrices)
    ]
    return Form(matrices, linear, kinks, dim, residual, rows, unit, scores)


def truth(x: Any, path: str) -> bool:
    if type(x) is not bool:
        refuse(path, "must be true or false")
    return x


def flat(rows: Any) -> Row:
    return tuple(x for row in rows for x in row)


def check_network(data: dict[str, Any], form: Form) -> None:
    """The neurons a ReLU(beta.Z), and the linear path if any, have the listed form."""
    shape = (form.blocks, form.dim)
    total = [Fraction(0)] * form.size
    if data["bypass"] is not None:
        total = [2 * x for x in flat(numbers(data["bypass"], "bypass", *shape))]
    found = []
    for path, neuron in items(data["neurons"], "neurons", 0, MAX_NEURONS):
        record(neuron, path, {"a", "beta"})
        a, beta = number(neuron["a"], f"{path}.a"), flat(numbers(neuron["beta"], f"{path}.beta", *shape))
        total = [x + a * y for x, y in zip(total, beta, strict=True)]
        lead = next((y for y in beta if y), Fraction(0))
        factor = abs(a) if lead > 0 else -abs(a)
        found.append((1 if a > 0 else -1, tuple(factor * y for y in beta)))
    if sorted(found) != form.kinks or tuple(total) != form.linear:
        refuse("neurons", "are not those of the listed form")


def check_sums(form: Form) -> bool:
    """Whether all signed sums of directions, summed over blocks, were tried; none may vanish."""
    if len(form.kinks) > MAX_SUMMED:
        return False
    totals = [(0,) * form.dim]
    for direction in form.rows[1:]:
        s = [sum(direction[i :: form.dim]) for i in range(form.dim)]
        totals += [tuple(x + c * y for x, y in zip(t, s, strict=True)) for t in totals for c in (1, -1)]
    if sum(not any(t) for t in totals) > 1:
        refuse("kinks", "a signed sum of directions, summed over blocks, vanishes")
    return True


def check_model(model: Any, form: Form) -> None:
    """A public model: its own network must have the listed form."""
    if model is None:
        return
    record(model, "model", {"matrices", "neurons", "bypass", "residual"})
    dim, residual = form.dim, truth(model["residual"], "model.residual")
    matrices = [numbers(W, p, dim, dim) for p, W in items(model["matrices"], "model.matrices", 0, MAX_HEADS)]
    names: list[Any] = [*matrices, *([None] if residual else [])]
    order: list[Any] = [*sorted(set(matrices)), *([None] if residual else [])]

    def gathered(x: Any, path: str) -> list[Fraction]:
        total = {name: [Fraction(0)] * dim for name in order}
        for name, block in zip(names, numbers(x, path, len(names), dim), strict=True):
            total[name] = [p + q for p, q in zip(total[name], block, strict=True)]
        return [x for name in order for x in total[name]]

    whole = [Fraction(0)] * (len(order) * dim)
    if model["bypass"] is not None:
        whole = [2 * x for x in gathered(model["bypass"], "model.bypass")]
    kinks: dict[Row, Fraction] = {}
    for path, neuron in items(model["neurons"], "model.neurons", 0, MAX_NEURONS):
        record(neuron, path, {"a", "beta"})
        a, beta = number(neuron["a"], f"{path}.a"), gathered(neuron["beta"], f"{path}.beta")
        whole = [x + a * y for x, y in zip(whole, beta, strict=True)]
        lead = next((y for y in beta if y), None)
        if lead is not None:
            unit = tuple(y / lead for y in beta)
            kinks[unit] = kinks.get(unit, Fraction(0)) + a * abs(lead)
    sized = [(1 if c > 0 else -1, [abs(c) * x for x in unit]) for unit, c in kinks.items() if c]
    used = [whole, *(d for _, d in sized)]
    live = [i for i in range(len(order)) if any(any(row[i * dim : (i + 1) * dim]) for row in used)]

    def kept(row: list[Fraction]) -> Row:
        return tuple(x for i in live for x in row[i * dim : (i + 1) * dim])

    if (
        [order[i] for i in live] != [*form.matrices, *([None] if form.residual else [])]
        or kept(whole) != form.linear
        or sorted((sign, kept(d)) for sign, d in sized) != form.kinks
    ):
        refuse("model", "has another canonical form than the listed one")
