"""I-5.1-biases: with trained biases the conserved matrix contains them."""

from sympy import Eq, Matrix, MatrixSymbol, ZeroMatrix, symbols

from exactattn.ledger import (
    Claim,
    Counterexample,
    Outcome,
    Paper,
    Verdict,
    differ,
    matrix_equal,
    refuted,
    trace_equal,
)

D, E = symbols("D E", integer=True, positive=True)
W_Q, W_K, dQ, dK = (MatrixSymbol(name, D, E) for name in ("W_Q", "W_K", "δW_Q", "δW_K"))
b, db = MatrixSymbol("b_Q", D, 1), MatrixSymbol("δb_Q", D, 1)
# gradients of the loss by W_KᵀW_Q and by W_Kᵀb_Q, on which it depends
G, g = MatrixSymbol("G", E, E), MatrixSymbol("g", E, 1)
gradient_Q, gradient_b, gradient_K = W_K * G, W_K * g, W_Q * G.T + b * g.T


def rate(x: MatrixSymbol, gradient: MatrixSymbol) -> MatrixSymbol:
    """The rate of change of x xᵀ along the flow."""
    return -gradient * x.T - x * gradient.T


def establish() -> Outcome:
    one = Matrix([[1]])
    numbers = {W_Q: one * 2, W_K: one * 3, b: one, G: one, g: one}
    moved = (rate(W_Q, gradient_Q) - rate(W_K, gradient_K)).subs({D: 1, E: 1})
    value = moved.subs({key.subs({D: 1, E: 1}): number for key, number in numbers.items()}).doit()[0, 0]
    steps = [
        trace_equal(
            "chain rule",
            [G.T * (dK.T * W_Q + W_K.T * dQ), g.T * (dK.T * b + W_K.T * db)],
            [gradient_Q.T * dQ, gradient_b.T * db, gradient_K.T * dK],
        ),
        matrix_equal(
            "W_QW_Qᵀ − W_KW_Kᵀ changes at the rate W_K g b_Qᵀ + b_Q gᵀW_Kᵀ",
            rate(W_Q, gradient_Q) - rate(W_K, gradient_K),
            W_K * g * b.T + b * g.T * W_K.T,
        ),
        matrix_equal(
            "with b_Qb_Qᵀ added it does not change",
            rate(W_Q, gradient_Q) + rate(b, gradient_b) - rate(W_K, gradient_K),
            ZeroMatrix(D, D),
        ),
        differ("the rate at D = E = 1, W_Q = 2, W_K = 3, b_Q = 1, up to the factor G = g > 0", value, 0),
    ]
    counterexample = Counterexample(
        "one head of size 1 and width 1 with a query bias, tokens 2 and 1, the last asking; the loss is "
        "the output 1 + σ(s): by both W_KW_Q and W_Kb_Q its derivative is σ' > 0; rates up to this factor",
        {"W_Q": 2, "W_K": 3, "b_Q": 1, "rate of W_Q² − W_K²": value},
        "one head, one dimension, one bias: nothing is smaller",
    )
    return refuted("chain rule for a loss of W_KᵀW_Q and W_Kᵀb_Q", steps, counterexample)


claim = Claim(
    id="I-5.1-biases",
    paper=Paper.IDENTIFICATION,
    place="Lemma 5.1, read for layers with a query bias",
    says="Gradient flow conserves W_QW_Qᵀ − W_KW_Kᵀ in layers with trained query biases too.",
    statement=[Eq(W_K * g * b.T + b * g.T * W_K.T, ZeroMatrix(D, D), evaluate=False)],
    hypotheses=[
        "the query bias is trained with the weights",
        "plain softmax; the key bias has no effect and rests",
    ],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="With a trained query bias W_QW_Qᵀ + b_Qb_Qᵀ − W_KW_Kᵀ is conserved.",
    does_not_establish=["that the rate differs from 0 for every loss"],
)
