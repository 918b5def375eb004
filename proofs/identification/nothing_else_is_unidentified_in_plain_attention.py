"""I-complete: in plain multi-head attention nothing is unidentified but the changes of basis."""

from sympy import Eq, MatrixSymbol, expand, symbols

from exactattn.identify import AttentionSpec, count_layer
from exactattn.ledger import Claim, Outcome, Paper, Verdict, equal, matrix_equal, proved

E, H, D, C, d = symbols("E H D C d", integer=True, positive=True)
N, N2 = MatrixSymbol("W_OW_V", E, E), MatrixSymbol("W_O'W_V'", E, E)
z, direction = MatrixSymbol("z", E, 1), MatrixSymbol("λ", E, 1)
W_Q, W_K = MatrixSymbol("W_Q", D, E), MatrixSymbol("W_K", D, E)
x, y = MatrixSymbol("x", E, 1), MatrixSymbol("y", E, 1)


def establish() -> Outcome:
    parameters = H * (2 * D * E + 2 * C * E)
    free = H * (D**2 + C**2)
    # two sizes, so that the counting tool keeps the letters D and C apart
    counted = count_layer(AttentionSpec.of(width=6, heads=2, head_size=3, value_size=2)).unidentified_formula
    steps = [
        matrix_equal("a score is xᵀW y with W = W_QᵀW_K", (W_Q * x).T * (W_K * y), x.T * (W_Q.T * W_K) * y),
        matrix_equal(
            "one direction λ of the output is a scalar layer with v = (W_OW_V)ᵀλ",
            direction.T * (N * z),
            (N.T * direction).T * z,
        ),
        matrix_equal(
            "all directions λ together determine W_OW_V",
            N.T * direction - N2.T * direction,
            (N - N2).T * direction,
        ),
        equal("a head's fibre has D² + C² dimensions, so H heads have", H * D**2 + H * C**2, free),
        equal("the counting tool has the same formula", counted, expand(free)),
        equal("identified are", parameters - free, H * (D * (2 * E - D) + C * (2 * E - C))),
    ]
    return proved(
        "Q-1 in every direction of the output: the function determines the pairs (W_QᵀW_K, W_OW_V) up to "
        "the order of heads; I-4.1-converse: each pair's factorisations are one orbit of GL(D) × GL(C), of "
        "dimension D² + C². A fibre is the union of these orbits over the finitely many orders of heads",
        steps,
    )


claim = Claim(
    id="I-complete",
    paper=Paper.IDENTIFICATION,
    place="not claimed there",
    says="In plain multi-head attention without biases the unidentified directions at a generic point are "
    "exactly the changes of basis: H(D² + C²) numbers, nothing else, for all sizes D, C ≤ E.",
    statement=[
        Eq(
            H * (2 * D * E + 2 * C * E) - H * (D**2 + C**2),
            H * (D * (2 * E - D) + C * (2 * E - C)),
            evaluate=False,
        )
    ],
    hypotheses=[
        "D ≤ E and C ≤ E; W_Q, W_K, W_V, W_O of each head have full rank",
        "the forms W_QᵀW_K of different heads differ (no W_OW_V vanishes, by full rank)",
        "plain softmax, no biases, no rotations, no norms; a causal mask changes nothing, as the last "
        "token sees all",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["Q-1", "I-4.1", "I-4.6", "I-4.1-converse"],
    does_not_establish=[
        "the count at points that are not generic (equal forms, lost rank), where more is free",
        "other variants: biases (I-complete-biases), rotations and groups (I-complete-sizes), norms and "
        "latents (I-complete-norms), sinks (I-complete-scores)",
        "that a given training set contains enough sequences to see the function",
    ],
)
