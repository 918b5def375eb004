"""Certificates of recovered one-layer Transformers with a ReLU network without biases, version 1.

Why the statement follows from what is verified. Let E(s) = 2^(D s), let Z(X) be the stacked outputs of the
listed heads at a query X (and its last token, with a residual), and let
F = 1/2 (v.Z + sum_k sigma_k |D_k.Z|) be the listed form, with K kinks. Write Dbar_k for the sum of the blocks
of D_k: at a single token b every block of Z is b, so D_k.Z = Dbar_k.b. Let F' be another function of this
form (parallel kinks merged, those that cancel gone) with kinks D'_l and real parameters, that gives the same
answers, and let the hypotheses hold for it.

1. Heads. -X has the softmax weights of X, and |s| is even: F'(X) - F'(-X) = v'.Z'(X), a layer of attention
   with at most as many heads as F', so as the bound. With a certificate of "attention", all its queries X and
   -X are among the answers (verified), and its answers are F(X) - F(-X) = v.Z(X) (verified there, as its
   heads are the listed matrices with the blocks of v). So it shows that v'.Z' has exactly the listed heads;
   they are as many as the bound (verified), so F' has no further head, whether its block of v' vanishes or
   not. Otherwise it is a hypothesis that F' has no other heads than the listed ones. Either way F' is a
   function of the same Z.
2. Pieces. The path goes through the places (x, y) = (1 - t, min(t, 2 - t)), 0 <= t <= 2, that is the tokens
   x b0 + y c, b0 and c independent (verified). Each Dbar'_l.(x b0 + y c) is linear in (x, y) and opposite at
   the two ends, so it changes its sign at exactly one inner t, or at none (when Dbar'_l.b0 = 0). By
   hypothesis no kink of F' changes its sign between the places of a listed piece, so F' has there one linear
   function of (x, y), which two of the places determine (three are listed; only t = 0 and t = 2 lie on one
   line through 0): the listed line. The K + 1 lines are different and the pieces are in order (verified), so
   between neighbouring pieces F' has at least one kink, in all at least K. With "neurons" it has at most K
   kinks altogether: so exactly one between each two neighbours, and no other. With a spacing, at most one
   lies between two neighbours, as these are closer than that (verified), none within a piece or beyond the
   first and last, which reach the ends (verified), and by hypothesis every kink of F' lies on the path: the
   same result.
3. Regions. A region holds a place of its piece (verified), and by hypothesis all kinks of F' have at all its
   queries the same signs, none 0. There F' = v'^A.Z with a vector v'^A that belongs to the signs of F' on the
   piece. The answers determine it: the values of Z at these queries have full rank (verified modulo a prime,
   so over Q). And they are those of F, which is v^A.Z there (the signs of all D_k.Z are verified to be those
   on the piece). So v'^A = v^A for every piece.
4. Jumps. On neighbouring pieces of F' one kink has opposite signs: v'^B - v'^A = s sigma'_l D'_l, where s is
   the sign of D'_l.Z on the later piece. At a place of the later piece this is sigma'_l |D'_l.Z|, so it
   shows sigma'_l as its sign, and D'_l up to its sign. The first and the last piece have all signs opposite,
   so v'^A0 + v'^AK = v'. All this holds for F with the same vectors and places (the signs of F change
   between neighbours in exactly one kink: verified). So v' = v and the kinks are the same: F' = F.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .check import Kind, add, check_plan, exactly, refuse, verified
from .transformer_form import Form, check_model, check_network, check_sums, read_form
from .transformer_texts import transformer_texts
from .transformer_walk import Asked, Query, check_pieces, check_regions, read_asked

__all__ = ["TRANSFORMER", "transformer_texts"]


def check_transformer(data: dict[str, Any]) -> str:
    """Verifies the content of a Transformer certificate; returns the summary of its statement."""
    for key, value in (("field", "Q"), ("base", "2")):
        exactly(data[key], key, value)
    form = read_form(data)
    check_network(data, form)
    asked = read_asked(data, form)
    check_regions(data, form, asked, check_pieces(data, form, asked))
    check_attention(data, form, asked)
    exactly(data["sums_checked"], "sums_checked", int(check_sums(form)))
    check_model(data["model"], form)
    exactly(data["queries"], "queries", len(asked))
    beside = "" if data["bypass"] is None else " with a linear path beside them"
    return (
        f"recovery of a Transformer with {len(form.matrices)} heads of token size {form.dim} and "
        f"{len(form.kinks)} neurons{beside} from {len(asked)} queries; functionally equal under the stated "
        "hypotheses"
    )


def check_attention(data: dict[str, Any], form: Form, asked: Asked) -> None:
    """The certificate of the antisymmetric part, whose queries X and -X must have been asked."""
    nested = data["attention"]
    if nested is None:
        return
    if type(nested) is not dict:
        refuse("attention", "must be a certificate, or null")
    exactly(nested.get("kind"), "attention.kind", "recovery")
    exactly(nested.get("version"), "attention.version", 1)
    verified(nested)
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


KEYS = """field base denominator dim residual heads_bound stated matrices linear kinks neurons bypass path
    pieces regions asked attention sums_checked queries model"""
TRANSFORMER = Kind(KEYS, check_transformer, transformer_texts)
