"""I-5.3-key-bias: the gradient by a key bias is exactly zero."""

from sympy import Derivative, Eq, IndexedBase, Sum, diff, exp, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, equal, proved

n, j = symbols("n j", integer=True, positive=True)
s, v = IndexedBase("s", real=True), IndexedBase("v", real=True)
b, q = symbols("b q", real=True)
# one output coordinate; b is one coordinate of the key bias and q that of the query
OUTPUT = Sum(exp(s[j] + q * b) * v[j], (j, 1, n)) / Sum(exp(s[j] + q * b), (j, 1, n))


def establish() -> Outcome:
    steps = [
        equal("the derivative of an output by the bias vanishes for any number of keys", diff(OUTPUT, b), 0),
        equal("so does the second derivative", diff(OUTPUT, b, 2), 0),
    ]
    return proved("the softmax of a row does not depend on the bias (I-4.7.1); its derivative is 0", steps)


claim = Claim(
    id="I-5.3-key-bias",
    paper=Paper.IDENTIFICATION,
    place="Section 5, experiments; the part that can be proved",
    says="The gradient of any loss by a key bias is exactly zero.",
    statement=[Eq(Derivative(OUTPUT, b), 0, evaluate=False)],
    hypotheses=[
        "plain softmax (see I-4.7.1): no rotations, sinks, soft-capping or norms of keys",
        "exact arithmetic",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["I-4.7.1"],
    does_not_establish=[
        "that rounding leaves nothing in floating point",
        "that weight decay leaves the bias alone",
    ],
)
