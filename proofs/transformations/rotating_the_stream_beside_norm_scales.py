"""T-rotate-norm-scales: an orthogonal change of basis beside norms that keep their scales."""

from flint import fmpq
from sympy import Eq, Identity, MatrixSymbol, symbols

from exactattn.ledger import (
    Claim,
    Counterexample,
    Outcome,
    Paper,
    Verdict,
    differ,
    equal,
    matrix_equal,
    refuted,
    rms_normed,
)

E, D = symbols("E D", integer=True, positive=True)
Q, G, W, n = (
    MatrixSymbol("Q", E, E),
    MatrixSymbol("Γ", E, E),
    MatrixSymbol("W", D, E),
    MatrixSymbol("n", E, 1),
)

VECTOR, SCALE = [fmpq(7), fmpq(1)], [fmpq(1), fmpq(2)]
READER = [fmpq(1), fmpq(1)]


def swapped(v: list[fmpq]) -> list[fmpq]:
    """The simplest orthogonal matrix: the two coordinates change places. It is its own inverse."""
    return v[::-1]


def read(vector: list[fmpq], scale: list[fmpq], reader: list[fmpq]) -> fmpq:
    """What a row of a projection reads behind an RMS norm with a scale."""
    normed = rms_normed(vector)
    return sum((w * g * x for w, g, x in zip(reader, scale, normed, strict=True)), fmpq(0))


def establish() -> Outcome:
    before, after = read(VECTOR, SCALE, READER), read(swapped(VECTOR), SCALE, swapped(READER))
    folded = [w * g for w, g in zip(READER, SCALE, strict=True)]
    ones = [fmpq(1), fmpq(1)]
    steps = [
        differ("the projection reads another number", before, after),
        equal(
            "right where the scale is folded into the projection first",
            read(swapped(VECTOR), ones, swapped(folded)),
            before,
        ),
        matrix_equal(
            "for every width: (W Γ Qᵀ)(Q n) = W Γ n",
            (W * G * Q.T) * (Q * n),
            W * G * n,
            {Q.T * Q: Identity(E)},
        ),
        matrix_equal(
            "and right where Q commutes with the scales",
            (W * Q.T) * G * (Q * n),
            W * G * n,
            {G * Q: Q * G, Q.T * Q: Identity(E)},
        ),
    ]
    counterexample = Counterexample(
        "a vector of width 2, a scale and a row that reads; Q changes the two coordinates",
        {"x": VECTOR, "scale": SCALE, "row": READER, "read": before, "read after the change of basis": after},
        "in width 1 orthogonal matrices are ±1 and commute with every scale",
    )
    return refuted("exact evaluation", steps, counterexample)


claim = Claim(
    id="T-rotate-norm-scales",
    paper=Paper.TRANSFORMATIONS,
    place="rotating before quantising",
    says="An orthogonal matrix applied to everything that is written to the residual stream, and "
    "its inverse to "
    "everything that reads it, keeps a model with RMS norms that keep their scales.",
    statement=[Eq((W * G * Q.T) * (Q * n), W * G * n, evaluate=False)],
    hypotheses=["ε = 0 in the norm", "the scales are not all equal"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="Right once the scales are folded into the projections that read the norm (every norm "
    "then has scale "
    "1), or where Q commutes with them.",
    does_not_establish=["how much a given trained model changes"],
)
