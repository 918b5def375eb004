"""The sentences of certificates of recovered Transformers, version 1."""

from __future__ import annotations

from typing import Any

from .check import digest, sentences

__all__ = ["transformer_texts"]

STATEMENT = """
* Every one of the {queries} listed answers is exactly the value at its query of the listed function F = 1/2
(v.Z + sum_k sigma_k |D_k.Z|) with {heads} heads and {kinks} kinks, exp(s) replaced by 2^(D*s), D = {D}. The
listed network ({neurons} neurons{bypass}) is this function.
* On the path of single tokens from b0 over c to -b0 there are {pieces} listed pieces with different lines,
each seen at three or more places; in each region, which holds a place of its piece, the listed queries
determine the linear function of Z.
* Every function of this kind that gives these answers and satisfies the hypotheses is equal to the listed
one at every query.
* model | The public model ({model}) has exactly this canonical form.
"""
HYPOTHESES = """
* canonical | verified | Heads are different and all have an effect; directions are not 0 and not parallel.
* crossed-once | verified | On the path every kink of the listed form lies between two neighbouring pieces.
* sums | generic-sums | verified | No signed sum of some of the directions, summed over blocks, vanishes.
* kind | assumed | Whoever answered computes, without error and with exp(s) replaced by 2^(D*s), softmax
attention with at most {bound} heads followed by a ReLU network without biases{residual}.
* no attention | heads | assumed | Its heads are among the listed ones.
* attention | heads | verified | Its antisymmetric part is attention with exactly the listed heads, as many
as the bound (the certificate "attention").
* counted | neurons | assumed | It has at most {kinks} neurons, parallel ones counted as one and those that
cancel not at all.
* spaced | spacing | assumed | Parallel neurons counted as one and those that cancel not at all, every
neuron changes its sign within the path, at places that are different and at least {spacing} apart.
* one-piece | assumed | No neuron changes its sign between the first and the last listed place of a piece,
and none has different signs, or the sign 0, at two queries of a region. (If no signed sum of some of its
directions, summed over blocks, vanishes, values at real random places lie on one line by chance with
probability zero; the drawn ones are from a finite range. A region was believed after a further random
query.)
"""
LIMITS = """
* That whoever answered computes such a network: other functions give the same answers. In particular no
finite set of answers excludes further, nearly parallel pairs of neurons, so that the stated number or
spacing is needed.
* model | That any program which is said to compute the public model does so.
* no sums | That no signed sum of some of the directions vanishes: there are too many neurons to try all
sums.
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
