"""I-4.1-converse: two full-rank factorisations of one product differ by exactly one change of basis."""

from sympy import Eq, Identity, MatrixSymbol, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, matrix_equal, proved

D, E, F = symbols("D E F", integer=True, positive=True)
A, B = MatrixSymbol("A", D, E), MatrixSymbol("B", D, F)
A2, B2 = MatrixSymbol("A'", D, E), MatrixSymbol("B'", D, F)
S, T, M = (MatrixSymbol(name, D, D) for name in "STM")
one = Identity(D)

# inverses of the Gram matrices, which full rank provides
iA, iB = MatrixSymbol("(AAᵀ)⁻¹", D, D), MatrixSymbol("(BBᵀ)⁻¹", D, D)
iA2, iB2 = MatrixSymbol("(A'A'ᵀ)⁻¹", D, D), MatrixSymbol("(B'B'ᵀ)⁻¹", D, D)


def establish() -> Outcome:
    same_product = {A.T * B: A2.T * B2}
    new_S, new_T = iA2 * A2 * A.T, iB2 * B2 * B.T
    moved = {T * A: A2, S * B: B2, A2.T * B2: A.T * B}
    steps = [
        matrix_equal(
            "S = (A'A'ᵀ)⁻¹A'Aᵀ takes B to B'", new_S * B, B2, {**same_product, iA2 * A2 * A2.T: one}
        ),
        matrix_equal(
            "T = (B'B'ᵀ)⁻¹B'Bᵀ takes A to A'", new_T * A, A2, {**same_product, iB2 * B2 * B2.T: one}
        ),
        matrix_equal("so Aᵀ(TᵀS)B = AᵀB", A.T * T.T * S * B, A.T * B, moved),
        matrix_equal(
            "AᵀMB determines M, for full rank; hence TᵀS = 1 and T = S⁻ᵀ",
            iA * A * (A.T * M * B) * B.T * iB,
            M,
            {iA * A * A.T: one, B * B.T * iB: one},
        ),
        matrix_equal(
            "SB determines S: the change of basis is unique", S * B * B.T * iB, S, {B * B.T * iB: one}
        ),
    ]
    return proved("explicit change of basis; no change but the identity fixes a full-rank factor", steps)


claim = Claim(
    id="I-4.1-converse",
    paper=Paper.IDENTIFICATION,
    place="not claimed there; the converse of Lemma 4.1",
    says="If AᵀB = A'ᵀB' with all four factors of full rank D, there is exactly one S with B' = S B and A' "
    "= S⁻ᵀ A: the factorisations of a product are one orbit of GL(D), of dimension D².",
    statement=[Eq(B2, S * B, evaluate=False), Eq(A2, S.I.T * A, evaluate=False)],
    hypotheses=["A and A' are D×E, B and B' are D×F, all of rank D (so D ≤ E and D ≤ F)"],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=["anything where a factor loses rank, or where D exceeds E or F"],
)
