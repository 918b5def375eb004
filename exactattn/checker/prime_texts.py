"""Sentences of certificates of recoveries in prime fields, each with the number of primes that it needs."""

from __future__ import annotations

from math import lcm, prod
from typing import Any

from .check import digest, sentences
from .prime_tree import SAMPLE

__all__ = ["prime_texts"]

STATEMENT = """
* Queries: the {queries} queries are those of the published plan for at most H0 = {bound} heads and token
size d = {dim}{biased}: b_1 alone, and m = 1 ... 2*H0 copies of b - u before the last token b in each of
{probes} probes (b, u). The longest has 2*H0 + 1 = {longest} tokens. The vectors follow by SHA-256 from the
seed {seed} (plan {plan}).
* The companion file {name} (SHA-256 {sha256}) lists K = {K} heads: integers N_h ({rows} rows{bias_row}, d
columns) and v_h (d numbers), and a constant, which is 0 without a bias. The layer meant has W_h = N_h * S,
S = 2^{score_exponent} * sqrt({scale}), and its outputs in units of 2^{value_exponent} are those of the v_h
and the constant.
* Answers, for each prime alone: with p and its generator g, exp(S) replaced by g and all else taken modulo p,
this layer's value at every query is defined, and the tree of SHA-256 digests over all these answers has the
root {roots}.
* Uniqueness modulo p, for each of these primes alone: every layer modulo p (exp(S) replaced by g, N'_h modulo
p - 1, v'_h and the constant modulo p) with at most {most} canonical heads that gives these answers has
exactly these heads modulo p - 1 and p, up to their order.
* One prime, the real layer: with exp unchanged (base e), every layer with real parameters and at most {most}
canonical heads that has the same values at these queries as the layer listed has exactly these canonical
heads, up to their order. (What differs modulo p - 1 or modulo p differs: one prime proves that these queries
are generic.)
* One prime, probability one: for the layer listed and base e, the vectors (b_1 ..., u_1 ...) for which a
hypothesis on poles, residues or labels fails form a set of measure zero, as a failure is a common zero of
polynomials that do not vanish at the vectors of this plan.
* One prime, specialisation: t = exp(S) is transcendental (Lindemann and Weierstrass). The real layer's values
at these queries, in units of 2^{value_exponent}, are quotients of polynomials in t with integral
coefficients; the answers are these quotients modulo p with t replaced by g, for each of
these primes.
* All {count} primes ({primes}), exact integers: let L ({L_bits} bits) be the least common multiple of all
p - 1 and P ({P_bits} bits) the product of all p. All entries of N_h lie strictly between -L/2 and L/2, all of
v_h and the constant between -P/2 and P/2, and no other integers in these ranges agree with those listed
modulo every p - 1 and every p, even if the order of the heads may differ from prime to prime.
* all | So every layer of such integers in these ranges, with at most {most} canonical heads, that gives the
answers under the roots modulo all {count} primes, has exactly the integers listed, up to the order of heads.
"""
HYPOTHESES = """
* bases | verified | The matrices of b and of u have determinant 1 (y.x = 0 in e_i + x_i y).
* primes | verified | Every p is a prime, by the order p - 1 of its generator; p - 1 has no prime factor above
31.
* distinct-poles | verified | In every probe the scores are pairwise distinct modulo p - 1.
* nonzero-residues | verified | In every probe no residue v_h.u is zero modulo p.
* defined | verified | No denominator m + r_h vanishes modulo p.
* unique-labels | verified | A score and a residue from each of the two base probes that a column probe joins
add up to those of a head, modulo p - 1 and p, only if both are of one head; likewise a row probe, with the
combination of scores and equal residues.
* layer | assumed | Whoever answered computes, without error, an attention layer with at most H0 canonical
heads.
* open | all-heads-seen | assumed | That layer has no more than {K} canonical heads.
* some | other-primes | assumed | For exact integers: modulo the {without} primes without a root here the
heads found are those listed. Their answers are not part of this certificate.
* ranges | assumed | For exact integers: those of the layer that answered lie in the ranges stated.
"""
LIMITS = """
* Anything on the rows not sampled or on the companion file, if only the sample is checked (--sample): that
verifies the {sampled} rows opened here of {rows}. The roots fix the answers before they choose the
rows; if a share q of the rows after the first were not as stated, a sample of {drawn} would miss all of them
with probability at most (1 - q)^{drawn} for one choice of roots, taking SHA-256 for random, and whoever tries
many has as many chances.
* That the integers listed are those of any file of weights: compare them.
* That whoever answered computes such a layer: other functions give the same answers.
* That no layer with more than {K} canonical heads gives the same answers.
* Anything about heads before those with equal W are merged and those with v = 0 dropped.
* Anything about computation in floating point, or about answers with errors.
"""


def prime_texts(data: dict[str, Any]) -> dict[str, Any]:
    """The sentences of a certificate, from its content."""
    dim, K, bound, bias = data["dim"], data["heads"], data["heads_bound"], data["bias"]
    rows, unit = dim + bias, data["unit"]
    primes = [item["prime"] for item in data["primes"]]
    answers = [(data["primes"][x["prime"]], x["root"]) for x in data["answers"]]
    drawn = min(SAMPLE, rows - 1)
    facts = {
        "queries": data["queries"],
        "bound": bound,
        "dim": dim,
        "biased": ", with a query bias and a constant" if bias else "",
        "probes": rows * (2 * dim - 1) + rows - 1,
        "longest": data["longest"],
        "seed": data["plan"]["seed"],
        "plan": digest(data["plan"]),
        "name": data["companion"]["name"],
        "sha256": data["companion"]["sha256"],
        "K": K,
        "rows": rows,
        "bias_row": ", the first for the query bias" if bias else "",
        "score_exponent": unit["score_exponent"],
        "scale": unit["scale_squared"],
        "value_exponent": unit["value_exponent"],
        "roots": ", ".join(f"{root} (p = {x['prime']}, g = {x['generator']})" for x, root in answers),
        "most": f"H0 = K = {K}" if bound == K else f"K = {K}",
        "count": len(primes),
        "without": len(primes) - len(answers),
        "primes": ", ".join(map(str, primes)),
        "L_bits": lcm(*(p - 1 for p in primes)).bit_length(),
        "P_bits": prod(primes).bit_length(),
        "sampled": drawn + 1,
        "drawn": drawn,
    }
    complete = len(answers) == len(primes)
    conditions = {"open": bound > K, "all": complete, "some": not complete}
    return sentences((STATEMENT, HYPOTHESES, LIMITS), facts, conditions)
