"""I-5.3-adaptive: a step of Adam changes the balance to first order."""

from sympy import Abs, Eq, Matrix, MatrixSymbol, Rational, Symbol, ZeroMatrix, symbols

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
)

D, E = symbols("D E", integer=True, positive=True)
tau, decay, epsilon = symbols("τ λ ε", positive=True)
W_Q, W_K = MatrixSymbol("W_Q", D, E), MatrixSymbol("W_K", D, E)
# the directions in which an adaptive step moves, in place of the gradients
N_Q, N_K = MatrixSymbol("N_Q", D, E), MatrixSymbol("N_K", D, E)
FIRST = N_Q * W_Q.T + W_Q * N_Q.T - N_K * W_K.T - W_K * N_K.T


def balance(query: MatrixSymbol, key: MatrixSymbol) -> MatrixSymbol:
    return query * query.T - key * key.T


def first_step(gradient: Symbol) -> Symbol:
    """The direction of the first step of Adam, whose averages start at 0 and are corrected for it."""
    return gradient / (Abs(gradient) + epsilon)


def establish() -> Outcome:
    shrunk = 1 - tau * decay
    q, k, g = 2, 3, 1
    step_Q, step_K = first_step(k * g), first_step(q * g)
    moved = balance(Matrix([[q - tau * step_Q]]), Matrix([[k - tau * step_K]]))[0, 0] - (q**2 - k**2)
    slope = moved.diff(tau).subs(tau, 0)
    steps = [
        matrix_equal(
            "any step along N_Q, N_K with decoupled weight decay λ: the term of first order is in N",
            balance(shrunk * W_Q - tau * N_Q, shrunk * W_K - tau * N_K),
            shrunk**2 * balance(W_Q, W_K) - tau * shrunk * FIRST + tau**2 * balance(N_Q, N_K),
        ),
        equal(
            "the slope in τ at D = E = 1, W_Q = 2, W_K = 3, G = 1",
            slope,
            12 / (2 + epsilon) - 12 / (3 + epsilon),
        ),
        differ("at ε = 0", slope.subs(epsilon, 0), 0),
        differ("and at ε = 10⁻⁸", slope.subs(epsilon, Rational(1, 10**8)), 0),
    ]
    counterexample = Counterexample(
        "one head of size 1 and width 1 without biases and decay, at the first step; the loss is the "
        "score W_K W_Q of the token 1 with itself, so that G = 1",
        {
            "W_Q": q,
            "W_K": k,
            "gradients": [k, q],
            "slope of the balance in τ at ε = 0": slope.subs(epsilon, 0),
        },
        "one head and one dimension: nothing is smaller",
    )
    return refuted("expansion of one step; exact slope", steps, counterexample)


claim = Claim(
    id="I-5.3-adaptive",
    paper=Paper.IDENTIFICATION,
    place="Section 5, experiments; the part on AdamW that can be decided",
    says="As a gradient step does (I-5.3-step), a step of Adam of size τ changes W_QW_Qᵀ − W_KW_Kᵀ to second "
    "order in τ only.",
    statement=[Eq(FIRST, ZeroMatrix(D, D), evaluate=False)],
    hypotheses=["first step, averages corrected for their start at 0, ε ≥ 0", "no biases, no weight decay"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="The change is −τ(N_QW_Qᵀ + W_QN_Qᵀ − N_KW_Kᵀ − W_KN_Kᵀ) to first order, N the normalised "
    "gradients; it vanishes for gradients, not for these.",
    depends_on=["I-5.3-step"],
    does_not_establish=["how far the balance moves in a training run", "that it moves at every step"],
)
