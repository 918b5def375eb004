"""I-4.6: an invertible change of basis between values and outputs changes nothing."""

from sympy import Eq, Identity, MatMul, MatrixSymbol, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, matrix_equal, proved

C, E, n = symbols("C E n", integer=True, positive=True)
S = MatrixSymbol("S", C, C)
W_V, W_O = MatrixSymbol("W_V", C, E), MatrixSymbol("W_O", E, C)
X, P = MatrixSymbol("X", E, n), MatrixSymbol("P", n, n)
iV = MatrixSymbol("(W_VW_Vᵀ)⁻¹", C, C)


SAME_PRODUCT = Eq(MatMul(MatMul(W_O, S.I), MatMul(S, W_V)), W_O * W_V, evaluate=False)


def establish() -> Outcome:
    new_V, new_O = S * W_V, W_O * S.I
    steps = [
        matrix_equal("the product is the same", SAME_PRODUCT.lhs, SAME_PRODUCT.rhs),
        matrix_equal(
            "outputs are, whatever the attention weights P", new_O * (new_V * X * P), W_O * (W_V * X * P)
        ),
        matrix_equal(
            "different S give different W_V: the orbit has dimension C²",
            new_V * W_V.T * iV,
            S,
            {W_V * W_V.T * iV: Identity(C)},
        ),
    ]
    return proved("S⁻¹ S = 1 between outputs and values; the orbit is all, by I-4.1-converse", steps)


claim = Claim(
    id="I-4.6",
    paper=Paper.IDENTIFICATION,
    place="Lemma 4.6",
    says="Replacing (W_V, W_O) by (S W_V, W_O S⁻¹), S invertible, changes no output; per head C² numbers "
    "are free.",
    statement=[SAME_PRODUCT],
    hypotheses=["C ≤ E, W_V and W_O of rank C", "S is an invertible C×C matrix"],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["I-4.1-converse"],
    does_not_establish=["anything about layers with a norm between values and outputs"],
)
