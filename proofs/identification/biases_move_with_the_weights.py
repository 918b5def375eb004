"""I-4.6-biases: a change of basis must move the biases with the weights."""

from flint import fmpq
from sympy import Eq, MatMul, MatrixSymbol, Transpose, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, attend, differ, matrix_equal, proved

D, E = symbols("D E", integer=True, positive=True)
S = MatrixSymbol("S", D, D)
W_Q, W_K = MatrixSymbol("W_Q", D, E), MatrixSymbol("W_K", D, E)
b_Q, b_K = MatrixSymbol("b_Q", D, 1), MatrixSymbol("b_K", D, 1)
x, y = MatrixSymbol("x", E, 1), MatrixSymbol("y", E, 1)


def output(w_q: fmpq, b_q: fmpq, w_k: fmpq, b_k: fmpq) -> fmpq:
    """One head of size 1 on tokens 1 and 0, the last one asking; values are the tokens."""
    tokens = [fmpq(1), fmpq(0)]
    query = w_q * tokens[-1] + b_q
    return attend([query * (w_k * token + b_k) for token in tokens], tokens)


def establish() -> Outcome:
    one, two, half = fmpq(1), fmpq(2), fmpq(1, 2)
    steps = [
        matrix_equal(
            "(S W_Q, S b_Q), (S⁻ᵀ W_K, S⁻ᵀ b_K) keep every score",
            (S.I.T * W_K * y + S.I.T * b_K).T * (S * W_Q * x + S * b_Q),
            (W_K * y + b_K).T * (W_Q * x + b_Q),
        ),
        differ(
            "biases left behind: W_Q = W_K = 1, b_Q = 2, S = 2 changes an output",
            output(two, two, half, one),
            output(one, two, one, one),
        ),
    ]
    return proved(
        "the affine maps x ↦ W x + b are changed as a whole; a counterexample for the naive change", steps
    )


claim = Claim(
    id="I-4.6-biases",
    paper=Paper.IDENTIFICATION,
    place="Section 4.6",
    says="With biases the change of basis must act on them too: (S W_Q, S b_Q) and (S⁻ᵀ W_K, S⁻ᵀ b_K). "
    "Changing only the weights changes outputs.",
    statement=[
        Eq(
            MatMul(Transpose(MatMul(S.I.T, W_K * y + b_K)), MatMul(S, W_Q * x + b_Q)),
            (W_K * y + b_K).T * (W_Q * x + b_Q),
            evaluate=False,
        )
    ],
    hypotheses=[
        "S is an invertible D×D matrix",
        "for the second sentence: b_Q is not 0 (b_K alone has no effect)",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=["that the naive change alters every layer; one is shown"],
)
