"""I-5.1-rope: Lemma 5.1 under rotary positions."""

from flint import fmpq, fmpq_mat
from sympy import Eq, MatrixSymbol, ZeroMatrix, symbols

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
    trace_equal,
)

D, E = symbols("D E", integer=True, positive=True)
W_Q, W_K, dQ, dK = (MatrixSymbol(name, D, E) for name in ("W_Q", "W_K", "δW_Q", "δW_K"))
# R turns by the distance of query and key; G is the gradient of the loss by P = W_KᵀR W_Q
R, G = MatrixSymbol("R", D, D), MatrixSymbol("G", E, E)
gradient_Q, gradient_K = R.T * W_K * G, R * W_Q * G.T
RATE = -gradient_Q * W_Q.T - W_Q * gradient_Q.T + gradient_K * W_K.T + W_K * gradient_K.T


def rate(q: fmpq_mat, k: fmpq_mat, turn: fmpq_mat, by: fmpq) -> fmpq_mat:
    """RATE for exact matrices of width 1, where G is a number."""
    half = turn * q * k.transpose() * by - turn.transpose() * k * q.transpose() * by
    return half + half.transpose()


def establish() -> Outcome:
    turn, back = fmpq_mat(2, 2, [fmpq(n, 5) for n in (3, -4, 4, 3)]), fmpq_mat(2, 2, [1, 0, 0, 1])
    q = k = fmpq_mat(2, 1, [1, 0])
    moved = rate(q, k, turn, fmpq(2))
    steps = [
        trace_equal(
            "chain rule for P = W_KᵀR W_Q",
            G.T * (dK.T * R * W_Q + W_K.T * R * dQ),
            [gradient_Q.T * dQ, gradient_K.T * dK],
        ),
        matrix_equal(
            "where R is 1 the rate vanishes, as in I-5.1",
            RATE,
            ZeroMatrix(D, D),
            {R * W_Q: W_Q, R.T * W_K: W_K},
        ),
        equal("R turns by a rational angle: RᵀR = 1", (turn.transpose() * turn).tolist(), back.tolist()),
        differ("but here it does not", moved.tolist(), [[0, 0], [0, 0]]),
        equal("the sum of its diagonal, the balance of the plane, does", moved[0, 0] + moved[1, 1], 0),
    ]
    counterexample = Counterexample(
        "one head of size 2, width 1, tokens 2 and 1, the last asking; the loss is the output 1 + σ(s), "
        "and P enters s as 2P: the rate up to the positive factor σ'",
        {
            "W_Q": q.tolist(),
            "W_K": k.tolist(),
            "R": turn.tolist(),
            "rate of W_QW_Qᵀ − W_KW_Kᵀ": moved.tolist(),
        },
        "one rotation plane, width 1 and two tokens: nothing smaller is rotated",
    )
    return refuted("exact evaluation with a rational rotation", steps, counterexample)


claim = Claim(
    id="I-5.1-rope",
    paper=Paper.IDENTIFICATION,
    place="Lemma 5.1, read for layers with rotary positions",
    says="Gradient flow conserves W_QW_Qᵀ − W_KW_Kᵀ with rotary positions too.",
    statement=[Eq(RATE, ZeroMatrix(D, D), evaluate=False)],
    hypotheses=["queries and keys are rotated; Euclidean gradient flow"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="With rotary positions |W_Q|² − |W_K|² of each rotation plane is conserved "
    "(I-5.1-rope-planes), not the whole matrix.",
    does_not_establish=["that nothing else is conserved"],
)
