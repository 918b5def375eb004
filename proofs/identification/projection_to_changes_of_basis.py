"""I-5.1-projection: the least-squares projection of an update to changes of basis, with the right sign."""

from sympy import Eq, Identity, MatrixSymbol, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, matrix_equal, proved, trace_equal

D, E = symbols("D E", integer=True, positive=True)
W_Q, W_K, dQ, dK = (MatrixSymbol(name, D, E) for name in ("W_Q", "W_K", "δW_Q", "δW_K"))
S, T = MatrixSymbol("S", D, D), MatrixSymbol("T", D, D)
iQ, iK = MatrixSymbol("G_Q⁻¹", D, D), MatrixSymbol("G_K⁻¹", D, D)
SYLVESTER = Eq(S * W_Q * W_Q.T + W_K * W_K.T * S, dQ * W_Q.T - W_K * dK.T, evaluate=False)


def establish() -> Outcome:
    rest_Q, rest_K = dQ - S * W_Q, dK + S.T * W_K
    steps = [
        trace_equal(
            "the derivative of |δW_Q − S W_Q|² + |δW_K + SᵀW_K|² in direction T is −2 tr Tᵀ(right − left "
            "side)",
            [-2 * (T * W_Q).T * rest_Q, 2 * (T.T * W_K).T * rest_K],
            -2 * T.T * (SYLVESTER.rhs - SYLVESTER.lhs),
        ),
        trace_equal(
            "the second derivative is 2|T W_Q|² + 2|W_KᵀT|² ≥ 0: a stationary S is a minimum",
            [2 * (T * W_Q).T * (T * W_Q), 2 * (T.T * W_K).T * (T.T * W_K)],
            2 * T.T * (T * W_Q * W_Q.T + W_K * W_K.T * T),
        ),
        trace_equal(
            "the difference T of two solutions has |T W_Q|² + |W_KᵀT|² = tr Tᵀ(T G_Q + G_K T) = 0",
            T.T * T * W_Q * W_Q.T,
            -T.T * W_K * W_K.T * T,
            {T * W_Q * W_Q.T: -W_K * W_K.T * T},
        ),
        matrix_equal(
            "so T W_Q = 0, and T = 0 where G_Q is invertible",
            T * W_Q * W_Q.T * iQ,
            T,
            {W_Q * W_Q.T * iQ: Identity(D)},
        ),
        matrix_equal(
            "likewise W_KᵀT = 0, and T = 0 where G_K is",
            iK * W_K * W_K.T * T,
            T,
            {iK * W_K * W_K.T: Identity(D)},
        ),
        trace_equal(
            "Pythagoras: |δ|² = |projection|² + |rest|² + 2 tr Sᵀ(right − left side), the last 0; so ρ ≤ 1",
            [dQ.T * dQ, dK.T * dK],
            [
                (S * W_Q).T * (S * W_Q),
                (S.T * W_K).T * (S.T * W_K),
                rest_Q.T * rest_Q,
                rest_K.T * rest_K,
                2 * S.T * (SYLVESTER.rhs - SYLVESTER.lhs),
            ],
        ),
    ]
    return proved("first and second derivative of a convex quadratic function", steps)


claim = Claim(
    id="I-5.1-projection",
    paper=Paper.IDENTIFICATION,
    place="Section 5, metrics",
    says="The S that minimises |δW_Q − S W_Q|² + |δW_K + SᵀW_K|² solves S G_Q + G_K S = δW_QW_Qᵀ − "
    "W_KδW_Kᵀ with G_Q = W_QW_Qᵀ, G_K = W_KW_Kᵀ; it is unique where G_Q or G_K has full rank, and the "
    "share ρ of the update that it explains is at most 1.",
    statement=[SYLVESTER],
    hypotheses=["for uniqueness: W_Q or W_K has rank D", "for ρ: the update is not 0"],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=["the objective as printed, which has the other sign (I-5.1-projection-printed)"],
)
