"""I-4.3: tangent directions that change no score, from any D×D matrix."""

from sympy import Eq, Identity, MatrixSymbol, ZeroMatrix, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, matrix_equal, proved

D, E = symbols("D E", integer=True, positive=True)
U_Q, U_K, S = (MatrixSymbol(name, D, D) for name in ("U_Q", "U_K", "S"))
S_Q, S_K = MatrixSymbol("Σ_Q", D, D), MatrixSymbol("Σ_K", D, D)
V_Q, V_K = MatrixSymbol("V_Q", E, D), MatrixSymbol("V_K", E, D)
one = Identity(D)
orthonormal = {
    **{U.T * U: one for U in (U_Q, U_K)},
    **{U * U.T: one for U in (U_Q, U_K)},
    **{V.T * V: one for V in (V_Q, V_K)},
}
diagonal = (S_Q, S_K)
W_Q, W_K = U_Q * S_Q * V_Q.T, U_K * S_K * V_K.T

# the same for weights that are not decomposed
Q, K, dQ, dK = (MatrixSymbol(name, D, E) for name in ("W_Q", "W_K", "δW_Q", "δW_K"))
iQ, iK = MatrixSymbol("(W_QW_Qᵀ)⁻¹", D, D), MatrixSymbol("(W_KW_Kᵀ)⁻¹", D, D)


def direction(S: MatrixSymbol) -> tuple[MatrixSymbol, MatrixSymbol]:
    return U_K * S_K.I * S * V_Q.T, -U_Q * S_Q.I * S.T * V_K.T


def establish() -> Outcome:
    step_Q, step_K = direction(S)
    T = U_K * S_K.I * S * S_Q.I * U_Q.T
    overall = direction(S_K * U_K.T * U_Q * S_Q)
    found = -iK * K * dK.T
    steps = [
        matrix_equal(
            "the derivative of W_KᵀW_Q vanishes",
            step_K.T * W_Q + W_K.T * step_Q,
            ZeroMatrix(E, E),
            orthonormal,
            diagonal,
        ),
        matrix_equal("δW_Q = T W_Q is a change of basis", T * W_Q, step_Q, orthonormal, diagonal),
        matrix_equal("δW_K = −Tᵀ W_K is the same one", -T.T * W_K, step_K, orthonormal, diagonal),
        matrix_equal(
            "S is recovered from the direction: D² dimensions",
            S_K * U_K.T * step_Q * V_Q,
            S,
            orthonormal,
            diagonal,
        ),
        matrix_equal("S = Σ_K U_KᵀU_Q Σ_Q gives W_Q", overall[0], W_Q, orthonormal, diagonal),
        matrix_equal("and −W_K", overall[1], -W_K, orthonormal, diagonal),
        matrix_equal(
            "every direction with derivative 0 has δW_Q = T W_Q, T = −(W_KW_Kᵀ)⁻¹W_K δW_Kᵀ",
            found * Q,
            dQ,
            {dK.T * Q: -K.T * dQ, iK * K * K.T: one},
        ),
        matrix_equal(
            "and then W_Qᵀ(δW_K + TᵀW_K) = 0",
            Q.T * (dK + S.T * K),
            ZeroMatrix(E, E),
            {S * Q: dQ, Q.T * dK: -dQ.T * K},
        ),
        matrix_equal(
            "so δW_K = −TᵀW_K, as W_QᵀM = 0 only for M = 0", iQ * Q * (Q.T * dK), dK, {iQ * Q * Q.T: one}
        ),
    ]
    return proved("thin singular value decompositions; the kernel is the tangent space of the orbit", steps)


claim = Claim(
    id="I-4.3",
    paper=Paper.IDENTIFICATION,
    place="Lemma 4.3, Corollaries 4.4 and 4.5",
    says="With W_Q = U_Q Σ_Q V_Qᵀ and W_K = U_K Σ_K V_Kᵀ, the direction (U_K Σ_K⁻¹ S V_Qᵀ, −U_Q Σ_Q⁻¹ Sᵀ "
    "V_Kᵀ) changes no score to first order for any S; these directions have dimension D², contain (W_Q, "
    "−W_K), and are all there are.",
    statement=[
        Eq(dQ, direction(S)[0], evaluate=False),
        Eq(dK, direction(S)[1], evaluate=False),
        Eq(dK.T * Q + K.T * dQ, ZeroMatrix(E, E), evaluate=False),
    ],
    hypotheses=["D ≤ E", "W_Q and W_K have rank D"],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=["anything at weights of lower rank, where the kernel is larger"],
)
