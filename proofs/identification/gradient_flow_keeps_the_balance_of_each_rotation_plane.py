"""I-5.1-rope-planes: what gradient flow conserves under rotary positions."""

from sympy import Eq, MatrixSymbol, Trace, diff, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, differ, proved, trace_equal

D, E = symbols("D E", integer=True, positive=True)
W_Q, W_K, dQ, dK = (MatrixSymbol(name, D, E) for name in ("W_Q", "W_K", "δW_Q", "δW_K"))
R, G = MatrixSymbol("R", D, D), MatrixSymbol("G", E, E)
S, plane = MatrixSymbol("S", D, D), MatrixSymbol("Π", D, D)
gradient_Q, gradient_K = R.T * W_K * G, R * W_Q * G.T
x, y = symbols("x y", real=True)


def establish() -> Outcome:
    rate = -gradient_Q * W_Q.T - W_Q * gradient_Q.T + gradient_K * W_K.T + W_K * gradient_K.T
    # a quarter turn J of a plane: the form (J w)·dw at w = (x, y)
    along_x, along_y = -y, x
    steps = [
        trace_equal(
            "chain rule for P = W_KᵀR W_Q, one distance at a time",
            G.T * (dK.T * R * W_Q + W_K.T * R * dQ),
            [gradient_Q.T * dQ, gradient_K.T * dK],
        ),
        trace_equal(
            "the gradient is orthogonal to (S W_Q, −SᵀW_K) for every S that commutes with R",
            gradient_Q.T * S * W_Q,
            gradient_K.T * S.T * W_K,
            {S * R: R * S},
        ),
        trace_equal(
            "for the projection Π to a plane that is the rate of tr Π(W_QW_Qᵀ − W_KW_Kᵀ), halved",
            plane * rate,
            [-2 * gradient_Q.T * plane * W_Q, 2 * gradient_K.T * plane * W_K],
            symmetric=(plane,),
        ),
        differ(
            "for a quarter turn J it is an equation between velocities, not a conserved number: (J w)·dw "
            "is not closed",
            diff(along_x, y),
            diff(along_y, x),
        ),
    ]
    return proved("chain rule; projections to planes commute with every rotation within the planes", steps)


claim = Claim(
    id="I-5.1-rope-planes",
    paper=Paper.IDENTIFICATION,
    place="not claimed there; Lemma 5.1 for rotary positions",
    says="With rotary positions gradient flow conserves |W_Q|² − |W_K|² of each rotation plane of each "
    "head, and the gradient is orthogonal to every change of basis that commutes with the rotations.",
    statement=[Eq(Trace(gradient_Q.T * S * W_Q), Trace(gradient_K.T * S.T * W_K), evaluate=False)],
    hypotheses=[
        "S, and the projections to the planes, commute with the rotations of all distances",
        "the loss depends on W_Q and W_K through W_KᵀR W_Q at any number of distances (gradients add up)",
        "Euclidean gradient flow",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=["that nothing else is conserved", "the same with trained biases"],
)
