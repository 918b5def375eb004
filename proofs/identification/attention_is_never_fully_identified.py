"""I-4.5-bound: attention can never be fully identified."""

from sympy import Eq, Expr, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, equal, holds, positive, proved

E, H, D = symbols("E H D", integer=True, positive=True)


def share(heads: Expr) -> Expr:
    return 1 - 1 / (2 * heads)


def establish() -> Outcome:
    lost = (D - 1) / (2 * E)
    steps = [
        equal(
            "1 − 1/(2E) less the share with head size D is (D − 1)/(2E)",
            share(E) - share(E / D),
            lost,
        ),
        holds("which is not negative, as D ≥ 1", bool(lost.is_nonnegative), "sign", "sign"),
        equal("and zero for D = 1, H = E", lost.subs(D, 1), 0),
        positive("what is missing to 1 is positive", 1 - share(E), {E: 1}),
    ]
    return proved("arithmetic of 1 − 1/(2H) with H = E/D", steps)


claim = Claim(
    id="I-4.5-bound",
    paper=Paper.IDENTIFICATION,
    place="Section 4.5",
    says="Attention is never fully identified: at best, with heads of size 1, a share of 1 − 1/(2E) is.",
    statement=[Eq(share(E) - share(E / D), (D - 1) / (2 * E), evaluate=False)],
    hypotheses=["plain multi-head attention without biases, D = C = E/H, D ≥ 1", "a generic point"],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["I-4.5-fraction"],
    does_not_establish=["that smaller heads are better for anything else"],
)
