"""I-5.1: gradient flow conserves W_Q W_Qᵀ − W_K W_Kᵀ."""

from sympy import Eq, MatAdd, MatrixSymbol, ZeroMatrix, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, matrix_equal, proved, trace_equal

D, E = symbols("D E", integer=True, positive=True)
W_Q, W_K, dQ, dK = (MatrixSymbol(name, D, E) for name in ("W_Q", "W_K", "δW_Q", "δW_K"))
# the gradient of the loss by the bilinear form P = W_KᵀW_Q, any matrix
G, S = MatrixSymbol("G", E, E), MatrixSymbol("S", D, D)
gradient_Q, gradient_K = W_K * G, W_Q * G.T
# the rate of W_QW_Qᵀ − W_KW_Kᵀ along the flow, kept as a sum so that it can be read
RATE = MatAdd(-gradient_Q * W_Q.T, -W_Q * gradient_Q.T, gradient_K * W_K.T, W_K * gradient_K.T)


def establish() -> Outcome:
    steps = [
        trace_equal(
            "chain rule: W_K G and W_Q Gᵀ are the gradients by W_Q and W_K",
            G.T * (dK.T * W_Q + W_K.T * dQ),
            [gradient_Q.T * dQ, gradient_K.T * dK],
        ),
        matrix_equal("the rate of change of W_QW_Qᵀ − W_KW_Kᵀ is 0", RATE, ZeroMatrix(D, D)),
        trace_equal(
            "in other words: the gradient is orthogonal to every change of basis (S W_Q, −SᵀW_K)",
            gradient_Q.T * (S * W_Q),
            gradient_K.T * (S.T * W_K),
        ),
    ]
    return proved("chain rule for a loss of the form P = W_KᵀW_Q", steps)


claim = Claim(
    id="I-5.1",
    paper=Paper.IDENTIFICATION,
    place="Lemma 5.1",
    says="Gradient flow of any differentiable loss conserves W_QW_Qᵀ − W_KW_Kᵀ of each head.",
    statement=[Eq(RATE, ZeroMatrix(D, D), evaluate=False)],
    hypotheses=[
        "G is the gradient of the loss by the form W_KᵀW_Q",
        "the loss depends on W_Q and W_K only through W_KᵀW_Q: no biases, rotations or norms of queries "
        "and keys",
        "Euclidean gradient flow, no weight decay",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=[
        "the same for steps of finite size (see I-5.3-step) or adaptive methods",
        "the same with trained query biases: there W_QW_Qᵀ + b_Qb_Qᵀ − W_KW_Kᵀ is conserved (I-5.1-biases)",
    ],
)
