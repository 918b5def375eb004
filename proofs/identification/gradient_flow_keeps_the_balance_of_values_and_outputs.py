"""I-5.1-values: gradient flow conserves W_V W_Vᵀ − W_Oᵀ W_O."""

from sympy import Eq, MatAdd, MatrixSymbol, ZeroMatrix, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, matrix_equal, proved, trace_equal

C, E = symbols("C E", integer=True, positive=True)
W_V, dV = MatrixSymbol("W_V", C, E), MatrixSymbol("δW_V", C, E)
W_O, dO = MatrixSymbol("W_O", E, C), MatrixSymbol("δW_O", E, C)
# the gradient of the loss by the product W_O W_V, any matrix
G = MatrixSymbol("G", E, E)
gradient_V, gradient_O = W_O.T * G, G * W_V.T
# the rate of W_VW_Vᵀ − W_OᵀW_O along the flow, kept as a sum so that it can be read
RATE = MatAdd(-gradient_V * W_V.T, -W_V * gradient_V.T, gradient_O.T * W_O, W_O.T * gradient_O)


def establish() -> Outcome:
    steps = [
        trace_equal(
            "chain rule: W_OᵀG and G W_Vᵀ are the gradients by W_V and W_O",
            G.T * (dO * W_V + W_O * dV),
            [gradient_V.T * dV, gradient_O.T * dO],
        ),
        matrix_equal("the rate of change of W_VW_Vᵀ − W_OᵀW_O is 0", RATE, ZeroMatrix(C, C)),
    ]
    return proved("chain rule for a loss of the product W_O W_V", steps)


claim = Claim(
    id="I-5.1-values",
    paper=Paper.IDENTIFICATION,
    place="Lemma 5.1, for value and output",
    says="Gradient flow of any differentiable loss conserves W_VW_Vᵀ − W_OᵀW_O of each head.",
    statement=[Eq(RATE, ZeroMatrix(C, C), evaluate=False)],
    hypotheses=[
        "G is the gradient of the loss by the product W_OW_V",
        "the loss depends on W_V and W_O only through W_OW_V: no value bias",
        "Euclidean gradient flow",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=["the same for steps of finite size or adaptive methods"],
)
