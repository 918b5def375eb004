"""I-4.1: an invertible change of basis of a query/key head changes no score."""

from sympy import Eq, MatMul, MatrixSymbol, Transpose, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, matrix_equal, proved

D, E, n = symbols("D E n", integer=True, positive=True)
S = MatrixSymbol("S", D, D)
W_Q, W_K = MatrixSymbol("W_Q", D, E), MatrixSymbol("W_K", D, E)
X = MatrixSymbol("X", E, n)


SAME_FORM = Eq(MatMul(Transpose(MatMul(S.I.T, W_K)), MatMul(S, W_Q)), W_K.T * W_Q, evaluate=False)


def establish() -> Outcome:
    queries, keys = MatMul(S, W_Q, X), MatMul(S.I.T, W_K, X)
    steps = [
        matrix_equal("the bilinear form is the same", SAME_FORM.lhs, SAME_FORM.rhs),
        matrix_equal(
            "all scores of all tokens are the same", MatMul(keys.T, queries), (W_K * X).T * (W_Q * X)
        ),
        matrix_equal(
            "the inverse of S undoes the change, so it is a group that acts", MatMul(S.I, S, W_Q), W_Q
        ),
        matrix_equal("and likewise on keys", MatMul(S.T, S.I.T, W_K), W_K),
    ]
    return proved("S⁻¹ S = 1 inside the product of keys and queries", steps)


claim = Claim(
    id="I-4.1",
    paper=Paper.IDENTIFICATION,
    place="Lemma 4.1",
    says="Replacing (W_Q, W_K) by (S W_Q, S⁻ᵀ W_K), S invertible, changes no score of a head.",
    statement=[SAME_FORM],
    hypotheses=["S is an invertible D×D matrix", "scores are (W_K x)·(W_Q y), without rotations or norms"],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=["that no other change keeps the scores (see I-complete)"],
)
