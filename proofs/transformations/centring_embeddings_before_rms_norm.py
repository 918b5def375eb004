"""T-centre-rms: subtracting the mean of each embedding in a model with RMS norms."""

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

E = symbols("E", integer=True, positive=True)
one, x, u = MatrixSymbol("1", E, 1), MatrixSymbol("x", E, 1), MatrixSymbol("u", 1, 1)
P = Identity(E) - one * one.T / E

FIRST, SECOND = [fmpq(7), fmpq(1)], [fmpq(1), fmpq(-1)]


def centred(x: list[fmpq]) -> list[fmpq]:
    """The vector without its mean."""
    mean = sum(x, fmpq(0)) / len(x)
    return [entry - mean for entry in x]


def establish() -> Outcome:
    before, after = rms_normed(FIRST), rms_normed(centred(FIRST))
    steps = [
        equal("RMS norm of (7, 1), whose root mean square is 5", before, [fmpq(7, 5), fmpq(1, 5)]),
        equal("RMS norm of the centred vector (3, −3)", after, [fmpq(1), fmpq(-1)]),
        differ("so what every head reads has changed", before, after),
        equal("(1, −1) has mean 0 and is left alone", centred(SECOND), SECOND),
        differ("before, the two tokens are told apart", before, rms_normed(SECOND)),
        equal("after it they are one: no later weights can mend it", after, rms_normed(SECOND)),
        equal(
            "a vector of one number becomes 0, so width 2 is the least with a norm", centred([fmpq(5)]), [0]
        ),
        matrix_equal(
            "right where the norm subtracts the mean itself: the centring P has PP = P, so a layer norm sees "
            "no difference",
            P * P * x,
            P * x,
            {one.T * one: E * Identity(1)},
        ),
    ]
    counterexample = Counterexample(
        "two embeddings of width 2 that the norm tells apart, and no longer after centring",
        {
            "embeddings": [FIRST, SECOND],
            "normed": [before, rms_normed(SECOND)],
            "centred, then normed": [after, rms_normed(centred(SECOND))],
        },
        "centring one number leaves 0: nothing is smaller",
    )
    return refuted("exact evaluation", steps, counterexample)


claim = Claim(
    id="T-centre-rms",
    paper=Paper.TRANSFORMATIONS,
    place="preparing weights for inspection",
    says="Subtracting the mean of every embedding, and of every vector that a layer adds, keeps a model with "
    "RMS norms.",
    statement=[Eq(P * P * x, P * x, evaluate=False)],
    hypotheses=["ε = 0 in the norm"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="It keeps a model with layer norms, for every width and ε: they subtract the mean themselves. "
    "An RMS norm divides by a root mean square of which the mean is a part.",
    does_not_establish=["how much a given trained model changes"],
)
