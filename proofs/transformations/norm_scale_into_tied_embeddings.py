"""T-tied-embeddings: folding the scale of the last norm into embeddings that are tied."""

from flint import fmpq
from sympy import Abs, Symbol

from exactattn.ledger import (
    Claim,
    Counterexample,
    Outcome,
    Paper,
    Verdict,
    differ,
    equal,
    refuted,
    rms_normed,
)
from exactattn.numbers import dot

EMBEDDINGS, SCALE = [[fmpq(1), fmpq(1)], [fmpq(1), fmpq(-1)]], [fmpq(1), fmpq(7)]
g, x, y = Symbol("g", positive=True), Symbol("x", real=True, nonzero=True), Symbol("y", real=True)


def times(a: list[fmpq], b: list[fmpq]) -> list[fmpq]:
    """Products entry by entry."""
    return [p * q for p, q in zip(a, b, strict=True)]


def logits(embeddings: list[list[fmpq]], scale: list[fmpq], readers: list[list[fmpq]]) -> list[fmpq]:
    """A model without layers at its first token: embedding, RMS norm with a scale, one reader a word."""
    state = times(scale, rms_normed(embeddings[0]))
    return [dot(reader, state) for reader in readers]


def establish() -> Outcome:
    folded, ones = [times(SCALE, row) for row in EMBEDDINGS], [fmpq(1), fmpq(1)]
    before, after = logits(EMBEDDINGS, SCALE, EMBEDDINGS), logits(folded, ones, folded)
    untied = logits(EMBEDDINGS, ones, folded)
    steps = [
        equal("the model's logits", before, [8, -6]),
        equal("after folding", after, [10, fmpq(-48, 5)]),
        differ(
            "their difference, which the probabilities show, is another one",
            before[0] - before[1],
            after[0] - after[1],
        ),
        equal("right where the readers get a copy of their own", untied, before),
        equal(
            "width 1 cannot show it: logits y·g·x/|x| become (g y)(g x)/|g x|",
            y * g * x / Abs(x),
            (g * y) * (g * x) / Abs(g * x),
        ),
    ]
    counterexample = Counterexample(
        "two words, width 2, no layers: embedding, RMS norm, the same embeddings as readers",
        {"embeddings": EMBEDDINGS, "scale": SCALE, "logits": before, "logits after folding": after},
        "one word has probability 1, and in width 1 a positive scale may be folded",
    )
    return refuted("exact evaluation", steps, counterexample)


claim = Claim(
    id="T-tied-embeddings",
    paper=Paper.TRANSFORMATIONS,
    place="folding norm scales",
    says="The scale of the last norm can be folded into the readers of the logits, with embeddings "
    "that are tied "
    "to them too.",
    hypotheses=["ε = 0 in the norm"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="Right where the readers are stored apart from the embeddings: untie them first.",
    does_not_establish=["how much a given trained model changes"],
)
