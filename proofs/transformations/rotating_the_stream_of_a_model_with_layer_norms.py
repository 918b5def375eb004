"""T-rotate-layer-norm: an orthogonal change of basis of the residual stream of a model with layer norms."""

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
    trace_equal,
)

E = symbols("E", integer=True, positive=True)
Q, x, one = MatrixSymbol("Q", E, E), MatrixSymbol("x", E, 1), MatrixSymbol("1", E, 1)
P = Identity(E) - one * one.T / E

COSINE, SINE = fmpq(3, 5), fmpq(4, 5)
VECTOR = [fmpq(1), fmpq(-1)]


def turned(v: list[fmpq], sine: fmpq = SINE) -> list[fmpq]:
    return [COSINE * v[0] - sine * v[1], sine * v[0] + COSINE * v[1]]


def layer_normed(v: list[fmpq]) -> list[fmpq]:
    mean = sum(v, fmpq(0)) / len(v)
    return rms_normed([entry - mean for entry in v])


def establish() -> Outcome:
    before = layer_normed(VECTOR)
    after = turned(layer_normed(turned(VECTOR)), -SINE)
    steps = [
        differ("turned, normed and turned back is not normed", after, before),
        equal(
            "an RMS norm without scales does not mind",
            turned(rms_normed(turned([fmpq(7), fmpq(1)])), -SINE),
            rms_normed([fmpq(7), fmpq(1)]),
        ),
        trace_equal(
            "right for it at every width: |Q x|² = |x|²", (Q * x).T * (Q * x), x.T * x, {Q.T * Q: Identity(E)}
        ),
        matrix_equal(
            "and right for layer norms where Q keeps the vector of ones: centring and Q commute",
            P * Q * x,
            Q * P * x,
            {Q * one: one, one.T * Q: one.T},
        ),
        equal("width 1 has nothing to turn: its layer norm is that of 0", [fmpq(5) - fmpq(5)], [0]),
    ]
    counterexample = Counterexample(
        "a vector of width 2 and a rotation",
        {
            "x": VECTOR,
            "cosine and sine": [COSINE, SINE],
            "normed": before,
            "turned, normed, turned back": after,
        },
        "a layer norm of one number is 0: nothing is smaller",
    )
    return refuted("exact evaluation", steps, counterexample)


claim = Claim(
    id="T-rotate-layer-norm",
    paper=Paper.TRANSFORMATIONS,
    place="rotating before quantising",
    says="An orthogonal matrix applied to everything that is written to the residual stream, and "
    "its inverse to "
    "everything that reads it, keeps a model with layer norms.",
    statement=[Eq(P * Q * x, Q * P * x, evaluate=False)],
    hypotheses=["ε = 0 in the norm", "scales and shifts of the norms are folded into what reads them"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="Right for RMS norms without scales, and for layer norms where Q keeps the vector of "
    "ones. (A model "
    "with layer norms becomes one with RMS norms by centring what is written: see T-centre-rms.)",
    does_not_establish=["how much a given trained model changes"],
)
