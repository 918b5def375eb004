"""I-4.7.1: in plain softmax attention a key bias has no effect."""

from sympy import Eq, IndexedBase, MatrixSymbol, Sum, exp, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, equal, matrix_equal, proved

D, E, n, j = symbols("D E n j", integer=True, positive=True)
W_K, b_K = MatrixSymbol("W_K", D, E), MatrixSymbol("b_K", D, 1)
X, q = MatrixSymbol("X", E, n), MatrixSymbol("q", D, 1)
s, v = IndexedBase("s", real=True), IndexedBase("v", real=True)
c = symbols("c", real=True)


def row(shift: object) -> object:
    """One output coordinate of one softmax row over n keys with scores s_j + shift."""
    weights = exp(s[j] + shift)
    return Sum(weights * v[j], (j, 1, n)) / Sum(weights, (j, 1, n))


def establish() -> Outcome:
    column = MatrixSymbol("1", n, 1)
    steps = [
        matrix_equal(
            "the bias adds the one number b_K·q to all scores of a row",
            (W_K * X + b_K * column.T).T * q,
            (W_K * X).T * q + column * (b_K.T * q),
        ),
        equal("a number added to a whole row leaves its softmax output unchanged", row(c), row(0)),
    ]
    return proved("softmax forgets what is added to a whole row, for any number n of keys", steps)


claim = Claim(
    id="I-4.7.1",
    paper=Paper.IDENTIFICATION,
    place="Section 4.7",
    says="A key bias changes no output: it adds one constant to each row of scores, which the softmax "
    "forgets.",
    statement=[Eq(row(c), row(0), evaluate=False)],
    hypotheses=[
        "plain softmax over the keys: no rotation of keys after the bias, no sink or '+1' in the "
        "denominator, no soft-capping, no norm of keys",
        "a mask hides the same keys with and without the bias",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=["the same beyond plain softmax; it is false there (I-4.7.1-rope, -sinks, -softcap)"],
)
