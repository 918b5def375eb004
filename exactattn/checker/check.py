"""Checker of exactattn certificates: one file, standard library only, searches for nothing.

    python check.py FILE...     exit code 0 valid, 1 refused with the reason, 2 unreadable; the worst counts

A certificate is a JSON object. Its sentences (statement, hypotheses, does_not_establish) are rebuilt here
from its content, which is verified in exact integers, and compared word for word.

Why the statement of a recovery certificate follows from what is verified: let L be the listed layer with
K <= H0 heads (W_h, v_h), let E(s) = 2^(D s) (or e^s, word for word), and let L' be a layer with real
parameters and K' <= K canonical heads (W'_k, v'_k) that gives the same answers.

1. m copies of b - u before b give V.b - m G(m), G(x) = sum_h c_h/(x + r_h), V = sum_h v_h, c_h = v_h.u and
   r_h = E(b^T W_h u) > 0; likewise V', G' for L'. The token b_1 alone gives V'.b_1 = V.b_1, so G' = G at
   m = 1 ... 2*H0 in every base probe (b_1, u_j). G' - G has a numerator of degree at most K + K' - 1 < 2*H0
   and a denominator without zeros m > 0, so G' = G as functions. Their coefficients of 1/x give
   V'.u_j = V.u_j for the basis u_j, so V' = V; and now the same argument gives G' = G in every probe.
2. In every probe G has K distinct poles and no zero residue (verified), and G' = G has at most K' <= K terms.
   So K' = K, no terms of G' merge or vanish, and there is a bijection s of heads, one for each probe, with
   c'_k = c_s(k) and b^T W'_k u = b^T W_s(k) u.
3. Scores and residues are bilinear. On X = (b_i, u_1), Y = (b_i, u_j), Z = (b_i, u_1 + u_j) both add, so
   with h = s_X(k), g = s_Y(k) the pair (e_h(X) + e_g(Y), c_h(X) + c_g(Y)) occurs in Z, where e = D*score.
   This is verified to happen for no h != g, so s_X = s_Y. Likewise on X = (b_1, u_1), Y = (b_i, u_1),
   Z = (b_1 + b_i, u_1), where scores add and the residue is the same in all three. These links join all base
   probes, so they share one bijection s.
4. b_i^T W'_k u_j = b_i^T W_s(k) u_j and v'_k.u_j = v_s(k).u_j for all i, j, and both bases are invertible
   (verified by their inverses), so W'_k = W_s(k) and v'_k = v_s(k).

If K = H0, "at most K" is "at most H0": no hypothesis on the number of heads is left. If K < H0, one is: two
heads with opposite v, v.u_1 = v.u_3 = 0, and matrices that differ only in what they do to u_3 show in no
probe (d >= 3). Each verified condition says that a polynomial (for a label: one of two) in the entries of the
b_i and u_j is not zero here, so for this layer it fails only on a set of measure zero.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

__all__ = ["Verdict", "check_data", "check_file", "load", "main", "recovery_texts"]

MAX_FILE_BYTES, MAX_VALUES, MAX_DEPTH = 1 << 27, 1 << 21, 12
MAX_INTEGER, MAX_BITS, MAX_ANSWER_BITS = (1 << 63) - 1, 1 << 13, 1 << 21
MAX_EXPONENT, MAX_EXPONENT_SUM = 1 << 24, 1 << 20  # of one head, of all heads in a probe
MAX_HEADS, MAX_DIM, MAX_DRAWS, MAX_QUERIES = 1 << 10, 1 << 7, 1 << 8, 1 << 18

Vector = tuple[int, ...]
Head = tuple[tuple[tuple[Fraction, ...], ...], tuple[Fraction, ...]]
ProbeHeads = list[tuple[int, int]]  # what a probe shows of each head: exponent, numerator of residue


class Refused(Exception):
    """The certificate does not prove its statement, or is not written as it must be."""

    code = 1


class Unreadable(Refused):
    """The file is missing, not JSON, or larger than a limit."""

    code = 2


class Verdict(NamedTuple):
    """Exit code (0 valid, 1 refused, 2 unreadable), and the summary of the statement or the reason."""

    code: int
    reason: str

    @property
    def word(self) -> str:
        """The verdict in one word."""
        return ("valid", "refused", "unreadable")[self.code]


# ---- strict readers ----


def shown(x: object) -> str:
    text = ascii(x)
    return text if len(text) <= 60 else text[:57] + "..."


def refuse(path: str, reason: str) -> NoReturn:
    raise Refused(f"{path}: {reason}" if path else reason)


def record(x: Any, path: str, keys: set[str]) -> dict[str, Any]:
    """An object with exactly these keys."""
    if type(x) is not dict:
        refuse(path, "must be an object")
    for key in sorted(x.keys() ^ keys):
        refuse(path, f"{'unknown' if key in x else 'missing'} key {shown(key)}")
    return x


def items(x: Any, path: str, least: int, most: int) -> list[tuple[str, Any]]:
    """The items of a list of least to most items, each with its path."""
    if type(x) is not list or not least <= len(x) <= most:
        refuse(path, f"must be a list of {least if least == most else f'{least} to {most}'} items")
    return [(f"{path}[{k}]", y) for k, y in enumerate(x)]


def count(x: Any, path: str, least: int = 0, most: int = MAX_INTEGER) -> int:
    """A JSON integer within bounds (true and false are none)."""
    if type(x) is not int or not least <= x <= most:
        refuse(path, f"is {shown(x)}, must be an integer from {least} to {most}")
    return x


def exactly(x: Any, path: str, value: str | int) -> None:
    """One particular text or integer."""
    if type(x) is not type(value) or x != value:
        refuse(path, f"is {shown(x)}, must be {shown(value)}")


NUMBER = re.compile(
    r"(-?)(0|[1-9][0-9]{0,19}|0x[1-9a-f][0-9a-f]*)(?:/([1-9][0-9]{0,19}|0x[1-9a-f][0-9a-f]*))?"
)


def fraction(x: Any, path: str, bits: int) -> tuple[int, int]:
    """p and q >= 1 of "p" or "p/q", q >= 2; hexadecimal from 2^64 on, else decimal; not yet lowest terms."""
    match = NUMBER.fullmatch(x) if type(x) is str and len(x) <= bits // 2 + 16 else None
    if match is None or x == "-0" or match[3] == "1":
        refuse(path, f"{shown(x)} is not a canonical number, or has more than {bits} bits")
    parts = (match[2], match[3] or "1")
    p, q = (int(part, 16 if part[:2] == "0x" else 10) for part in parts)
    if max(p.bit_length(), q.bit_length()) > bits:
        refuse(path, f"has more than {bits} bits")
    if any((part[:2] == "0x") != (n.bit_length() > 64) for n, part in zip((p, q), parts, strict=True)):
        refuse(path, f"{shown(x)} is not canonical: hexadecimal from 2^64 on, decimal below")
    return -p if match[1] else p, q


def number(x: Any, path: str) -> Fraction:
    """A canonical rational, in lowest terms."""
    p, q = fraction(x, path, MAX_BITS)
    if math.gcd(p, q) != 1:
        refuse(path, f"{shown(x)} is not in lowest terms")
    return Fraction(p, q)


def numbers(x: Any, path: str, *shape: int) -> Any:
    """A vector or matrix of canonical rationals, as nested tuples."""
    if not shape:
        return number(x, path)
    return tuple(numbers(y, place, *shape[1:]) for place, y in items(x, path, shape[0], shape[0]))


def within_limits(x: Any, path: str = "", depth: int = 1) -> int:
    """The number of values in x, which must be plain JSON without floats and long integers."""
    total = 1
    if depth > MAX_DEPTH:
        raise Unreadable(f"nests deeper than {MAX_DEPTH}")
    if type(x) is dict or type(x) is list:
        for key, y in x.items() if type(x) is dict else enumerate(x):
            total += 1 if type(y) is str else within_limits(y, f"{path}.{key}".strip(".")[-80:], depth + 1)
    elif type(x) is int:
        count(x, path, -MAX_INTEGER)
    elif type(x) not in (str, bool) and x is not None:
        refuse(path, f"is {shown(x)}: numbers are integers, or texts p/q")
    if total > MAX_VALUES:
        raise Unreadable(f"holds more than {MAX_VALUES} values")
    return total


def canonical(x: Any) -> bytes:
    """Canonical JSON: sorted keys, no spaces, ASCII."""
    return json.dumps(x, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def digest(x: Any) -> str:
    return "sha256:" + hashlib.sha256(canonical(x)).hexdigest()


# ---- recovery, version 1 ----


def check_recovery(data: dict[str, Any]) -> str:
    """Verifies the content of a recovery certificate; returns the summary of its statement."""
    for key, value in (("field", "Q"), ("base", "2"), ("method", "published")):
        exactly(data[key], key, value)
    D = number(data["denominator"], "denominator")
    if D < 1 or D.denominator != 1:
        refuse("denominator", "must be a positive integer")
    bound = count(data["heads_bound"], "heads_bound", 1, MAX_HEADS)
    dim = count(data["dim"], "dim", 1, MAX_DIM)
    b, u, scale = check_plan(data, bound, dim)
    check_inverse(b, scale, data["b_inverse"], "b_inverse")
    check_inverse(u, scale, data["u_inverse"], "u_inverse")
    heads = read_heads(data["heads"], "heads", bound, dim)
    if any(x[0] >= y[0] for x, y in pairwise(heads)):
        refuse("heads", "must have different W, in ascending order")
    vs, common = cleared(tuple(v for _, v in heads), "heads")
    V_b = [sum(dot(v, row) for v in vs) for row in b]
    answers = iter(items(data["answers"], "answers", data["formula"], data["formula"]))
    path, given = next(answers)
    if number(given, path) != Fraction(V_b[0], common * scale):
        refuse(path, "is not the value of the listed heads at b_1 alone")
    check_probes(Asked(answers, bound, common * scale), V_b, tables(heads, vs, int(D), b, u, scale))
    check_model(data["model"], int(D), heads, dim)
    equal = "; equal to the canonical form of the public model" if data["model"] is not None else ""
    return (
        f"recovery of {len(heads)} canonical heads; token size {dim}, queries {data['queries']} (formula "
        f"{data['formula']}), longest {data['longest']}, redraws {data['redraws']}; no other layer with at "
        f"most {len(heads)} canonical heads gives these answers{equal}"
    )


def check_plan(data: dict[str, Any], bound: int, dim: int) -> tuple[list[Vector], list[Vector], int]:
    """Draws all vectors from the seed, checks counts and lengths; numerators of b and u, denominator."""
    plan = record(data["plan"], "plan", {"seed", "tokens", "draws"})
    seed = count(plan["seed"], "plan.seed", -MAX_INTEGER)
    names = ("last", "difference", "denominator")
    tokens = record(plan["tokens"], "plan.tokens", set(names))
    last, difference, scale = (count(tokens[key], f"plan.tokens.{key}", 1) for key in names)
    draws = items(plan["draws"], "plan.draws", 1, MAX_DRAWS)
    formula = 4 * bound * dim**2 - 2 * bound + 1
    if formula * len(draws) > MAX_QUERIES:
        refuse("plan.draws", f"has more than {MAX_QUERIES} queries")
    firsts: set[Vector] = set()
    pairs: set[tuple[Vector, Vector]] = set()
    b: list[Vector] = []
    u: list[Vector] = []
    before = [-1] * (2 * dim)
    for path, draw in draws:
        record(draw, path, {"b", "u"})
        after = [count(x, at) for key in ("b", "u") for at, x in items(draw[key], f"{path}.{key}", dim, dim)]
        if after == before or any(x > y for x, y in zip(before, after, strict=True)):
            refuse(path, "must replace vectors of the draw before by later versions, and nothing else")
        before = after
        b = drawn(seed, "b", after[:dim], dim, last)
        u = drawn(seed, "u", after[dim:], dim, difference)
        firsts.add(b[0])
        differences = u + [add(u[0], y) for y in u[1:]]
        pairs.update((x, y) for x in b for y in differences)
        pairs.update((add(b[0], x), u[0]) for x in b[1:])
    for name, rows in (("b", b), ("u", u)):
        for (path, given), row in zip(items(data[name], name, dim, dim), rows, strict=True):
            if numbers(given, path, dim) != tuple(Fraction(x, scale) for x in row):
                refuse(path, "is not the vector drawn from the seed")
    exactly(data["queries"], "queries", len(firsts) + 2 * bound * len(pairs))
    exactly(data["formula"], "formula", formula)
    exactly(data["longest"], "longest", 2 * bound + 1)
    exactly(data["redraws"], "redraws", len(draws) - 1)
    return b, u, scale


def drawn(seed: int, name: str, versions: list[int], dim: int, radius: int) -> list[Vector]:
    """Numerators: the SHA-256 digest of a text, reduced to -width ... width, width = radius*(version + 1)."""

    def entry(index: int, version: int, k: int) -> int:
        width = radius * (version + 1)
        text = f"exactattn draw 1|{seed}|{name}|{index}|{version}|{k}"
        return int.from_bytes(hashlib.sha256(text.encode("ascii")).digest(), "big") % (2 * width + 1) - width

    return [tuple(entry(i, version, k) for k in range(dim)) for i, version in enumerate(versions, 1)]


def add(x: Vector, y: Vector) -> Vector:
    return tuple(p + q for p, q in zip(x, y, strict=True))


def dot(x: Any, y: Any) -> Any:
    return sum(p * q for p, q in zip(x, y, strict=True))


def cleared(rows: tuple[tuple[Fraction, ...], ...], path: str) -> tuple[list[Vector], int]:
    """The rows as integers over one denominator."""
    common = 1
    for row in rows:
        common = math.lcm(common, *(x.denominator for x in row))
        if common.bit_length() > MAX_BITS:
            refuse(path, f"the common denominator has more than {MAX_BITS} bits")
    return [tuple(int(x * common) for x in row) for row in rows], common


def check_inverse(rows: list[Vector], scale: int, given: Any, path: str) -> None:
    inverse, common = cleared(numbers(given, path, len(rows), len(rows)), path)
    for i, row in enumerate(rows):
        products = [dot(row, column) for column in zip(*inverse, strict=True)]
        if any(x != (i == j) * scale * common for j, x in enumerate(products)):
            refuse(path, f"is not the inverse of the matrix with rows {path[0]} (row {i})")


def read_heads(x: Any, path: str, most: int, dim: int) -> list[Head]:
    heads: list[Head] = []
    for place, head in items(x, path, 0, most):
        record(head, place, {"W", "v"})
        heads.append((numbers(head["W"], f"{place}.W", dim, dim), numbers(head["v"], f"{place}.v", dim)))
    return heads


def tables(
    heads: list[Head], vs: list[Vector], D: int, b: list[Vector], u: list[Vector], scale: int
) -> list[list[ProbeHeads]]:
    """Entry [i][j]: of every head the exponent D b_i^T W_h u_j, which must be an integer, and v_h.u_j."""
    result: list[list[ProbeHeads]] = [[[] for _ in u] for _ in b]
    for h, ((W, _), v) in enumerate(zip(heads, vs, strict=True)):
        rows, common = cleared(W, f"heads[{h}].W")
        residues = [dot(v, y) for y in u]
        for x, entries in zip(b, result, strict=True):
            left = [D * dot(x, column) for column in zip(*rows, strict=True)]
            for y, c, entry in zip(u, residues, entries, strict=True):
                e, rest = divmod(dot(left, y), common * scale**2)
                if rest:
                    refuse(f"heads[{h}].W", "an exponent D*b^T W u is not an integer")
                entry.append((e, c))
    return result


class Asked(NamedTuple):
    """Answers still to be checked, the bound on the number of heads, and the denominator of V.b and v.u."""

    answers: Iterator[tuple[str, Any]]
    bound: int
    unit: int


def check_probes(asked: Asked, V_b: list[int], P: list[list[ProbeHeads]]) -> None:
    """All probes in the order of the plan, and that no head can be taken for another (step 3 above)."""

    def link(name: str, constant: int, X: ProbeHeads, Y: ProbeHeads, row: bool) -> None:
        Z = [(e + f, c if row else c + k) for (e, c), (f, k) in zip(X, Y, strict=True)]
        check_probe(name, asked, constant, Z)
        of_heads = set(Z)
        for h, (e, c) in enumerate(X):
            for g, (f, k) in enumerate(Y):
                if g != h and (not row or c == k) and (e + f, c if row else c + k) in of_heads:
                    refuse("heads", f"{name}: the labels of two heads are ambiguous")

    n = range(len(P))
    for i in n:
        for j in n:
            check_probe(f"base probe ({i + 1}, {j + 1})", asked, V_b[i], P[i][j])
    for i in n:
        for j in n[1:]:
            link(f"column probe ({i + 1}, {j + 1})", V_b[i], P[i][0], P[i][j], False)
    for i in n[1:]:
        link(f"row probe ({i + 1}, 1)", V_b[0] + V_b[i], P[0][0], P[i][0], True)


def check_probe(name: str, asked: Asked, constant: int, heads: ProbeHeads) -> None:
    """Distinct e, non-zero c, and answer*unit = constant - m sum c/(m + 2^e) for m = 1 ... 2*bound."""
    sizes = [abs(e) for e, _ in heads]
    if max(sizes, default=0) > MAX_EXPONENT or sum(sizes) > MAX_EXPONENT_SUM:
        refuse("heads", f"{name}: the exponents of 2 are too large")
    if len({e for e, _ in heads}) < len(heads):
        refuse("heads", f"{name}: two heads have the same exponent")
    if not all(c for _, c in heads):
        refuse("heads", f"{name}: a residue v.u is zero")
    # c/(m + 2^e) = c 2^low / (m 2^low + 2^high) with e = high - low; products with powers of 2 are shifts
    terms = [(c, max(0, -e), max(0, e)) for e, c in heads]
    for m in range(1, 2 * asked.bound + 1):
        top, bottom = 0, 1
        for c, low, high in terms:
            top = (m * top << low) + (top << high) + (c * bottom << low)
            bottom = (m * bottom << low) + (bottom << high)
        path, given = next(asked.answers)
        p, q = fraction(given, path, MAX_ANSWER_BITS)
        factor, rest = divmod(bottom * asked.unit, q)
        if rest or p * factor != constant * bottom - m * top:
            refuse(path, f"{name}, m = {m}: is not the value of the listed heads in lowest terms")
        # a common prime of p and q divides bottom * unit, so one of the numbers that this is the product of
        shares = [math.gcd(folded(p, m, low, high), (m << low) + (1 << high)) for _, low, high in terms]
        if any(math.gcd(share, q) != 1 for share in [*shares, math.gcd(p, asked.unit)]):
            refuse(path, f"{shown(given)} is not in lowest terms")


def folded(p: int, m: int, low: int, high: int) -> int:
    """A short number with the same greatest common divisor with m 2^low + 2^high (low or high is 0) as p."""
    size = low + high
    if size <= 64 or p.bit_length() > 32 * size:  # many short steps would cost more than one division
        return p
    while p.bit_length() > size + 64:
        upper, lower = p >> size, p & ((1 << size) - 1)
        p = lower - m * upper if high else m * lower - upper
    return p


def check_model(model: Any, D: int, heads: list[Head], dim: int) -> None:
    """The public model's canonical form must be the listed heads: equal W merged, vanishing v dropped."""
    if model is None:
        return
    given = read_heads(record(model, "model", {"heads"})["heads"], "model.heads", MAX_HEADS, dim)
    if any(D % x.denominator for W, _ in given for row in W for x in row):
        refuse("model.heads", "the denominator is not a common denominator of the entries of all W")
    vs, common = cleared(tuple(v for _, v in given), "model.heads")
    merged: dict[Any, Vector] = {}
    for (W, _), v in zip(given, vs, strict=True):
        merged[W] = add(merged.get(W, (0,) * dim), v)
    canonical = sorted((W, tuple(Fraction(x, common) for x in v)) for W, v in merged.items() if any(v))
    if canonical != heads:
        refuse("model.heads", "the canonical form is not the list of heads")


# A sentence may begin with its condition: "model" or "no model" is given, "open" if K < H0.
RECOVERY_STATEMENT = """
* The {formula} = 4*H0*d^2 - 2*H0 + 1 queries are those of the published plan for at most H0 = {bound} heads
and token size d = {dim}: b_1 alone, and m = 1 ... 2*H0 copies of b - u before the last token b in each of
2*d^2 - 1 probes (b, u). The longest has 2*H0 + 1 = {longest} tokens. The vectors are those that SHA-256 draws
from the seed {seed} (plan {plan}).
* All draws listed in the plan ({redraws} redraws) together have {queries} distinct queries.
* With exp(s) replaced by 2^(D*s), D = {D}, every answer is exactly the value of the layer with the K = {K}
heads (W_h, v_h) listed here: V.b - m * sum_h c_h/(m + r_h), V = sum_h v_h, c_h = v_h.u,
r_h = 2^(D*b^T W_h u), with integer exponents. In every probe the r_h are pairwise distinct and no c_h is
zero. For this V.b no other sum of at most H0 such terms, with distinct r > 0 and no c zero, takes these
values at m = 1 ... 2*H0.
* With exp(s) replaced by 2^(D*s): every layer with real parameters and at most {most} canonical heads that
gives these answers has exactly these canonical heads, up to their order.
* With exp unchanged (base e): every layer with real parameters and at most {most} canonical heads that has
the same values at these queries as the layer listed here has exactly these canonical heads, up to their
order.
* For the layer listed here, real scores and base e, the query vectors (b_1 ... b_d, u_1 ... u_d) for which
one of the first four hypotheses fails form a set of measure zero in R^(2*d^2): a failure is a common zero of
polynomials, and these query vectors witness that the polynomials do not vanish everywhere.
* model | The canonical form of the public model ({model}) is exactly this list of heads, and D is a common
denominator of the entries of its matrices. Each answer is the value of the public model, a quotient of
polynomials in t = e^(1/D), which is transcendental, with t replaced by 2.
"""
RECOVERY_HYPOTHESES = """
* invertible | verified | The matrix with rows b_i and the matrix with rows u_j are invertible (witnesses:
b_inverse, u_inverse).
* distinct-poles | verified | In every probe the scores b^T W_h u are pairwise distinct.
* nonzero-residues | verified | In every probe no residue v_h.u is zero.
* unique-labels | verified | A score and a residue from each of the two base probes that a column probe joins
add up to those of a head only if both are of one head; likewise a row probe, with scores that add up and
equal residues.
* model | layer | verified for the model | The public model has at most H0 canonical heads, and its values are
these answers.
* no model | layer | assumed | Whoever answered computes, without error and with exp(s) replaced by 2^(D*s),
an attention layer with at most H0 canonical heads.
* open, model | all-heads-seen | verified for the model | The public model has no more than {K} canonical
heads.
* open, no model | all-heads-seen | assumed | That layer has no more than {K} canonical heads. (For a fixed
layer with more, up to H0, the query vectors that do not show all of them have measure zero. That the vectors
drawn here are not among them is not proved by the answers.)
"""
RECOVERY_LIMITS = """
* no model | That whoever answered computes such a layer: other functions give the same answers.
* model | That any program which is said to compute the public model does so.
* open, no model | That there are no further heads beyond these {K}.
* That no layer with more than {K} canonical heads gives the same answers.
* Who answered, and whether the seed and the redraws were chosen before the answers were known.
* That fewer queries would not do.
* Anything about heads before those with equal W are merged and those with v = 0 dropped.
* Anything about computation in floating point, or about answers with errors.
* How likely vectors from the finite range drawn from here are to satisfy the hypotheses.
"""


def recovery_texts(data: dict[str, Any]) -> dict[str, Any]:
    """The sentences of a recovery certificate, from its content."""
    K, bound, public = len(data["heads"]), data["heads_bound"], data["model"] is not None
    facts = {key: data[key] for key in ("formula", "longest", "queries", "redraws", "dim")}
    facts |= {"K": K, "bound": bound, "D": data["denominator"], "seed": data["plan"]["seed"]}
    facts |= {"plan": digest(data["plan"]), "model": digest(data["model"])}
    facts["most"] = f"H0 = K = {K}" if bound == K else f"K = {K}"
    conditions = {"model": public, "no model": not public, "open": bound > K}
    return sentences((RECOVERY_STATEMENT, RECOVERY_HYPOTHESES, RECOVERY_LIMITS), facts, conditions)


def sentences(
    templates: tuple[str, str, str], facts: dict[str, Any], conditions: dict[str, bool]
) -> dict[str, Any]:
    """Statement, hypotheses and limits, without the sentences whose conditions do not hold."""

    def paragraphs(template: str, fields: int) -> Iterator[list[str]]:
        for paragraph in template.rstrip().split("\n* ")[1:]:
            *condition, rest = paragraph.split(" | ", paragraph.count(" | ") + 1 - fields)
            if all(conditions[c] for c in ", ".join(condition).split(", ") if c):
                yield " ".join(rest.split()).format_map(facts).split(" | ")

    statement, hypotheses, limits = templates
    return {
        "statement": [text for (text,) in paragraphs(statement, 1)],
        "hypotheses": [
            dict(zip(("id", "status", "text"), h, strict=True)) for h in paragraphs(hypotheses, 3)
        ],
        "does_not_establish": [text for (text,) in paragraphs(limits, 1)],
    }


# ---- kinds, files, command line ----


class Kind(NamedTuple):
    """One kind of certificate: its own keys, what verifies it (and sums it up), and its sentences.

    ``verify_file``, for kinds with a companion file: the same from the content, the path of the certificate,
    and whether only the sample is to be checked.
    """

    keys: str
    verify: Callable[[dict[str, Any]], str]
    texts: Callable[[dict[str, Any]], dict[str, Any]]
    verify_file: Callable[[dict[str, Any], Any, bool], str] | None = None


RECOVERY_KEYS = """field base denominator method heads_bound dim plan b u b_inverse u_inverse heads answers
    queries formula longest redraws model"""
KINDS = {("recovery", 1): Kind(RECOVERY_KEYS, check_recovery, recovery_texts)}
COMMON_KEYS = "format version kind digest made_by statement hypotheses does_not_establish"


def verified(data: Any, file: Any = None, sample: bool = False) -> str:
    """The summary of a valid certificate, read from ``file`` if it was one. Raises Refused or Unreadable."""
    within_limits(data)
    if type(data) is not dict:
        refuse("", "is not a JSON object")
    exactly(data.get("format"), "format", "exactattn-certificate")
    name, version = data.get("kind"), count(data.get("version"), "version")
    kind = KINDS.get((name, version)) if type(name) is str else None
    if kind is None:
        refuse("kind", f"{shown(name)} version {version} is not known to this checker")
    record(data, "", {*COMMON_KEYS.split(), *kind.keys.split()})
    exactly(data["digest"], "digest", digest({key: x for key, x in data.items() if key != "digest"}))
    made_by = data["made_by"]
    if type(made_by) is not dict or len(made_by) > 16:
        refuse("made_by", "must be an object with at most 16 keys")
    if any(type(x) is not str or len(x) > 100 for pair in made_by.items() for x in pair):
        refuse("made_by", "must hold texts of at most 100 characters")
    if sample and kind.verify_file is None:
        refuse("kind", f"certificates of kind {name} have no sample; check all of it")
    if file is None or kind.verify_file is None:
        summary = kind.verify(data)
    else:
        summary = kind.verify_file(data, file, sample)
    for key, expected in kind.texts(data).items():
        for (path, x), y in zip(items(data[key], key, len(expected), len(expected)), expected, strict=True):
            if x != y:
                refuse(path, f"must be what was verified, word for word: {shown(y)}")
    return summary


def load(path: Any) -> Any:
    """The JSON value in a file, read strictly. Raises Refused or Unreadable."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for x, y in pairwise(sorted(key for key, _ in pairs)):
            if x == y:
                refuse("", f"the key {shown(x)} appears twice in one object")
        return dict(pairs)

    def integer(text: str) -> int:
        if len(text) > 20 or text == "-0":
            refuse("", f"{shown(text)} is beyond 2^63, or not in canonical form")
        return int(text)

    try:
        with open(path, "rb") as stream:
            content = stream.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise Unreadable(f"is larger than {MAX_FILE_BYTES} bytes")
        if sum(map(content.count, (b",", b"[", b"{"))) > MAX_VALUES:
            raise Unreadable(f"holds more than {MAX_VALUES} values")
        return json.loads(content.decode("utf-8"), object_pairs_hook=unique, parse_int=integer)
    except OSError as error:
        raise Unreadable(error.strerror or "cannot be read") from None
    except RecursionError:
        raise Unreadable(f"nests deeper than {MAX_DEPTH}") from None
    except ValueError as error:  # not UTF-8, or not JSON
        raise Unreadable(f"is not JSON: {error}") from None


def verdict(read: Callable[[], Any], file: Any = None, sample: bool = False) -> Verdict:
    try:
        return Verdict(0, verified(read(), file, sample))
    except Refused as reason:
        return Verdict(reason.code, str(reason))


def check_data(data: Any) -> Verdict:
    """The verdict on a certificate given as Python values, as json.loads returns them."""
    return verdict(lambda: data)


def check_file(path: Any, *, sample: bool = False) -> Verdict:
    """The verdict on a certificate file, with its companion file if it has one; ``sample``: on the sample in
    it alone."""
    return verdict(lambda: load(path), path, sample)


def main(arguments: list[str]) -> int:
    """Prints one line a file; the exit code is the worst of all."""
    sample = arguments[:1] == ["--sample"]
    files = arguments[1:] if sample else arguments
    if not files:
        print("usage: check.py [--sample] FILE...", file=sys.stderr)
        return 2
    worst = 0
    for path in files:
        result = check_file(path, sample=sample)
        line = f"{result.word}: {path}: {result.reason}"
        print("".join(c if " " <= c <= "~" else ascii(c)[1:-1] for c in line), flush=True)
        worst = max(worst, result.code)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
