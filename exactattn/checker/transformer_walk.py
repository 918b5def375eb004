"""What was asked of a Transformer, the pieces of its walk, and the regions around them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from .check import (
    MAX_ANSWER_BITS,
    MAX_EXPONENT_SUM,
    cleared,
    count,
    dot,
    fraction,
    items,
    number,
    numbers,
    record,
    refuse,
)
from .transformer_form import Form, Row

__all__ = ["Asked", "Query", "Seen", "check_pieces", "check_regions", "read_asked"]

MAX_ASKED, MAX_RUNS, MAX_COPIES = 1 << 16, 1 << 6, 1 << 20
MAX_EXPONENTS = 1 << 24  # the sum of the sizes of all exponents of 2
MAX_WORK = 1 << 28  # products of numbers
PRIME = 2**61 - 1

Query = tuple[tuple[tuple[Row, int], ...], Row]


class Seen(NamedTuple):
    """A query's number, its answer, the signs of all D_k.Z there, and a multiple of Z modulo PRIME."""

    number: int
    answer: tuple[int, int]
    signs: tuple[int, ...]
    residues: list[int]


Asked = dict[Query, Seen]


def read_asked(data: dict[str, Any], form: Form) -> Asked:
    """Every query; every answer must be the form's value."""
    entries = items(data["asked"], "asked", 1, MAX_ASKED)
    if len(entries) * form.size * len(form.rows) > MAX_WORK:
        refuse("asked", "holds more queries than can be verified for so many numbers")
    asked: Asked = {}
    exponents = 0
    for n, (path, entry) in enumerate(entries):
        record(entry, path, {"runs", "last", "answer"})
        last = numbers(entry["last"], f"{path}.last", form.dim)
        runs = []
        for place, run in items(entry["runs"], f"{path}.runs", 0, MAX_RUNS):
            (_, token), (at, copies) = items(run, place, 2, 2)
            runs.append((numbers(token, f"{place}[0]", form.dim), count(copies, at, 1, MAX_COPIES)))
        query = (tuple(runs), last)
        if any(x[0] >= y[0] for x, y in pairwise(runs)) or query in asked:
            refuse(path, "must be a new query, its tokens different and in ascending order")
        Z, bottom, used = stacked(form, query, path)
        exponents += used
        if exponents > MAX_EXPONENTS:
            refuse(path, "the exponents of 2 of all queries together are too large")
        along = [dot(row, Z) for row in form.rows]
        top = along[0] + sum(sign * abs(x) for (sign, _), x in zip(form.kinks, along[1:], strict=True))
        p, q = fraction(entry["answer"], f"{path}.answer", MAX_ANSWER_BITS)
        if p * (2 * form.unit * bottom) != q * top or math.gcd(p, q) != 1:
            refuse(f"{path}.answer", "is not the value of the listed form in lowest terms")
        signs = tuple((x > 0) - (x < 0) for x in along[1:])
        asked[query] = Seen(n, (p, q), signs, [x % PRIME for x in Z])
    return asked


def stacked(form: Form, query: Query, path: str) -> tuple[list[int], int, int]:
    """Z at a query, as integers over one positive denominator, and how large the exponents are."""
    runs, given = query
    (last, *tokens), common = cleared((given, *(token for token, _ in runs)), path)
    outputs: list[tuple[list[int], int]] = []
    used = 0
    for rows, unit in form.scores:
        left = [dot(last, column) for column in zip(*rows, strict=True)]
        at_last = dot(left, last)
        exponents = [divmod(dot(left, token) - at_last, unit * common * common) for token in tokens]
        used += sum(abs(e) for e, _ in exponents)
        if any(rest for _, rest in exponents) or used > MAX_EXPONENT_SUM:
            refuse(path, "an exponent of 2 is not an integer, or too large")
        low = min((e for e, _ in exponents), default=0)
        weights = [1 << max(0, -low)]
        weights += [copies << (e - min(low, 0)) for (e, _), (_, copies) in zip(exponents, runs, strict=True)]
        outputs.append(([dot(weights, column) for column in zip(last, *tokens, strict=True)], sum(weights)))
    bottom = math.prod(total for _, total in outputs)
    Z = [x * (bottom // total) for row, total in outputs for x in row]
    if form.residual:
        Z += [x * bottom for x in last]
    return Z, common * bottom, used


def check_pieces(data: dict[str, Any], form: Form, asked: Asked) -> list[list[Seen]]:
    """The pieces of the walk: in each what was seen at its places."""
    path = record(data["path"], "path", {"start", "corner"})
    start, corner = (numbers(path[key], f"path.{key}", form.dim) for key in ("start", "corner"))
    lead = next((i for i, a in enumerate(start) if a), 0)
    if not start[lead] or all(
        x * start[lead] == a * corner[lead] for a, x in zip(start, corner, strict=True)
    ):
        refuse("path", "its two tokens are not independent")
    K = len(form.kinks)
    lines: list[Row] = []
    ends: list[tuple[Fraction, Fraction]] = []
    pieces: list[list[Seen]] = []
    for at, piece in items(data["pieces"], "pieces", K + 1, K + 1):
        record(piece, at, {"line", "abscissae"})
        line = numbers(piece["line"], f"{at}.line", 2)
        abscissae = [number(x, p) for p, x in items(piece["abscissae"], f"{at}.abscissae", 3, MAX_ASKED)]
        if any(x >= y for x, y in pairwise(abscissae)) or not 0 <= abscissae[0] <= abscissae[-1] <= 2:
            refuse(f"{at}.abscissae", "must ascend from 0 to 2")
        seen = []
        for t in abscissae:
            x, y = 1 - t, min(t, 2 - t)
            token = tuple(x * a + y * b for a, b in zip(start, corner, strict=True))
            if ((), token) not in asked:
                refuse(f"{at}.abscissae", "one of them was not asked")
            seen.append(asked[(), token])
            if Fraction(*seen[-1].answer) != line[0] * x + line[1] * y:
                refuse(f"{at}.line", "is not the form's line at an abscissa")
        if len({each.signs for each in seen}) != 1 or not all(seen[0].signs):
            refuse(f"{at}.abscissae", "do not lie in one piece of the listed form")
        lines.append(line)
        ends.append((abscissae[0], abscissae[-1]))
        pieces.append(seen)
    if len(set(lines)) < len(lines):
        refuse("pieces", "two have the same line")
    if ends[0][0] != 0 or ends[-1][1] != 2 or any(x[1] >= y[0] for x, y in pairwise(ends)):
        refuse("pieces", "must follow each other from one end of the path to the other")
    for before, after in pairwise(pieces):
        if sum(a != b for a, b in zip(before[0].signs, after[0].signs, strict=True)) != 1:
            refuse("pieces", "neighbours must be separated by one kink of the listed form")
    check_stated(data["stated"], K, max((y[0] - x[1] for x, y in pairwise(ends)), default=Fraction(0)))
    return pieces


def check_stated(stated: Any, K: int, widest: Fraction) -> None:
    """The number of neurons, or a spacing that is wider than what lies between neighbouring pieces."""
    if type(stated) is not dict or set(stated) not in ({"neurons"}, {"kink_spacing"}):
        refuse("stated", "must hold neurons or kink_spacing")
    if "neurons" in stated:
        count(stated["neurons"], "stated.neurons", K, K)
    elif widest >= number(stated["kink_spacing"], "stated.kink_spacing"):
        refuse("pieces", "neighbours are not closer than the stated spacing of kinks")


def check_regions(data: dict[str, Any], form: Form, asked: Asked, pieces: list[list[Seen]]) -> None:
    """Each region holds a place of its piece; all kinks have the signs they have there; Z has full rank."""
    by_number = list(asked.values())
    regions = items(data["regions"], "regions", len(pieces), len(pieces))
    sized = [(path, items(chosen, path, form.size, MAX_ASKED), piece)
             for (path, chosen), piece in zip(regions, pieces, strict=True)]  # fmt: skip
    if sum(len(chosen) for _, chosen, _ in sized) * form.size**2 > MAX_WORK:
        refuse("regions", "hold more queries than can be verified for so many numbers")
    for path, chosen, piece in sized:
        seen = [by_number[count(n, place, 0, len(by_number) - 1)] for place, n in chosen]
        if any(x.number >= y.number for x, y in pairwise(seen)):
            refuse(path, "its queries must be different, in ascending order")
        if {each.number for each in piece}.isdisjoint(each.number for each in seen):
            refuse(path, "holds no place of its piece")
        if any(each.signs != piece[0].signs for each in seen):
            refuse(path, "a kink has another sign at one of its queries than on the piece")
        if rank([each.residues for each in seen]) < form.size:
            refuse(path, "its queries do not determine a linear function of the stacked outputs")


def rank(rows: list[list[int]]) -> int:
    """The rank modulo PRIME."""
    found: list[tuple[int, list[int]]] = []
    for given in rows:
        row = given
        for pivot, other in found:
            factor = row[pivot]
            if factor:
                row = [(x - factor * y) % PRIME for x, y in zip(row, other, strict=True)]
        pivot = next((i for i, x in enumerate(row) if x), -1)
        if pivot >= 0:
            inverse = pow(row[pivot], -1, PRIME)
            found.append((pivot, [x * inverse % PRIME for x in row]))
    return len(found)
