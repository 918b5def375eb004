"""I-5.3-step: one gradient step of size τ changes the balance by exactly τ² times a matrix."""

from sympy import Eq, MatrixSymbol, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, matrix_equal, proved

D, E = symbols("D E", integer=True, positive=True)
tau, decay = symbols("τ λ", positive=True)
W_Q, W_K = MatrixSymbol("W_Q", D, E), MatrixSymbol("W_K", D, E)
G = MatrixSymbol("G", E, E)
gradient_Q, gradient_K = W_K * G, W_Q * G.T


def balance(Q: MatrixSymbol, K: MatrixSymbol) -> MatrixSymbol:
    return Q * Q.T - K * K.T


STEP = Eq(
    balance(W_Q - tau * gradient_Q, W_K - tau * gradient_K),
    balance(W_Q, W_K) + tau**2 * balance(gradient_Q, gradient_K),
    evaluate=False,
)


def establish() -> Outcome:
    shrunk = 1 - tau * decay
    steps = [
        matrix_equal("a plain step", STEP.lhs, STEP.rhs),
        matrix_equal(
            "with decoupled weight decay λ the balance shrinks by (1 − τλ)² besides",
            balance(shrunk * W_Q - tau * gradient_Q, shrunk * W_K - tau * gradient_K),
            shrunk**2 * balance(W_Q, W_K) + tau**2 * balance(gradient_Q, gradient_K),
        ),
    ]
    return proved("the terms of first order cancel as in I-5.1", steps)


claim = Claim(
    id="I-5.3-step",
    paper=Paper.IDENTIFICATION,
    place="Section 5, experiments; the part that can be proved",
    says="One step of gradient descent of size τ changes W_QW_Qᵀ − W_KW_Kᵀ by exactly τ²(∇_Q∇_Qᵀ − "
    "∇_K∇_Kᵀ), so the drift vanishes with the step size.",
    statement=[STEP],
    hypotheses=[
        "G is the gradient of the loss by the form W_KᵀW_Q",
        "the loss depends on W_Q and W_K only through W_KᵀW_Q; plain gradient steps, any batch",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=[
        "how large the gradients are in a training run",
        "anything about momentum or adaptive steps",
    ],
)
