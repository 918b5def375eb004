"""Recovery certificates, version 2: every method, any rank, biases, several outputs, sizes found out.

Why the statement follows from what is verified. Let L be the listed layer: K <= H0 heads (W_h, V_h), V_h of
o rows, and constants c with a bias. Scores are b^T W a, with (1, b) for b if there is a bias. Let v_h be the
combination of the rows of V_h with the listed weights, and L' another layer with real parameters and at most
K canonical heads of rank at most r that gives the same answers; where the statement asks for integral
exponents, let the D b^T W' p of the probes (or of those of the first row) be integers. All steps hold with
E(s) = 2^(D s), and word for word with e^s: every condition says that two numbers differ which are quotients
of polynomials in t = e^(1/D), here with t = 2; for half probes, equality for e^s gives equality for 2, as t
is transcendental.

1. The combination of the outputs of L' is a layer with one output and at most K canonical heads, and gives
   the combined answers. So let o = 1. With a bias the token 0 alone gives c' = c in plans with two stages.
2. Published method: as in check.py. With a bias, V.b + c takes the place of V.b; V' = V and b_1 alone give
   c' = c; and in a row probe, Z = (2 b_i - b_1, u_1) with scores e_Z = 2 e_Y - e_X.
3. Optimal and consistency method: as in few_queries.py (steps 1 to 3), up to the numbers b_i^T W u_j that are
   shown, with labels by :mod:`.staged`, each probe building on those it names; with integral exponents in the
   first row, that row as for the optimal method, or by :mod:`.first_row`.
4. A half probe, m = 0 ... H0 - 1 copies of b, one b + u, and the last token b, gives
   V.b + c + sum_h v_h.u x_h/(m + 1 + x_h), x_h = E(b^T W_h u). V, c and v_h are known, and the x_h by
   :mod:`.half_probes`.
5. With r < d the numbers with i <= r or j <= r are shown (verified). Let W_h have rank k <= r; its leading
   block B W_h U, of b_1 ... b_k and u_1 ... u_k, is invertible (verified), and so is that of W'. If W' has
   rank at most k, then W' = (W' U)(B W' U)^-1 (B W') = W_h. With r = d all numbers are shown.
6. Rows of V: if V' gave the same answers with the same W_h in output k, but another row V'_hk (or c'_k), then
   v_h + V'_hk - V_hk, in place of v_h, would give the combined answers, against what was shown for o = 1.
7. Near L: parameters of a layer near those of L (real ones, exponents need not be integers) give poles near
   those of L, so labels are as in L if no heads share a pole, and x, y follow from R and S, or in a linked
   first row from :mod:`.first_row`. In a half probe, the derivatives of the
   first K values by the x_h are (m + 1) v_h.u/(m + 1 + x_h)^2, a matrix whose determinant is, up to non-zero
   factors, that of 1/(k + x_h) times the permanent of 1/(k + x_h) (Borchardt): not zero, for different
   x_h > 0. So no others near L give the same answers.
8. Counting: if m = 0 ... N - 1 copies of 0 before b_1, or before a_2 and b_1, are among the queries (and 0
   alone, with a bias), and a layer has K' <= N - K heads, the numerator of G' - G has degree below
   K + K' <= N, so G' = G there.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from .check import (
    MAX_ANSWER_BITS,
    MAX_EXPONENT_SUM,
    MAX_HEADS,
    MAX_INTEGER,
    MAX_QUERIES,
    Kind,
    add,
    check_inverse,
    cleared,
    count,
    dot,
    drawn,
    exactly,
    fraction,
    items,
    number,
    numbers,
    record,
    refuse,
)
from .first_row import check_linked
from .half_probes import check_half_probe
from .published import check_published_labels, published_probes
from .recovery_v2_plan import (
    Planned,
    Sizes,
    check_draw,
    check_sizes,
    is_linked,
    linked_probes,
    planned_probes,
)
from .recovery_v2_texts import class_words, recovery_v2_texts
from .staged import (
    Draw,
    Probe,
    Seen,
    check_heads_of_probe,
    check_labels,
    check_shared,
    lifted,
    power,
    query,
    shares_poles,
    shown_heads,
)

__all__ = ["RECOVERY_V2"]

COMBINATION_RADIUS, MAX_OUTPUTS = 1 << 20, 1 << 10

Matrix = tuple[tuple[Fraction, ...], ...]
Query = tuple[Any, Any]


class Layer(NamedTuple):
    """Matrices W_h and V_h, the combinations v_h of the rows of V_h, the constants (0 without a bias), and
    the numbers of the outputs."""

    W: list[Matrix]
    V: list[Matrix]
    v: list[tuple[Fraction, ...]]
    constants: tuple[Fraction, ...]
    outputs: range


def check_recovery_v2(data: dict[str, Any]) -> str:
    """Verifies the content of a certificate; returns the summary of its statement."""
    exactly(data["field"], "field", "Q")
    exactly(data["base"], "base", "2")
    D = number(data["denominator"], "denominator")
    if D < 1 or D.denominator != 1:
        refuse("denominator", "must be a positive integer")
    sizes = check_sizes(data)
    draw = check_draw(data, sizes)
    check_inverse([lifted(x, sizes.bias) for x in draw.b], 1, data["b_inverse"], "b_inverse")
    check_inverse(draw.u, 1, data["u_inverse"], "u_inverse")
    if draw.a:
        check_inverse(draw.a, 1, data["a_inverse"], "a_inverse")
    elif data["a_inverse"] is not None:
        refuse("a_inverse", "must be null for the published method")
    layer = read_layer(data, sizes)
    check_blocks(data["blocks"], layer, draw, sizes)
    asked = check_answers(data, layer, draw, sizes, int(D))
    check_counts(data, asked, draw, sizes)
    check_public_model(data["model"], int(D), layer, sizes)
    equal = "; equal to the canonical form of the public model" if data["model"] is not None else ""
    outputs = f"{len(layer.outputs)} outputs, " if data["weights"] is not None else ""
    return (
        f"recovery of {len(layer.W)} canonical heads by the {data['method']} method; {outputs}token size "
        f"{sizes.dim}, rank {sizes.rank}, {'with' if sizes.bias else 'no'} biases, queries {data['queries']} "
        f"(formula {data['formula']}), longest {data['longest']}; no other layer with at most {len(layer.W)} "
        f"canonical heads{class_words(data)} gives these answers{equal}"
    )


# ---- the listed layer ----


def read_layer(data: dict[str, Any], sizes: Sizes) -> Layer:
    """Heads in ascending order of different W, the combination of their outputs, and the constant."""
    weights: tuple[Fraction, ...] = (Fraction(1),)
    if data["weights"] is not None:
        given = items(data["weights"], "weights", 1, MAX_OUTPUTS)
        weights = numbers(data["weights"], "weights", len(given))
        if weights != drawn(data["plan"]["seed"], "output", [0], len(given), COMBINATION_RADIUS)[0]:
            refuse("weights", "are not those drawn from the seed")
    W, V = read_heads(data["heads"], "heads", sizes.bound, sizes, len(weights))
    if any(x >= y for x, y in pairwise(W)):
        refuse("heads", "must have different W, in ascending order")
    v = [tuple(dot(weights, column) for column in zip(*rows, strict=True)) for rows in V]
    constants = read_constants(data["constants"], "constants", sizes, len(weights))
    return Layer(W, V, v, constants, range(len(weights)))


def read_heads(x: Any, path: str, most: int, sizes: Sizes, outputs: int) -> tuple[list[Matrix], list[Matrix]]:
    W, V = [], []
    for place, head in items(x, path, 0, most):
        record(head, place, {"W", "V"})
        W.append(numbers(head["W"], f"{place}.W", sizes.rows, sizes.dim))
        V.append(numbers(head["V"], f"{place}.V", outputs, sizes.dim))
    return W, V


def read_constants(x: Any, path: str, sizes: Sizes, outputs: int) -> tuple[Fraction, ...]:
    if sizes.bias:
        given: tuple[Fraction, ...] = numbers(x, path, outputs)
        return given
    if x is not None:
        refuse(path, "must be null without a bias")
    return (Fraction(0),) * outputs


def check_blocks(given: Any, layer: Layer, draw: Draw, sizes: Sizes) -> None:
    """That W_h = (W_h U) N (B W_h) with N the inverse of B W_h U, for the first k last tokens and directions:
    then W_h has rank k (step 5)."""
    if sizes.rank == sizes.dim:
        if given is not None:
            refuse("blocks", "must be null at full rank")
        return
    n = len(layer.W)
    for (path, block), W in zip(items(given, "blocks", n, n), layer.W, strict=True):
        k = len(items(block, path, 0, sizes.rank))
        N, unit = cleared(numbers(block, path, k, k), path)
        rows, common = cleared(W, "heads")
        left = [[dot(row, u) for u in draw.u[:k]] for row in rows]
        B = [lifted(b, sizes.bias) for b in draw.b[:k]]
        right = [[dot(b, column) for column in zip(*rows, strict=True)] for b in B]
        middle = [[dot(b, column) for column in zip(*left, strict=True)] for b in B]
        for i, row in enumerate(middle):
            products = [dot(row, column) for column in zip(*N, strict=True)]
            if any(x != (i == j) * unit * common for j, x in enumerate(products)):
                refuse(path, "is not the inverse of the leading block of scores")
        for given_row, row in zip(rows, left, strict=True):
            weights = [dot(row, column) for column in zip(*N, strict=True)]
            completed = [dot(weights, column) for column in zip(*right, strict=True)] or [0] * sizes.dim
            if any(x * unit * common != y for x, y in zip(given_row, completed, strict=True)):
                refuse(path, "has not the rank of W")


def check_public_model(model: Any, D: int, layer: Layer, sizes: Sizes) -> None:
    """The public model's canonical form must be the listed layer: equal W merged, vanishing V dropped."""
    if model is None:
        return
    record(model, "model", {"heads", "constants"})
    outputs = len(layer.outputs)
    W, V = read_heads(model["heads"], "model.heads", MAX_HEADS, sizes, outputs)
    if any(D % x.denominator for rows in W for row in rows for x in row):
        refuse("model.heads", "the denominator is not a common denominator of the entries of all W")
    _, common = cleared(tuple(row for rows in V for row in rows), "model.heads")
    merged: dict[Matrix, list[tuple[int, ...]]] = {}
    for matrix, rows in zip(W, V, strict=True):
        scaled = [tuple(int(x * common) for x in row) for row in rows]
        before = merged.get(matrix, [(0,) * sizes.dim] * outputs)
        merged[matrix] = [add(x, y) for x, y in zip(before, scaled, strict=True)]
    canonical = sorted(
        (matrix, tuple(tuple(Fraction(x, common) for x in row) for row in rows))
        for matrix, rows in merged.items()
        if any(map(any, rows))
    )
    constants = read_constants(model["constants"], "model.constants", sizes, outputs)
    if canonical != list(zip(layer.W, layer.V, strict=True)) or constants != layer.constants:
        refuse("model", "the canonical form is not the listed layer")


# ---- answers ----


class Answers:
    """The recorded answers, output by output, read in the order of the plan."""

    def __init__(self, given: Any, outputs: range, queries: int) -> None:
        lists = items(given, "answers", len(outputs), len(outputs))
        self.streams = [iter(items(x, path, queries, queries)) for path, x in lists]

    def check(self, name: str, values: list[Fraction]) -> None:
        """The next answer of every output."""
        for stream, value in zip(self.streams, values, strict=True):
            path, given = next(stream)
            check_answer(given, path, name, value)


def check_answer(given: Any, path: str, name: str, value: Fraction) -> None:
    if fraction(given, path, MAX_ANSWER_BITS) != (value.numerator, value.denominator):
        refuse(path, f"{name}: is not the value of the listed heads in lowest terms")


def check_answers(data: dict[str, Any], layer: Layer, draw: Draw, sizes: Sizes, D: int) -> list[Query]:
    """Every answer; poles, residues and labels of every probe; all queries, those of the plan first."""
    published = sizes.method == "published"
    if published:
        if data["probes"] is not None:
            refuse("probes", "must be null for the published method")
        places = published_probes(draw.b, draw.u, sizes.bound, sizes.bias)
        plan = [Planned(f"{k} probe ({i}, {j})", probe, ()) for (k, i, j), probe in places.items()]
    else:
        plan = planned_probes(data, sizes, draw)
    alone = draw.b[0] if published else (0,) * sizes.dim
    singles: list[Query] = [((), alone)] if published or sizes.bias else []
    queries = singles + [query(step.probe, m) for step in plan for m in step.probe.copies]
    if len(queries) > MAX_QUERIES or len(set(queries)) < len(queries):
        refuse("probes", f"has a query twice, or more than {MAX_QUERIES}")
    answers = Answers(data["answers"], layer.outputs, len(queries))
    for _ in singles:
        answers.check("the first query", [constant_at(layer, k, alone) for k in layer.outputs])
    heads = list(zip(layer.W, layer.v, strict=True))
    found: list[Seen] = []
    for step in plan:  # one by one: what is kept is no longer than the answers that were verified
        seen = shown_heads(step.probe, heads, D, sizes.bias)
        check_values(step, seen, layer, answers)
        found.append(seen)
    if published:
        for step, seen in zip(plan, found, strict=True):
            check_heads_of_probe(step.name, seen)
        check_published_labels(dict(zip(places, found, strict=True)), sizes.bias)
        exactly(data["shared"], "shared", 0)
    else:
        check_stages(data, plan, found, draw, sizes)
    return queries + list(check_others(data["others"], layer, sizes, D, set(queries)))


def check_stages(
    data: dict[str, Any], plan: list[Planned], found: list[Seen], draw: Draw, sizes: Sizes
) -> None:
    """That no head can be taken for another; how many probes have poles that heads share."""
    shared = 0
    for step, seen in zip(plan, found, strict=True):
        kind, before = step.probe.kind, [found[n] for n in step.builds_on]
        if kind in ("pair", "row base", "row") and shares_poles(seen):
            shared += 1
            check_shared(step.name, kind, seen, before)
            continue
        if kind == "free":
            continue
        if kind == "half":
            shared += shares_poles(seen)
            check_half_probe(step.name, seen.alpha, [x for x, _ in seen.exponents], sizes.bound)
            continue
        check_heads_of_probe(step.name, seen)
        check_labels(step.name, kind, seen, before)
    if is_linked(data) and found[0].R:
        inverse = numbers(data["a_inverse"], "a_inverse", sizes.dim, sizes.dim)
        weights = [dot(draw.b[0], column) for column in zip(*inverse, strict=True)]
        check_linked([found[n] for n in linked_probes(data, sizes)], weights)
    exactly(data["shared"], "shared", shared)


def constant_at(layer: Layer, output: int, token: Any) -> Fraction:
    """V.a + c, what many copies of a tend to."""
    return layer.constants[output] + sum((dot(V[output], token) for V in layer.V), Fraction(0))


def check_values(step: Planned, seen: Seen, layer: Layer, answers: Answers) -> None:
    """V.a + c + sum_h S_h/(m + R_h), for every output."""
    probe = step.probe
    q = [x - y for x, y in zip(probe.last, probe.filler, strict=True)]
    p = q if probe.extra is None else [x - y for x, y in zip(probe.extra, probe.filler, strict=True)]
    constants = [constant_at(layer, k, probe.filler) for k in layer.outputs]
    residues = [
        [(R - y) * dot(V[k], p) + y * dot(V[k], q) for V, R, y in zip(layer.V, seen.R, seen.y, strict=True)]
        for k in layer.outputs
    ]
    for m in probe.copies:
        weights = [1 / (m + R) for R in seen.R]
        sums = [sum(map(Fraction.__mul__, row, weights), Fraction(0)) for row in residues]
        answers.check(f"{step.name}, m = {m}", [c + x for c, x in zip(constants, sums, strict=True)])


def check_others(given: Any, layer: Layer, sizes: Sizes, D: int, asked: set[Query]) -> Iterator[Query]:
    """Queries beside the plan's, in ascending order, and their answers."""
    before: Query | None = None
    for path, other in items(given, "others", 0, MAX_QUERIES):
        record(other, path, {"runs", "last", "answers"})
        last = numbers(other["last"], f"{path}.last", sizes.dim)
        runs = []
        for place, run in items(other["runs"], f"{path}.runs", 0, MAX_QUERIES):
            (_, token), (at, copies) = items(run, place, 2, 2)
            runs.append((numbers(token, f"{place}[0]", sizes.dim), count(copies, at, 1, MAX_INTEGER)))
        if any(x[0] >= y[0] for x, y in pairwise(runs)):
            refuse(f"{path}.runs", "must have different tokens, in ascending order")
        this = (tuple(runs), last)
        if this in asked or (before is not None and this <= before):
            refuse(path, "is a query of the plan, or not in ascending order")
        before = this
        n = len(layer.outputs)
        values = value_at(this, layer, sizes, D, path)
        for (at, answer), value in zip(items(other["answers"], f"{path}.answers", n, n), values, strict=True):
            check_answer(answer, at, "this query", value)
        yield this


def value_at(asked: Query, layer: Layer, sizes: Sizes, D: int, path: str) -> list[Fraction]:
    """The values of the listed layer, by output."""
    runs, last = asked
    values = list(layer.constants)
    total = 0
    for W, V in zip(layer.W, layer.V, strict=True):
        row = [D * dot(lifted(last, sizes.bias), column) for column in zip(*W, strict=True)]
        weights = [(Fraction(1), last)]
        for token, copies in runs:
            e = Fraction(dot(row, [x - y for x, y in zip(token, last, strict=True)]))
            total += abs(int(e))
            if e.denominator != 1 or total > MAX_EXPONENT_SUM:
                refuse(path, "an exponent is not an integer, or too large")
            weights.append((copies * power(int(e)), token))
        whole = sum(w for w, _ in weights)
        mean = [sum((w * token[i] for w, token in weights), Fraction(0)) / whole for i in range(sizes.dim)]
        values = [x + dot(V[k], mean) for k, x in enumerate(values)]
    return values


def check_counts(data: dict[str, Any], asked: list[Query], draw: Draw, sizes: Sizes) -> None:
    """Numbers of queries, the longest, and how many copies of 0 were asked without a gap, before b_1, or
    before a_2 and b_1."""
    others = len(data["others"])
    exactly(data["planned"], "planned", len(asked) - others)
    exactly(data["queries"], "queries", len(asked))
    exactly(data["longest"], "longest", max(1 + sum(n for _, n in runs) for runs, _ in asked))
    known, copies = set(asked), 0
    zero = (0,) * sizes.dim
    if not sizes.bias or ((), zero) in known:
        extra = draw.a[1] if len(draw.a) > 1 else None
        probe = Probe("counted", zero, extra, draw.b[0], range(0))
        while query(probe, copies) in known:
            copies += 1
    exactly(data["counted"], "counted", copies)


KEYS = """field base denominator method heads_bound dim rank bias plan probes b_inverse a_inverse u_inverse
    blocks heads constants integral weights answers others planned queries formula longest counted shared
    model"""
RECOVERY_V2 = Kind(KEYS, check_recovery_v2, recovery_v2_texts)
