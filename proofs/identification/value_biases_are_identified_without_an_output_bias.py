"""I-4.7.2-no-output-bias: without an output bias the value biases are identified."""

from sympy import Eq, Identity, Inverse, MatMul, MatrixSymbol, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, matrix_equal, proved

k, E = symbols("k E", integer=True, positive=True)
W_O, inverse = MatrixSymbol("W_O", E, k), MatrixSymbol("(W_OᵀW_O)⁻¹", k, k)
b_V, b_V2, constant = MatrixSymbol("b_V", k, 1), MatrixSymbol("b_V'", k, 1), MatrixSymbol("f(0)", E, 1)
S = MatrixSymbol("S", k, k)


def establish() -> Outcome:
    full_rank = {inverse * W_O.T * W_O: Identity(k)}
    steps = [
        matrix_equal(
            "the output at the zero token, f(0) = W_O b_V, gives b_V back",
            inverse * W_O.T * constant,
            b_V,
            {constant: W_O * b_V, **full_rank},
        ),
        matrix_equal(
            "two value biases with one constant are equal",
            inverse * W_O.T * (W_O * b_V - W_O * b_V2),
            b_V - b_V2,
            full_rank,
        ),
        matrix_equal("the change of basis S moves b_V along with W_V", (W_O * S.I) * (S * b_V), W_O * b_V),
    ]
    return proved(
        "the single token 0 answers Σ_h W_O^h b_V^h, and W_O = (W_O^1 … W_O^H) has full column rank", steps
    )


claim = Claim(
    id="I-4.7.2-no-output-bias",
    paper=Paper.IDENTIFICATION,
    place="not claimed there; Section 4.7 without b_O",
    says="In a layer without output bias the value biases are identified, up to the change of basis that "
    "moves W_V, W_O and b_V together.",
    statement=[Eq(MatMul(Inverse(W_O.T * W_O), W_O.T, W_O, b_V), b_V, evaluate=False)],
    hypotheses=[
        "H·C ≤ E and the side-by-side matrix W_O of all heads has full column rank (with groups: their "
        "sums have)",
        "rows of weights sum to 1",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=["the count where H·C exceeds E: there only the E numbers of W_O b_V are seen"],
)
