"""I-complete-biases: plain multi-head attention with biases, for all sizes."""

from sympy import Eq, MatrixSymbol, expand, symbols

from exactattn.identify import AttentionSpec, count_layer
from exactattn.ledger import Claim, Outcome, Paper, Verdict, equal, matrix_equal, proved

E, H, D, C = symbols("E H D C", integer=True, positive=True)
m, r, c, constant = symbols("m r c k", positive=True)
W_Q, W_K = MatrixSymbol("W_Q", D, E), MatrixSymbol("W_K", D, E)
b_Q, b_K = MatrixSymbol("b_Q", D, 1), MatrixSymbol("b_K", D, 1)
x, y, y2 = MatrixSymbol("x", E, 1), MatrixSymbol("y", E, 1), MatrixSymbol("y'", E, 1)
lifted, joined = MatrixSymbol("(1, x)", E + 1, 1), MatrixSymbol("(b_Q, W_Q)", D, E + 1)
PARAMETERS = H * (2 * D * E + 2 * C * E) + 2 * H * D + H * C + E
FREE = H * (D**2 + C**2) + H * D + H * C
IDENTIFIED = H * D * (2 * E + 1 - D) + H * C * (2 * E - C) + E
ALL_BIASES = {"query_bias": True, "key_bias": True, "value_bias": True, "output_bias": True}


def establish() -> Outcome:
    query = W_Q * x + b_Q
    spec = AttentionSpec.of(width=6, heads=2, head_size=3, value_size=2, **ALL_BIASES)
    counted = count_layer(spec)
    steps = [
        matrix_equal(
            "differences of scores in a row do not contain b_K",
            (W_K * y + b_K).T * query - (W_K * y2 + b_K).T * query,
            (W_K * (y - y2)).T * query,
        ),
        matrix_equal(
            "they are (1, x)ᵀW̃(y − y') with W̃ = (b_Q, W_Q)ᵀW_K, a product of D×(E+1) and D×E",
            (joined * lifted).T * (W_K * (y - y2)),
            lifted.T * (joined.T * W_K) * (y - y2),
        ),
        equal(
            "a constant in the output moves no pole: times (m + r), at m = −r, one head gives r c",
            expand((constant - m * c / (m + r)) * (m + r)).simplify().subs(m, -r),
            r * c,
        ),
        equal(
            "free: H(D² + C²), all key biases, all value biases beside b_O",
            counted.unidentified_formula,
            expand(FREE),
        ),
        equal("parameters", counted.parameters_formula, expand(PARAMETERS)),
        equal(
            "identified: the products W̃ of rank D, W_OW_V of rank C, and the constant",
            expand(PARAMETERS - FREE),
            expand(IDENTIFIED),
        ),
    ]
    return proved(
        "as I-complete, with last tokens (1, x): the function determines W̃ and W_OW_V of each head and "
        "the constant "
        "Σ_h W_O^h b_V^h + b_O; I-4.1-converse for the D×(E+1) and D×E factors of W̃; I-4.7.1 and I-4.7.2 "
        "for the rest",
        steps,
    )


claim = Claim(
    id="I-complete-biases",
    paper=Paper.IDENTIFICATION,
    place="not claimed there",
    says="With query, key, value and output biases the unidentified directions of plain multi-head "
    "attention are "
    "exactly the changes of basis, the H·D key biases and the H·C value biases, for all sizes D, C ≤ E.",
    statement=[Eq(PARAMETERS - FREE, IDENTIFIED, evaluate=False)],
    hypotheses=[
        "D ≤ E and C ≤ E; (b_Q, W_Q), W_K, W_V, W_O of each head have full rank",
        "the products W̃ of different heads differ",
        "plain softmax, no rotations, no norms, an output bias",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["I-complete", "I-4.1-converse", "I-4.7.1", "I-4.7.2"],
    does_not_establish=[
        "the count without an output bias (see I-4.7.2-no-output-bias)",
        "points that are not generic",
    ],
)
