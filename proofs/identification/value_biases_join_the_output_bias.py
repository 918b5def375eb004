"""I-4.7.2: value biases enter only through Σ_h W_O^h b_V^h + b_O."""

from sympy import Eq, IndexedBase, MatrixSymbol, Sum, exp, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, equal, matrix_equal, proved

C, E, H, n, j, h = symbols("C E H n j h", integer=True, positive=True)
s, x = IndexedBase("s", real=True), IndexedBase("x", real=True)
b = symbols("b", real=True)
z, b_V, W_O = MatrixSymbol("z", C, 1), MatrixSymbol("b_V", C, 1), MatrixSymbol("W_O", E, C)
heads, constants, b_O = IndexedBase("y", real=True), IndexedBase("w", real=True), symbols("b_O", real=True)


def establish() -> Outcome:
    weights = exp(s[j])
    total = Sum(weights, (j, 1, n))
    with_bias = Sum(weights * (x[j] + b), (j, 1, n)) / total
    without = Sum(weights * x[j], (j, 1, n)) / total
    moved, kept = Sum(heads[h] + constants[h], (h, 1, H)) + b_O, Sum(heads[h], (h, 1, H))
    steps = [
        equal("weights sum to 1, so each head adds b_V to its mean", with_bias, without + b),
        matrix_equal(
            "behind W_O this is W_O b_V, the same for every input", W_O * (z + b_V), W_O * z + W_O * b_V
        ),
        equal(
            "the heads together add one constant vector", moved, kept + (Sum(constants[h], (h, 1, H)) + b_O)
        ),
    ]
    return proved("rows of weights sum to 1, for any number of keys and heads", steps)


claim = Claim(
    id="I-4.7.2",
    paper=Paper.IDENTIFICATION,
    place="Section 4.7",
    says="Value biases act only through the constant Σ_h W_O^h b_V^h + b_O, so beside an output bias all "
    "of them are free.",
    statement=[
        Eq(
            Sum(exp(s[j]) * (x[j] + b), (j, 1, n)) / Sum(exp(s[j]), (j, 1, n)),
            Sum(exp(s[j]) * x[j], (j, 1, n)) / Sum(exp(s[j]), (j, 1, n)) + b,
            evaluate=False,
        )
    ],
    hypotheses=[
        "each row of attention weights sums to 1",
        "for the second half: the layer has an output bias b_O",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=[
        "that they are free without b_O (they are not: I-4.7.2-no-output-bias) or with sinks"
    ],
)
