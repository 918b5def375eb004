"""The sentences of enclosure certificates."""

from __future__ import annotations

from typing import Any

from .check import digest, sentences

__all__ = ["enclosure_texts"]

ENCLOSURE_STATEMENT = """
* The {queries} queries are: {singles}; and in each of {families} probes (b, u), at 2*H = {nodes} nodes [m, k]
m copies of b - u and k of b, the last token b ([1, 0]: b - u alone). Tokens have size d = {dim}. The probes
are (b_i, u_j), (b_i, u_1 + u_j), ({joined}, u_1). The longest query has {longest} tokens.
* bias | The layers here have a query bias in each head and a constant output: the score of tokens x and y is
(1, x)^T W_h y, with the bias as first row of W_h, and the constant is added to the output.
* Every layer with real parameters, {weights} and at most H = {K} canonical heads, whose values
at these queries differ from the answers listed by at most {error} each, has exactly {K} canonical heads
(W_h, v_h), and in some order each of their entries differs from the one listed by at most the radius listed.
* bias | The constant output of every such layer differs from the one listed by at most its radius.
* In every probe, for every such layer, the numbers {pole} are pairwise distinct and no v_h.u is zero;
they are within the bounds listed for the probe.
* model | The values of the public model ({model}) at these queries differ from the answers by at most {error}
each, and it has at most {K} canonical heads: so its canonical heads are in these enclosures.
"""
ENCLOSURE_HYPOTHESES = """
* invertible | verified | The matrix with rows {lifted} and the matrix with rows u_j are invertible
(witnesses: b_inverse, u_inverse).
* near-answers | verified | The poles and residues listed give the answers to within rounding.
* boxes | verified | In every probe the bounds on poles are mapped into themselves by all errors allowed,
poles stay apart and positive, and no residue reaches zero.
* unique-labels | verified | No scores and residues of different heads of two probes can go together in a
third.
* model | layer | verified for the model | The public model has at most H canonical heads, and its values are
within the error of the answers.
* no model | layer | assumed | Whoever answered computes such an attention layer with at most H canonical
heads, {weights}, with errors of at most {error}.
"""
ENCLOSURE_LIMITS = """
* no model | That whoever answered computes such a layer, or that its errors are as small as stated.
* model | That any program which is said to compute the public model does so.
* That no layer with more than {K} canonical heads gives answers as close.
* That the enclosures are as small as they could be.
* How the query vectors were chosen, and whether before the answers were known.
* Anything about heads before those with equal W are merged and those with v = 0 dropped.
"""


def enclosure_texts(data: dict[str, Any]) -> dict[str, Any]:
    """The sentences of an enclosure certificate, from its content."""
    public, bias, base = data["model"] is not None, data["bias"], data["base"]
    facts = {key: data[key] for key in ("queries", "longest", "error", "dim")}
    facts |= {"K": data["heads_bound"], "nodes": 2 * data["heads_bound"], "families": len(data["families"])}
    facts |= {"model": digest(data["model"])}
    facts["singles"] = "each b_i alone" if data["direct"] else "b_1 alone"
    facts["joined"], facts["lifted"] = ("2*b_i - b_1", "(1, b_i)") if bias else ("b_1 + b_i", "b_i")
    score = "(1, b)^T W_h u" if bias else "b^T W_h u"
    facts["pole"] = f"exp({score})" if base == "e" else f"2^({data['denominator']}*{score})"
    facts["weights"] = (
        "softmax scores in base e"
        if base == "e"
        else f"softmax weights 2^({data['denominator']}*s) of scores s in place of e^s"
    )
    conditions = {"model": public, "no model": not public, "bias": bias}
    return sentences((ENCLOSURE_STATEMENT, ENCLOSURE_HYPOTHESES, ENCLOSURE_LIMITS), facts, conditions)
