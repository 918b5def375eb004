"""I-4.1: an invertible change of basis of a query/key head changes no score."""

from sympy import Eq, MatrixSymbol, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, matrix_equal, proved

D, E, n = symbols("D E n", integer=True, positive=True)
S = MatrixSymbol("S", D, D)
W_Q, W_K = MatrixSymbol("W_Q", D, E), MatrixSymbol("W_K", D, E)
X = MatrixSymbol("X", E, n)


def establish() -> Outcome:
    new_Q, new_K = S * W_Q, S.I.T * W_K
    steps = [
        matrix_equal("the bilinear form is the same", new_K.T * new_Q, W_K.T * W_Q),
        matrix_equal(
            "all scores of all tokens are the same", (new_K * X).T * (new_Q * X), (W_K * X).T * (W_Q * X)
        ),
        matrix_equal("the inverse of S undoes the change, so it is a group that acts", S.I * new_Q, W_Q),
        matrix_equal("and likewise on keys", S.T * new_K, W_K),
    ]
    return proved("S⁻¹ S = 1 inside the product of keys and queries", steps)


claim = Claim(
    id="I-4.1",
    paper=Paper.IDENTIFICATION,
    place="Lemma 4.1",
    says="Replacing (W_Q, W_K) by (S W_Q, S⁻ᵀ W_K), S invertible, changes no score of a head.",
    statement=[Eq((S.I.T * W_K).T * (S * W_Q), W_K.T * W_Q, evaluate=False)],
    hypotheses=["S is an invertible D×D matrix", "scores are (W_K x)·(W_Q y), without rotations or norms"],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=["that no other change keeps the scores (see I-complete)"],
)
