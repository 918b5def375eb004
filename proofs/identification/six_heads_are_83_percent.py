"""I-4.5-six-heads: "6 heads: 11/12 or about 83 %"."""

from sympy import Eq, Rational, Symbol, floor

from exactattn.ledger import Claim, Counterexample, Outcome, Paper, Verdict, differ, equal, refuted

H = Symbol("H", integer=True, positive=True)


def establish() -> Outcome:
    share = (1 - 1 / (2 * H)).subs(H, 6)
    percent = floor(100 * share + Rational(1, 2))
    steps = [
        equal("the share of 6 heads is 11/12", share, Rational(11, 12)),
        equal("rounded to whole percent it is 92", percent, 92),
        differ("which is not 83", percent, 83),
        equal("83 % rounded is 5/6, the share of 3 heads", (1 - 1 / (2 * H)).subs(H, 3), Rational(5, 6)),
    ]
    counterexample = Counterexample(
        "11/12 lies between 91.5 % and 92.5 %",
        {"H": 6, "share": share, "percent": percent},
        "the statement is about this one number",
    )
    return refuted("exact arithmetic", steps, counterexample)


claim = Claim(
    id="I-4.5-six-heads",
    paper=Paper.IDENTIFICATION,
    place="Section 4.5, example",
    says="With 6 heads 11/12, or about 83 %, of the attention parameters are identified.",
    statement=[Eq(Rational(11, 12), Rational(83, 100), evaluate=False)],
    hypotheses=["plain multi-head attention, D = C = E/H"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="With 6 heads 11/12, about 92 %, are identified; 5/6, about 83 %, belongs to 3 heads.",
    does_not_establish=["the share itself (see I-4.5-fraction)"],
)
