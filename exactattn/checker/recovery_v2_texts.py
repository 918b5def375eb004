"""The sentences of recovery certificates, version 2. A sentence may begin with its conditions."""

from __future__ import annotations

from typing import Any

from .check import digest, sentences
from .recovery_v2_plan import is_linked

__all__ = ["class_words", "recovery_v2_texts"]

STATEMENT = """
* The plan of the {method} method for at most H0 = {bound} heads and token size d = {dim}{sizes} has {planned}
queries, none of more than 2*H0 + 1 tokens; {formula_words} = {formula}. The vectors are those that SHA-256
draws from the seed {seed} (plan {plan}).
* All in all {queries} distinct queries are answered, the longest of {longest} tokens: those of the plan, and
the {others} others that are listed here.
* With exp(s) replaced by 2^(D*s), D = {D}, every answer is exactly the value of the layer listed here, with
K = {K} heads (W_h, {v}){constant} and integer exponents.
* With exp(s) replaced by 2^(D*s): every layer{of_kind}, real parameters and at most {K} canonical
heads{within} that gives the answers to the plan has {conclusion}.
* With exp unchanged (base e): every layer{of_kind}, real parameters and at most {K} canonical
heads{within} that has the values of the layer listed here at the queries of the plan has {conclusion}.
* isolated | Whatever the exponents, with either base: near the parameters listed here there are no
others{near} with the same values at the queries of the plan.
* counted | With exp(s) replaced by 2^(D*s): every layer{of_kind}, real parameters and at most
{counted_heads} canonical heads that gives these answers has exactly the poles and residues of the listed
heads, K = {K} of them, at the last token b_1 after copies of the token 0{counted_with}.
* model | The canonical form of the public model ({model}) is exactly the layer listed here, and D is a common
denominator of the entries of its matrices.
"""
HYPOTHESES = """
* invertible | verified | {bases} are bases (witnesses: the inverses).
* rank | ranks | verified | The matrices listed here have the ranks {ranks}, and so have their leading blocks
of scores (witnesses: the inverses of these).
* distinct-poles | verified | In every probe{but_shared} the poles are pairwise distinct.
* nonzero-residues | verified | In every probe no pole has residue{combined} zero.
* published | unique-labels | verified | What joins two base probes (scores that add up, residues that do or
are equal) joins no two different heads.
* staged | unique-labels | verified | In every probe the labelling rule gives every head its own pole, in no
other way.
* half | half-probes | verified | In every half probe the exponents are the only integers with these answers.
* model | layer | verified for the model | The public model is a layer{of_kind}, at most H0 canonical
heads{within}, and its values are these answers.
* no model | layer | assumed | Whoever answered computes, without error and with exp(s) replaced by 2^(D*s),
an attention layer{of_kind}, at most H0 canonical heads{within}.
* open, model | all-heads-seen | verified for the model | The public model has no more than {K} canonical
heads.
* open, no model | all-heads-seen | assumed | That layer has no more than {K} canonical heads.
"""
LIMITS = """
* no model | That whoever answered computes such a layer: other functions give the same answers.
* model | That any program which is said to compute the public model does so.
* open, no model | That there are no further heads beyond these {K}.
* That no layer with more than {K} canonical heads gives the same answers.
* rank | That no layer with a matrix of higher rank gives the same answers.
* integral | That no layer with an exponent that is not an integer, and parameters far from these, gives the
same answers.
* Who answered, and whether seed, versions and sizes were chosen before the answers were known.
* That fewer queries would not do.
* Anything about heads before those with equal W are merged and those with {v} = 0 dropped.
* Anything about computation in floating point, or about answers with errors.
"""
FORMULAS = {
    ("published", False): "4*H0*d^2 - 2*H0 + 1",
    ("published", True): "4*H0*d^2 + 4*H0*d - 2*H0 + 1",
    ("consistent", False): "2*H0*(2*d*r - r^2 + d - 1)",
    ("consistent", True): "2*H0*(r*(2*d + 1 - r) + d - 1) + 1",
    ("optimal", False): "H0*(2*d*r - r^2 + d)",
    ("optimal", True): "H0*(r*(2*d + 1 - r) + d) + 1",
}


def of_lower_rank(data: dict[str, Any]) -> bool:
    return bool(data["rank"] < data["dim"])


def class_words(data: dict[str, Any]) -> str:
    """What is asked of the other layers beside their number of heads."""
    words = f", matrices of rank at most {data['rank']}" if of_lower_rank(data) else ""
    if data["integral"]:
        where = "the probes" if data["method"] == "optimal" else "the first row"
        words += f" {'and' if words else 'with'} integral exponents D*b^T W p in {where}"
    return words


def recovery_v2_texts(data: dict[str, Any]) -> dict[str, Any]:
    """The sentences of a certificate, from its content."""
    K, bound, d, r = len(data["heads"]), data["heads_bound"], data["dim"], data["rank"]
    lower, bias, several = of_lower_rank(data), data["bias"], data["weights"] is not None
    staged, public = data["method"] != "published", data["model"] is not None
    ranks = [len(block) for block in data["blocks"]] if lower else []
    keys = ("method", "dim", "planned", "formula", "queries", "longest")
    facts: dict[str, Any] = {key: data[key] for key in keys}
    facts |= {"K": K, "bound": bound, "D": data["denominator"], "seed": data["plan"]["seed"]}
    facts |= {"plan": digest([data["plan"], data["probes"]]), "model": digest(data["model"])}
    facts |= {"others": len(data["others"]), "formula_words": FORMULAS[data["method"], bias]}
    facts["sizes"] = f", rank r = {r}" if staged else ""
    facts["sizes"] += " and biases" if bias else ""
    outputs = f"{len(data['weights'])} outputs" if several else "one output"
    facts["of_kind"] = f" with {outputs}, {'biases' if bias else 'no biases'}"
    facts["v"] = "V_h" if several else "v_h"
    facts["combined"] = " of the combination of the outputs" if several else ""
    but = [f"{data['shared']} of later rows, where two heads share one"] if data["shared"] else []
    if staged and data["method"] == "consistent" and data["integral"]:
        but.append("those of opposite tokens")
    facts["but_shared"] = f", but {' and '.join(but)}," if but else ""
    facts["constant"] = (
        f", {'constants' if several else 'constant'} {', '.join(data['constants'])}" if bias else ""
    )
    facts["within"] = class_words(data)
    facts["ranks"] = ", ".join(map(str, ranks)) or "of no heads"
    facts["near"] = ", of matrices with ranks at most those listed here," if lower else ""
    constant = f" and {'these constants' if several else 'this constant'}" if bias else ""
    facts["conclusion"] = f"exactly these canonical heads{constant}, up to their order"
    if any(k < r for k in ranks):
        facts["conclusion"] = (
            f"{K} canonical heads with these {facts['v']}{constant}, up to their order, and with these W_h "
            f"where ranks are at most those listed here, {facts['ranks']}"
        )
    names = [f"b_1 ... b_{d + bias}" + (" (as (1, b_i))" if bias else ""), f"u_1 ... u_{d}"]
    if staged:
        first = "a_1" if is_linked(data) else "b_1"
        names.insert(1, f"{first}, a_2 ... a_{d}" if d > 1 else f"{first} as a token")
    facts["bases"] = "The vectors " + "; ".join(names)
    facts["counted_with"] = " and one a_2" if staged and d > 1 else ""
    facts["counted_heads"] = data["counted"] - K
    kinds = [probe["kind"] for probe in data["probes"]] if staged else []
    conditions = {
        "model": public,
        "no model": not public,
        "open": bound > K,
        "rank": lower,
        "integral": data["integral"],
        "isolated": data["integral"] and data["shared"] == 0,
        "counted": data["counted"] > 2 * K,
        "published": not staged,
        "staged": staged,
        "half": "half" in kinds,
    }
    return sentences((STATEMENT, HYPOTHESES, LIMITS), facts, conditions)
