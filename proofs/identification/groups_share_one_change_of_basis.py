"""I-4.9: with key/value groups there is one change of basis a group."""

from sympy import Eq, MatMul, MatrixSymbol, Transpose, symbols

from exactattn.identify import AttentionSpec, count_layer
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, matrix_equal, proved

D, E, H, G = symbols("D E H G", integer=True, positive=True)
S, W_K = MatrixSymbol("S", D, D), MatrixSymbol("W_K", D, E)
# queries of all heads of a group side by side, outputs below each other
W_Q = MatrixSymbol("Q_g", D, E * H / G)
W_V, W_O = MatrixSymbol("W_V", D, E), MatrixSymbol("O_g", E * H / G, D)
SAME = Eq(MatMul(Transpose(MatMul(S.I.T, W_K)), MatMul(S, W_Q)), W_K.T * W_Q, evaluate=False)


def establish() -> Outcome:
    sizes = [(12, heads, groups, size) for heads in (2, 4, 6) for groups in (1, 2) for size in (1, 2, 3)]

    def counted(size: tuple[int, int, int, int]) -> bool:
        count = count_layer(AttentionSpec.of(*size))
        return count.number(count.parts[0].unidentified) == size[2] * size[3] ** 2

    steps = [
        matrix_equal("S on all queries of the group, S⁻ᵀ on its key, keeps all scores", SAME.lhs, SAME.rhs),
        matrix_equal("likewise for its value and all its outputs", MatMul(W_O, S.I, S, W_V), W_O * W_V),
        equal("per layer G·D², a share G/H of that without groups", (G * D**2) / (H * D**2), G / H),
        cases("the counting tool has G·D²", sizes, counted),
    ]
    return proved(
        "the queries of a group side by side are one D × (H/G)E matrix: I-4.1-converse with F = (H/G)E "
        "says that its factorisations with W_K are one orbit of GL(D)",
        steps,
    )


claim = Claim(
    id="I-4.9",
    paper=Paper.IDENTIFICATION,
    place="Section 4.9",
    says="With G key/value groups there is one change of basis a group: G·D² unidentified query/key "
    "numbers instead of H·D², and G·C² for value and output.",
    statement=[SAME],
    hypotheses=[
        "Q_g are the H/G query matrices of a group side by side, O_g its outputs below each other",
        "D, C ≤ E; keys and the queries of a group side by side have rank D, values and outputs rank C",
        "the forms W_QᵀW_K of different heads differ",
        "plain softmax, no biases, no rotations, no norms",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["Q-1", "I-4.1-converse"],
    does_not_establish=["groups with rotations (G·D: see I-4.8-rope for each group)"],
)
