"""I-5.2: rebalancing keeps the function and makes both Gram matrices equal."""

from sympy import Eq, Identity, MatrixSymbol, Rational, ZeroMatrix, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, matrix_equal, proved, trace_equal

D, E = symbols("D E", integer=True, positive=True)
# thin QR: W_Qᵀ = O_Q R_Q and W_Kᵀ = O_K R_K; singular values: R_K R_Qᵀ = U Σ Vᵀ
O_Q, O_K = MatrixSymbol("O_Q", E, D), MatrixSymbol("O_K", E, D)
R_Q, R_K, U, V, Z = (MatrixSymbol(name, D, D) for name in ("R_Q", "R_K", "U", "V", "Z"))
Sigma, root = MatrixSymbol("Σ", D, D), MatrixSymbol("Λ", D, D)
one = Identity(D)
W_Q, W_K = (O_Q * R_Q).T, (O_K * R_K).T
new_Q, new_K = Z * root * V.T * O_Q.T, Z * root * U.T * O_K.T
given = {
    R_K * R_Q.T: U * root * root * V.T,
    O_Q.T * O_Q: one,
    O_K.T * O_K: one,
    U.T * U: one,
    V.T * V: one,
    Z.T * Z: one,
    Z * Z.T: one,
}
# the nearest rotation: weights A and their rebalanced form B; A Bᵀ = X Δ Yᵀ
A, B = MatrixSymbol("A", D, E), MatrixSymbol("B", D, E)
T, Delta = MatrixSymbol("T", D, D), MatrixSymbol("Δ", D, D)


def establish() -> Outcome:
    balance = new_Q * new_Q.T - new_K * new_K.T
    steps = [
        matrix_equal("the product of keys and queries is kept", new_K.T * new_Q, W_K.T * W_Q, given, (root,)),
        matrix_equal(
            "the Gram matrix of the queries is Z Σ Zᵀ", new_Q * new_Q.T, Z * root * root * Z.T, given, (root,)
        ),
        matrix_equal("so is that of the keys: β = 0", balance, ZeroMatrix(D, D), given, (root,)),
        trace_equal(
            "distance to the old weights: |A − Z B|² = |A|² + |B|² − 2 tr Zᵀ(A Bᵀ)",
            (A - Z * B).T * (A - Z * B),
            [A.T * A, B.T * B, -2 * Z.T * A * B.T],
            {Z.T * Z: one},
        ),
        trace_equal(
            "with A Bᵀ = X Δ Yᵀ and T = Yᵀ Zᵀ X, an orthogonal matrix, tr Δ − tr ΔT is |√Δ(1 − T)|²/2 ≥ 0: "
            "the nearest Z has T = 1, that is Z = X Yᵀ",
            Rational(1, 2) * (one - T.T) * Delta * (one - T),
            Rational(1, 2) * (Delta - Delta * T - T.T * Delta + T.T * Delta * T),
            symmetric=(Delta,),
        ),
        trace_equal("where tr TᵀΔT = tr Δ", Delta * T * T.T, Delta, {T * T.T: one}, (Delta,)),
        trace_equal("and tr TᵀΔ = tr ΔT", T.T * Delta, Delta * T, symmetric=(Delta,)),
    ]
    return proved("orthogonal factors cancel", steps)


claim = Claim(
    id="I-5.2",
    paper=Paper.IDENTIFICATION,
    place="Section 5, rebalancing",
    says="Thin QR of W_Qᵀ and W_Kᵀ, the singular values Σ of R_KR_Qᵀ, both Gram matrices set to Σ, and the "
    "rotation nearest the old weights: the function is unchanged and β = |W_QW_Qᵀ − W_KW_Kᵀ| becomes 0.",
    statement=[
        Eq(new_K.T * new_Q, W_K.T * W_Q, evaluate=False),
        Eq(new_Q * new_Q.T - new_K * new_K.T, ZeroMatrix(D, D), evaluate=False),
    ],
    hypotheses=[
        "D ≤ E; Σ = Λ² is diagonal and not negative, U, V, Z orthogonal, O_Q and O_K have orthonormal columns"
    ],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["I-4.1"],
    does_not_establish=[
        "that training is not disturbed: optimiser states do not move along",
        "exact equality in floating point",
        "the same with rotary positions, where only changes that commute with the rotations keep the "
        "function",
    ],
)
