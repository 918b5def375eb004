"""Certificates of recoveries with few queries, version 1: the optimal and the consistency method, full rank.

Why the statement follows from what is verified. Let L be the listed layer with K = H0 heads (W_h, v_h), and
E(s) = 2^(D s). m copies of a token a0, at most one token a1 and the last token b give V.a0 + G(m),
G(x) = sum_h S_h/(x + R_h), with p = a1 - a0, q = b - a0, x_h = E(b^T W_h p) (0 without a1),
y_h = E(b^T W_h q), R_h = x_h + y_h > 0, S_h = x_h v_h.p + y_h v_h.q, V = sum_h v_h. Let L' be a layer with
real parameters and at most K heads (W'_k, v'_k) that gives the same answers; for the optimal method, let its
exponents D b^T W'_k p and D b^T W'_k q be integers in every probe.

1. In stage 1, a0 = 0, so G' = G at m = 0 ... 2*H0 - 1. G' - G has a numerator of degree below 2*H0 and a
   denominator without zeros m >= 0, so G' = G. G has K distinct poles and no zero residue (verified), so L'
   has K heads, and for every probe there is a bijection of heads with equal poles and residues. Call it s for
   the base probe (no a1): y'_k = y_s(k), and residues over poles give v'_k.b_1 = v_s(k).b_1.
2. A probe with a token a_j: let the pole of head k be that of head g. Then x'_k = R_g - y_s(k). Optimal
   method: this is a power of 2 by hypothesis, which is verified to fail unless g = s(k). Consistency method:
   let the pole in the probe with -a_j be that of n; then x'_k (R''_n - y_s(k)) = 1, and likewise for the
   residues, which is verified to fail unless g = n = s(k). So x'_k = x_s(k), and the residue gives
   v'_k.a_j = v_s(k).a_j. As b_1, a_2 ... a_d are a basis, v'_k = v_s(k), and V' = V.
3. So G' = G in stage 2, too. Let again the pole of k be that of g. Optimal method, with alpha = v_s(k).p and
   beta = v_s(k).q different (verified): x'_k = (S_g - beta R_g)/(alpha - beta) and
   y'_k = (alpha R_g - S_g)/(alpha - beta) are powers of 2, verified to fail unless g = s(k). Consistency
   method: in a row's base S_g/R_g = v_s(k).u_1, and in its other probes
   S_g = (R_g - y) v_s(k).p + y v_s(k).q with the row's y of s(k); both are verified to fail unless g = s(k).
   So scores are equal, head by head.
4. These are b_i^T W u_j for all i >= 2 and j (a shared probe, with last token b_i + b_i' - b_1, shows a sum
   of which two terms are known), and b_1^T W is known from stage 1. The b_i and the u_j are bases (verified),
   so W'_k = W_s(k).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

from .check import (
    MAX_ANSWER_BITS,
    MAX_DIM,
    MAX_DRAWS,
    MAX_HEADS,
    MAX_INTEGER,
    MAX_QUERIES,
    Kind,
    Vector,
    add,
    check_inverse,
    check_model,
    cleared,
    count,
    digest,
    dot,
    drawn,
    exactly,
    fraction,
    items,
    number,
    numbers,
    read_heads,
    record,
    refuse,
    sentences,
)
from .staged import (
    Draw,
    Probe,
    Seen,
    check_heads_of_probe,
    check_labels,
    minus,
    query,
    shown_heads,
)

__all__ = ["FEW_QUERIES", "few_queries_texts"]


def check_few_queries(data: dict[str, Any]) -> str:
    """Verifies the content of a certificate; returns the summary of its statement."""
    exactly(data["field"], "field", "Q")
    exactly(data["base"], "base", "2")
    if data["method"] not in ("optimal", "consistent"):
        refuse("method", "must be optimal or consistent")
    D = number(data["denominator"], "denominator")
    if D < 1 or D.denominator != 1:
        refuse("denominator", "must be a positive integer")
    bound = count(data["heads_bound"], "heads_bound", 1, MAX_HEADS)
    dim = count(data["dim"], "dim", 1, MAX_DIM)
    draw = check_plan(data, bound, dim)
    for name, rows in zip("bau", draw, strict=True):
        check_inverse(rows, 1, data[f"{name}_inverse"], f"{name}_inverse")
    heads = read_heads(data["heads"], "heads", bound, dim)
    if len(heads) < bound:
        refuse("heads", f"must be {bound}, as many as the bound")
    if any(x[0] >= y[0] for x, y in pairwise(heads)):
        refuse("heads", "must have different W, in ascending order")
    check_probes(data, draw, heads, int(D))
    check_model(data["model"], int(D), heads, dim)
    equal = "; equal to the canonical form of the public model" if data["model"] is not None else ""
    within = " with integral exponents" if data["method"] == "optimal" else ""
    return (
        f"recovery of {len(heads)} canonical heads by the {data['method']} method; token size {dim}, queries "
        f"{data['queries']} (formula {data['formula']}), longest {data['longest']}, redraws "
        f"{data['redraws']}; no other layer with at most {bound} canonical heads{within} gives these "
        f"answers{equal}"
    )


def check_plan(data: dict[str, Any], bound: int, dim: int) -> Draw:
    """Draws all vectors from the seed and counts queries; the vectors of the last draw."""
    plan = record(data["plan"], "plan", {"seed", "tokens", "draws"})
    seed = count(plan["seed"], "plan.seed", -MAX_INTEGER)
    tokens = record(plan["tokens"], "plan.tokens", {"last", "difference", "denominator", "first"})
    exactly(tokens["denominator"], "plan.tokens.denominator", 1)
    last, difference, first = (
        count(tokens[key], f"plan.tokens.{key}", 1) for key in ("last", "difference", "first")
    )
    draws = items(plan["draws"], "plan.draws", 1, MAX_DRAWS)
    optimal = data["method"] == "optimal"
    formula = bound * (dim**2 + dim) if optimal else 2 * bound * (dim**2 + dim - 1)
    if formula * len(draws) > MAX_QUERIES:
        refuse("plan.draws", f"has more than {MAX_QUERIES} queries")
    asked: set[Any] = set()
    before = [-1] * (3 * dim - 1)
    for path, given in draws:
        record(given, path, {"b", "a", "u"})
        lengths = {"b": dim, "a": dim - 1, "u": dim}
        after = [
            count(x, at) for key, n in lengths.items() for at, x in items(given[key], f"{path}.{key}", n, n)
        ]
        if after == before or any(x > y for x, y in zip(before, after, strict=True)):
            refuse(path, "must replace vectors of the draw before by later versions, and nothing else")
        before = after
        b = [*drawn(seed, "b", after[:1], dim, first), *drawn(seed, "b", after[:dim], dim, last)[1:]]
        a = [b[0], *drawn(seed, "a", [0, *after[dim : 2 * dim - 1]], dim, last)[1:]]
        draw = Draw(b, a, drawn(seed, "u", after[2 * dim - 1 :], dim, difference))
        asked |= {query(probe, m) for probe in probes(draw, bound, optimal=optimal) for m in probe.copies}
    for name, rows in zip("bau", draw, strict=True):
        for (path, shown_row), row in zip(items(data[name], name, dim, dim), rows, strict=True):
            if numbers(shown_row, path, dim) != tuple(Fraction(x) for x in row):
                refuse(path, "is not the vector drawn from the seed")
    exactly(data["queries"], "queries", len(asked))
    exactly(data["formula"], "formula", formula)
    exactly(data["longest"], "longest", 2 * bound + 1 if dim > 1 else 2 * bound)
    exactly(data["redraws"], "redraws", len(draws) - 1)
    return draw


def probes(draw: Draw, bound: int, *, optimal: bool) -> Iterator[Probe]:
    """All probes, in the order of the plan."""
    b, a, u = draw
    zero = (0,) * len(b)
    copies = range(2 * bound)
    yield Probe("base", zero, None, b[0], copies)
    for token in a[1:]:
        if optimal:
            yield Probe("token", zero, token, b[0], copies)
        else:
            yield Probe("forward", zero, token, b[0], copies)
            yield Probe("opposite", zero, tuple(-x for x in token), b[0], copies)
    if optimal:
        yield from pair_probes(b, u, copies)
        return
    for last in b[1:]:
        filler = minus(last, u[0])
        yield Probe("row base", filler, None, last, copies)
        for direction in u[1:]:
            yield Probe("row", filler, add(filler, direction), last, copies)


def pair_probes(b: list[Vector], u: list[Vector], copies: range) -> Iterator[Probe]:
    """Rows from the second: pairs of directions; for odd d two rows share one probe."""

    def pair(last: Vector, j: int, k: int) -> Probe:
        filler = minus(last, u[k])
        return Probe("pair", filler, add(filler, u[j]), last, copies)

    d = len(u)
    if d % 2 == 0:
        for last in b[1:]:
            yield from (pair(last, j, j + 1) for j in range(0, d, 2))
        return
    for one, other in zip(b[1::2], b[2::2], strict=True):
        yield from (pair(one, j, j + 1) for j in range(0, d - 1, 2))
        yield from (pair(other, j, j + 1) for j in range(1, d, 2))
        yield pair(minus(add(one, other), b[0]), d - 1, 0)


def check_probes(data: dict[str, Any], draw: Draw, heads: list[Any], D: int) -> None:
    """Every answer, distinct poles, non-zero residues, and that no head can be taken for another."""
    vs, common = cleared(tuple(v for _, v in heads), "heads")
    total = tuple(sum(column) for column in zip(*vs, strict=True))
    plan = list(probes(draw, data["heads_bound"], optimal=data["method"] == "optimal"))
    copies = 2 * data["heads_bound"]
    answers = iter(items(data["answers"], "answers", len(plan) * copies, len(plan) * copies))
    earlier: dict[str, Seen] = {}
    for n, probe in enumerate(plan, 1):
        seen = shown_heads(probe, heads, D)
        name = f"{probe.kind} probe, number {n}"
        check_heads_of_probe(name, seen)
        constant = Fraction(dot(total, probe.filler), common)
        for m in probe.copies:
            path, given = next(answers)
            value = constant + sum(S / (m + R) for R, S in zip(seen.R, seen.S, strict=True))
            if fraction(given, path, MAX_ANSWER_BITS) != (value.numerator, value.denominator):
                refuse(path, f"{name}, m = {m}: is not the value of the listed heads in lowest terms")
        before = {"forward": [], "opposite": ["base", "forward"], "token": ["base"], "row": ["row base"]}
        check_labels(name, probe.kind, seen, [earlier[kind] for kind in before.get(probe.kind, [])])
        earlier[probe.kind] = seen


STATEMENT = """
* The {formula} queries, {method_formula} for H0 = {bound} heads and token size d = {dim}, are those of the
{method} plan: 2*H0 queries a probe, none of more than 2*H0 + 1 tokens. The vectors are those that SHA-256
draws from the seed {seed} (plan {plan}).
* All draws listed in the plan ({redraws} redraws) together have {queries} distinct queries.
* With exp(s) replaced by 2^(D*s), D = {D}, every answer is exactly the value of the layer with the K = H0 =
{bound} heads (W_h, v_h) listed here, with integer exponents.
* With exp(s) replaced by 2^(D*s): every layer with real parameters and at most {bound} canonical heads that
gives these answers{within} has exactly these canonical heads, up to their order.
* model | The canonical form of the public model ({model}) is exactly this list of heads.
"""
HYPOTHESES = """
* invertible | verified | b_1 ... b_d, the tokens b_1, a_2 ... a_d, and u_1 ... u_d are bases (witnesses: the
inverses).
* distinct-poles | verified | In every probe the poles are pairwise distinct.
* nonzero-residues | verified | In every probe no residue is zero.
* unique-labels | verified | In every probe only its own pole satisfies the labelling rule of a head.
* model | layer | verified for the model | The public model has at most H0 canonical heads, and its values
are these answers.
* no model | layer | assumed | Whoever answered computes, without error and with exp(s) replaced by 2^(D*s),
an attention layer with at most H0 canonical heads{within}.
"""
LIMITS = """
* no model | That whoever answered computes such a layer: other functions give the same answers.
* model | That any program which is said to compute the public model does so.
* optimal | That no layer with an exponent that is not an integer gives the same answers.
* Anything about real scores and base e.
* That no layer with more than {bound} canonical heads gives the same answers.
* Who answered, and whether the seed and the redraws were chosen before the answers were known.
* That fewer queries would not do.
* Anything about heads before those with equal W are merged and those with v = 0 dropped.
"""


def few_queries_texts(data: dict[str, Any]) -> dict[str, Any]:
    """The sentences of a certificate, from its content."""
    optimal, public = data["method"] == "optimal", data["model"] is not None
    facts = {key: data[key] for key in ("formula", "queries", "redraws", "dim", "method")}
    facts |= {"bound": data["heads_bound"], "D": data["denominator"], "seed": data["plan"]["seed"]}
    facts |= {"plan": digest(data["plan"]), "model": digest(data["model"])}
    facts["method_formula"] = "H0*(d^2 + d)" if optimal else "2*H0*(d^2 + d - 1)"
    facts["within"] = " and whose exponents in the probes are integers" if optimal else ""
    conditions = {"model": public, "no model": not public, "optimal": optimal}
    return sentences((STATEMENT, HYPOTHESES, LIMITS), facts, conditions)


KEYS = """field base denominator method heads_bound dim plan b a u b_inverse a_inverse u_inverse heads answers
    queries formula longest redraws model"""
FEW_QUERIES = Kind(KEYS, check_few_queries, few_queries_texts)
