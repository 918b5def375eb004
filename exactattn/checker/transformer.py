"""Certificates of recovered one-layer Transformers with a ReLU network without biases, version 1.

Why the statement follows from what is verified. Let E(s) = 2^(D s), let Z(X) be the stacked outputs of the
listed heads at a query X (and its last token, with a residual), and let
F = 1/2 (v.Z + sum_k sigma_k |D_k.Z|) be the listed form, with K kinks. Write Dbar_k for the sum of the blocks
of D_k: at a single token b every block of Z is b, so D_k.Z = Dbar_k.b. Let F' be another function of this
form, with kinks D'_l, that gives the same answers, and let the hypotheses hold for it.

1. Heads. F(X) - F(-X) = v.Z(X) is a layer of attention, and so is F'(X) - F'(-X). With a certificate of
   "attention", all its queries X and -X are among the answers (verified), so the two layers have the same
   heads; as they are as many as the bound (verified), F' has no further head. Otherwise it is a hypothesis
   that F' has no other heads than the listed ones.
2. Pieces. On the path of single tokens F' is continuous and affine between the places where some Dbar'_l.b
   changes its sign; by hypothesis the listed places of a listed piece lie in one affine piece of F', whose
   line they determine. The K + 1 listed pieces have different lines (verified), and F' has at most K kinks on
   the path (K kinks in all by hypothesis, each of which is crossed once; or, with a spacing, at most one
   between neighbouring listed pieces, which are closer than that: verified). So F' has exactly these K + 1
   pieces and K kinks on the path, one between each two neighbours.
3. Regions. By hypothesis the queries of a region lie, for F', in one region of constant signs, that of the
   listed piece. There F' = v'.Z with a vector v' that the answers determine: the values of Z at these queries
   have full rank (verified modulo a prime, so over Q). They are those of F, which is v^A.Z there (the signs
   of all D_k.Z are verified to be those of D_k on the piece). So v' = v^A for every piece.
4. Jumps. Neighbouring pieces of F' differ by one kink, so v'^A - v'^B = +- sigma'_l D'_l, and the first and
   the last add up to v'. So v' = v, and the kinks of F' on the path are those of F, with their signs (convex
   or concave is the sign of the change of the line). Under "neurons" these are all kinks of F'; under a
   spacing a kink that the path does not cross (Dbar'_l = 0) is excluded by hypothesis. So F' = F.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from .check import (
    MAX_ANSWER_BITS,
    MAX_DIM,
    MAX_EXPONENT,
    MAX_HEADS,
    Kind,
    add,
    check_plan,
    count,
    digest,
    dot,
    exactly,
    fraction,
    items,
    number,
    numbers,
    record,
    refuse,
    sentences,
    verified,
)

__all__ = ["TRANSFORMER", "transformer_texts"]

MAX_NEURONS, MAX_ASKED, MAX_RUNS, MAX_COPIES = 1 << 8, 1 << 14, 1 << 6, 1 << 20
MAX_SUMMED = 10  # neurons whose signed sums are all tried, (3^K - 1)/2 of them
PRIME = 2**61 - 1

Row = tuple[Fraction, ...]
Query = tuple[tuple[tuple[Row, int], ...], Row]


class Form(NamedTuple):
    """The listed function: matrices by rows, v and (sigma, D) flat over all blocks."""

    matrices: list[tuple[Row, ...]]
    linear: Row
    kinks: list[tuple[int, Row]]
    dim: int
    residual: bool
    D: Fraction

    @property
    def blocks(self) -> int:
        return len(self.matrices) + self.residual


def check_transformer(data: dict[str, Any]) -> str:
    """Verifies the content of a Transformer certificate; returns the summary of its statement."""
    for key, value in (("field", "Q"), ("base", "2")):
        exactly(data[key], key, value)
    form = read_form(data)
    check_network(data, form)
    asked = read_asked(data, form)
    K = len(form.kinks)
    check_regions(data, form, asked, check_pieces(data, form, asked))
    if "neurons" in data["stated"]:
        exactly(data["stated"]["neurons"], "stated.neurons", K)
    check_attention(data, form, asked)
    exactly(data["sums_checked"], "sums_checked", int(check_sums(data, form)))
    check_model(data, form)
    exactly(data["queries"], "queries", len(asked))
    beside = "" if data["bypass"] is None else " with a linear path beside them"
    return (
        f"recovery of a Transformer with {len(form.matrices)} heads of token size {form.dim} and {K} neurons"
        f"{beside} from {len(asked)} queries; functionally equal under the stated hypotheses"
    )


def read_form(data: dict[str, Any]) -> Form:
    """The form, which must be canonical."""
    D = number(data["denominator"], "denominator")
    if D < 1 or D.denominator != 1:
        refuse("denominator", "must be a positive integer")
    dim = count(data["dim"], "dim", 2, MAX_DIM)
    bound = count(data["heads_bound"], "heads_bound", 1, MAX_HEADS)
    if type(data["residual"]) is not bool:
        refuse("residual", "must be true or false")
    matrices = [numbers(W, path, dim, dim) for path, W in items(data["matrices"], "matrices", 0, bound)]
    if any(x >= y for x, y in pairwise(matrices)):
        refuse("matrices", "must be different, in ascending order")
    blocks = len(matrices) + data["residual"]
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
    return Form(matrices, linear, kinks, dim, data["residual"], D)


def flat(rows: Any) -> Row:
    return tuple(x for row in rows for x in row)


def check_network(data: dict[str, Any], form: Form) -> None:
    """The neurons a ReLU(beta.Z), and the linear path if any, have the listed form."""
    shape = (form.blocks, form.dim)
    total = [Fraction(0)] * len(form.linear)
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


def read_asked(data: dict[str, Any], form: Form) -> dict[Query, tuple[int, list[Row]]]:
    """Every query with its number and Z there; every answer must be the form's value."""
    asked: dict[Query, tuple[int, list[Row]]] = {}
    for n, (path, entry) in enumerate(items(data["asked"], "asked", 1, MAX_ASKED)):
        record(entry, path, {"runs", "last", "answer"})
        last = numbers(entry["last"], f"{path}.last", form.dim)
        runs = []
        for place, run in items(entry["runs"], f"{path}.runs", 0, MAX_RUNS):
            (_, token), (at, copies) = items(run, place, 2, 2)
            runs.append((numbers(token, f"{place}[0]", form.dim), count(copies, at, 1, MAX_COPIES)))
        query = (tuple(runs), last)
        if any(x[0] >= y[0] for x, y in pairwise(runs)) or query in asked:
            refuse(path, "must be a new query, its tokens different and in ascending order")
        Z = stacked(form, query, path)
        value = value_at(form, Z)
        if fraction(entry["answer"], f"{path}.answer", MAX_ANSWER_BITS) != value.as_integer_ratio():
            refuse(f"{path}.answer", "is not the value of the listed form in lowest terms")
        asked[query] = n, Z
    return asked


def stacked(form: Form, query: Query, path: str) -> list[Row]:
    """Z at a query, by blocks."""
    runs, last = query
    rows = []
    for W in form.matrices:
        left = [form.D * dot(last, column) for column in zip(*W, strict=True)]
        weights = [(Fraction(1), last)]
        for token, copies in runs:
            e = dot(left, [x - y for x, y in zip(token, last, strict=True)])
            if e.denominator != 1 or abs(e) > MAX_EXPONENT:
                refuse(path, "an exponent of 2 is not an integer, or too large")
            power = Fraction(1 << int(e)) if e >= 0 else Fraction(1, 1 << -int(e))
            weights.append((copies * power, token))
        total = sum(w for w, _ in weights)
        rows.append(tuple(sum(w * x for (w, _), x in zip(weights, column, strict=True)) / total
                          for column in zip(*(t for _, t in weights), strict=True)))  # fmt: skip
    return [*rows, last] if form.residual else rows


def value_at(form: Form, Z: list[Row]) -> Fraction:
    z = flat(Z)
    total = dot(form.linear, z) + sum(sign * abs(dot(d, z)) for sign, d in form.kinks)
    return Fraction(total) / 2


def check_pieces(data: dict[str, Any], form: Form, asked: Any) -> list[tuple[int, ...]]:
    """The pieces of the walk; the signs of all kinks in each."""
    path = record(data["path"], "path", {"start", "corner"})
    start, corner = (numbers(path[key], f"path.{key}", form.dim) for key in ("start", "corner"))
    if not any(a * y != b * x for a, x in zip(start, corner, strict=True)
               for b, y in zip(start, corner, strict=True)):  # fmt: skip
        refuse("path", "its two tokens are not independent")
    K, sums = len(form.kinks), [bar(form, d) for _, d in form.kinks]
    lines: list[Row] = []
    ends: list[tuple[Fraction, Fraction]] = []
    inside: list[tuple[int, ...]] = []
    for at, piece in items(data["pieces"], "pieces", K + 1, K + 1):
        record(piece, at, {"line", "abscissae"})
        line = numbers(piece["line"], f"{at}.line", 2)
        abscissae = [number(x, p) for p, x in items(piece["abscissae"], f"{at}.abscissae", 3, MAX_ASKED)]
        if any(x >= y for x, y in pairwise(abscissae)) or not 0 <= abscissae[0] <= abscissae[-1] <= 2:
            refuse(f"{at}.abscissae", "must ascend from 0 to 2")
        signs = set()
        for t in abscissae:
            x, y = 1 - t, min(t, 2 - t)
            token = tuple(x * a + y * b for a, b in zip(start, corner, strict=True))
            if ((), token) not in asked:
                refuse(f"{at}.abscissae", "one of them was not asked")
            if value_at(form, [token] * form.blocks) != line[0] * x + line[1] * y:
                refuse(f"{at}.line", "is not the form's line at an abscissa")
            signs.add(tuple(sign_of(dot(d, token)) for d in sums))
        if len(signs) != 1 or not all(min(signs)):
            refuse(f"{at}.abscissae", "do not lie in one piece of the listed form")
        lines.append(line)
        ends.append((abscissae[0], abscissae[-1]))
        inside.append(min(signs))
    if len(set(lines)) < len(lines):
        refuse("pieces", "two have the same line")
    if ends[0][0] != 0 or ends[-1][1] != 2 or any(x[1] >= y[0] for x, y in pairwise(ends)):
        refuse("pieces", "must follow each other from one end of the path to the other")
    if any(sum(a != b for a, b in zip(s, t, strict=True)) != 1 for s, t in pairwise(inside)):
        refuse("pieces", "neighbours must be separated by one kink of the listed form")
    stated = data["stated"]
    if type(stated) is not dict or set(stated) not in ({"neurons"}, {"kink_spacing"}):
        refuse("stated", "must hold neurons or kink_spacing")
    if "kink_spacing" in stated:
        spacing = number(stated["kink_spacing"], "stated.kink_spacing")
        if any(y[0] - x[1] >= spacing for x, y in pairwise(ends)):
            refuse("pieces", "neighbours are not closer than the stated spacing of kinks")
    return inside


def bar(form: Form, direction: Row) -> Row:
    """The sum of the blocks."""
    return tuple(Fraction(sum(direction[i :: form.dim])) for i in range(form.dim))


def sign_of(x: Fraction) -> int:
    return (x > 0) - (x < 0)


def check_regions(data: dict[str, Any], form: Form, asked: Any, inside: list[tuple[int, ...]]) -> None:
    """In each region all kinks have the signs of the piece, and Z takes values of full rank."""
    by_number = {n: Z for n, Z in asked.values()}
    size = form.blocks * form.dim
    for (path, chosen), signs in zip(
        items(data["regions"], "regions", len(inside), len(inside)), inside, strict=True
    ):
        rows = []
        for place, n in items(chosen, path, size, MAX_ASKED):
            z = flat(by_number[count(n, place, 0, len(by_number) - 1)])
            if any(sign_of(dot(d, z)) != s for (_, d), s in zip(form.kinks, signs, strict=True)):
                refuse(place, "a kink has another sign there than on the piece")
            rows.append([x.numerator * pow(x.denominator, -1, PRIME) % PRIME for x in z])
        if rank(rows) < size:
            refuse(path, "its queries do not determine a linear function of the stacked outputs")


def rank(rows: list[list[int]]) -> int:
    """The rank modulo PRIME."""
    found: list[tuple[int, list[int]]] = []
    for row in rows:
        for pivot, other in found:
            if row[pivot]:
                factor = row[pivot]
                row = [(x - factor * y) % PRIME for x, y in zip(row, other, strict=True)]
        pivot = next((i for i, x in enumerate(row) if x), -1)
        if pivot >= 0:
            inverse = pow(row[pivot], -1, PRIME)
            found.append((pivot, [x * inverse % PRIME for x in row]))
    return len(found)


def check_attention(data: dict[str, Any], form: Form, asked: Any) -> None:
    """The certificate of the antisymmetric part, whose queries X and -X must have been asked."""
    nested = data["attention"]
    if nested is None:
        return
    verified(nested)
    exactly(nested["kind"], "attention.kind", "recovery")
    exactly(nested["version"], "attention.version", 1)
    bound = data["heads_bound"]
    for key in ("denominator", "dim", "heads_bound"):
        exactly(nested[key], f"attention.{key}", data[key])
    if form.residual or len(nested["heads"]) != bound:
        refuse("attention", "goes without a residual and with as many heads as the bound")
    if [head["W"] for head in nested["heads"]] != data["matrices"]:
        refuse("attention.heads", "have other matrices than the listed ones")
    if [head["v"] for head in nested["heads"]] != data["linear"]:
        refuse("attention.heads", "are not the antisymmetric part of the listed form")
    b, u, scale = check_plan(nested, bound, form.dim)
    differences = u + [add(u[0], x) for x in u[1:]]
    pairs = [(x, y) for x in b for y in differences] + [(add(b[0], x), u[0]) for x in b[1:]]
    wanted: list[Query] = [((), tuple(Fraction(x, scale) for x in b[0]))]
    for last, difference in pairs:
        token = tuple(Fraction(x - y, scale) for x, y in zip(last, difference, strict=True))
        end = tuple(Fraction(x, scale) for x in last)
        wanted += [(((token, m),), end) for m in range(1, 2 * bound + 1)]
    for runs, end in wanted:
        back = tuple((tuple(-x for x in token), m) for token, m in runs), tuple(-x for x in end)
        if (runs, end) not in asked or back not in asked:
            refuse("attention", "a query of its plan, or its negative, was not asked")


def check_sums(data: dict[str, Any], form: Form) -> bool:
    """Whether all signed sums of the a_k betabar_k of some neurons were tried; none may vanish."""
    sums = [bar(form, d) for _, d in form.kinks]
    if len(sums) > MAX_SUMMED:
        return False
    totals = [(Fraction(0),) * form.dim]
    for s in sums:
        totals += [tuple(x + c * y for x, y in zip(t, s, strict=True)) for t in totals for c in (1, -1)]
    if sum(not any(t) for t in totals) > 1:
        refuse("kinks", "a signed sum of directions, summed over blocks, vanishes")
    return True


def check_model(data: dict[str, Any], form: Form) -> None:
    """A public model: its own network must have the listed form."""
    model = data["model"]
    if model is None:
        return
    record(model, "model", {"matrices", "neurons", "bypass"})
    dim = form.dim
    matrices = [numbers(W, p, dim, dim) for p, W in items(model["matrices"], "model.matrices", 0, MAX_HEADS)]
    blocks = len(matrices) + form.residual
    kinks: dict[Row, Fraction] = {}
    names: list[Any] = [*matrices, *([None] if form.residual else [])]
    order = sorted(set(matrices)) + ([None] if form.residual else [])

    def gathered(x: Any, path: str) -> list[Fraction]:
        total = {name: [Fraction(0)] * dim for name in order}
        for name, block in zip(names, numbers(x, path, blocks, dim), strict=True):
            total[name] = [p + q for p, q in zip(total[name], block, strict=True)]
        return [x for name in order for x in total[name]]

    whole = [Fraction(0)] * (len(order) * dim)
    if model["bypass"] is not None:
        whole = [2 * x for x in gathered(model["bypass"], "model.bypass")]
    for path, neuron in items(model["neurons"], "model.neurons", 0, MAX_NEURONS):
        record(neuron, path, {"a", "beta"})
        a, beta = number(neuron["a"], f"{path}.a"), gathered(neuron["beta"], f"{path}.beta")
        whole = [x + a * y for x, y in zip(whole, beta, strict=True)]
        lead = next((y for y in beta if y), None)
        if a and lead is not None:
            unit = tuple(y / lead for y in beta)
            kinks[unit] = kinks.get(unit, Fraction(0)) + a * abs(lead)
    sized = [(1 if c > 0 else -1, [abs(c) * x for x in unit]) for unit, c in kinks.items() if c]
    live = [i for i, _ in enumerate(order)
            if any(any(row[i * dim : (i + 1) * dim]) for row in [whole, *(d for _, d in sized)])]  # fmt: skip

    def kept(row: list[Fraction]) -> Row:
        return tuple(x for i in live for x in row[i * dim : (i + 1) * dim])

    if (
        [order[i] for i in live if order[i] is not None] != form.matrices
        or kept(whole) != form.linear
        or sorted((sign, kept(d)) for sign, d in sized) != form.kinks
    ):
        refuse("model", "has another canonical form than the listed one")


STATEMENT = """
* Every one of the {queries} listed answers is exactly the value at its query of the listed function
F = 1/2 (v.Z + sum_k sigma_k |D_k.Z|) with {heads} heads and {kinks} kinks, exp(s) replaced by 2^(D*s), D = {D}.
The listed network ({neurons} neurons{bypass}) is this function.
* On the path of single tokens from b0 over c to -b0 there are {pieces} listed pieces with different lines, each
seen at three or more places; in each region the listed queries determine the linear function of Z.
* Every function of this kind that gives these answers and satisfies the hypotheses is equal to the listed one
at every query.
* model | The public model ({model}) has exactly this canonical form.
"""
HYPOTHESES = """
* canonical | verified | Heads are different and all have an effect; directions are not 0 and not parallel.
* crossed-once | verified | On the path every kink of the listed form lies between two neighbouring pieces.
* sums | generic-sums | verified | No signed sum of some of the directions, summed over blocks, vanishes.
* kind | assumed | Whoever answered computes, without error and with exp(s) replaced by 2^(D*s), softmax attention
with at most {bound} heads followed by a ReLU network without biases{residual}.
* no attention | heads | assumed | Its heads are among the listed ones.
* attention | heads | verified | Its antisymmetric part is attention with exactly the listed heads, as many as the
bound (the certificate "attention").
* counted | neurons | assumed | It has exactly {kinks} neurons, parallel ones counted as one and those that cancel
not at all, and on the path each of their hyperplanes is crossed once.
* spaced | spacing | assumed | On the path its kinks are at least {spacing} apart, and every neuron has a kink there.
* generic-places | assumed, true with probability one over the drawn places | The listed places of a listed piece
lie in one affine piece of it, and the queries of a region in one region of constant signs.
"""
LIMITS = """
* That whoever answered computes such a network: other functions give the same answers. In particular no finite set of
answers excludes further, nearly parallel pairs of neurons, so that the stated number or spacing is needed.
* model | That any program which is said to compute the public model does so.
* no sums | That no signed sum of some of the directions vanishes: there are too many neurons to try all sums.
* Anything about real scores and base e, and about networks with biases.
* That fewer queries would not do.
* Anything about parameters before heads with equal W and parallel neurons are merged.
"""


def transformer_texts(data: dict[str, Any]) -> dict[str, Any]:
    """The sentences of a certificate, from its content."""
    stated = data["stated"]
    facts = {
        "queries": data["queries"],
        "heads": len(data["matrices"]),
        "kinks": len(data["kinks"]),
        "neurons": len(data["neurons"]),
        "bypass": "" if data["bypass"] is None else " and a linear path beside them",
        "pieces": len(data["pieces"]),
        "bound": data["heads_bound"],
        "D": data["denominator"],
        "residual": " that also sees the last token" if data["residual"] else "",
        "spacing": stated.get("kink_spacing"),
        "model": digest(data["model"]),
    }
    conditions = {
        "model": data["model"] is not None,
        "attention": data["attention"] is not None,
        "no attention": data["attention"] is None,
        "counted": "neurons" in stated,
        "spaced": "kink_spacing" in stated,
        "sums": data["sums_checked"] == 1,
        "no sums": data["sums_checked"] == 0,
    }
    return sentences((STATEMENT, HYPOTHESES, LIMITS), facts, conditions)


KEYS = """field base denominator dim residual heads_bound stated matrices linear kinks neurons bypass path pieces
    regions asked attention sums_checked queries model"""
TRANSFORMER = Kind(KEYS, check_transformer, transformer_texts)
