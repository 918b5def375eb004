"""I-4.5-eight-heads: "8 heads: 15/16 or about 94 %"."""

from sympy import Eq, Rational, Symbol, floor

from exactattn.ledger import Claim, Outcome, Paper, Verdict, equal, proved

H = Symbol("H", integer=True, positive=True)
SHARE = (1 - 1 / (2 * H)).subs(H, 8)


def establish() -> Outcome:
    steps = [
        equal("the share of 8 heads is 15/16", SHARE, Rational(15, 16)),
        equal("rounded to whole percent it is 94", floor(100 * SHARE + Rational(1, 2)), 94),
    ]
    return proved("exact arithmetic", steps)


claim = Claim(
    id="I-4.5-eight-heads",
    paper=Paper.IDENTIFICATION,
    place="Section 4.5, example",
    says="With 8 heads 15/16, or about 94 %, of the attention parameters are identified.",
    statement=[Eq(1 - 1 / (2 * H), Rational(15, 16), evaluate=False)],
    hypotheses=["plain multi-head attention without biases, D = C = E/H, H = 8"],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["I-4.5-fraction"],
    does_not_establish=["the other example there, 6 heads (see I-4.5-six-heads)"],
)
