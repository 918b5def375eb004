"""I-4.10-same-width: no single head of the same width has as many identified parameters."""

from sympy import Ne, expand, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, holds, positive, proved

E, H, D_0 = symbols("E H D_0", integer=True, positive=True)
eta = symbols("eta", real=True)
SINGLE = (2 * D_0 + E) * E - D_0**2
MANY = 4 * E**2 - 2 * E**2 / H


def establish() -> Outcome:
    gap = MANY - SINGLE
    square, rest = (1 - eta) ** 2, 1 - 1 / H
    sizes = [(heads, heads * size, d) for heads in (1, 2, 3, 4) for size in (1, 2) for d in range(1, 9)]
    steps = [
        equal(
            "in parts of E², with η = D_0/E: (1 − η)² + 2(1 − 1/H)",
            expand(gap.subs(D_0, eta * E) / E**2),
            expand(square + 2 * rest),
        ),
        holds("a square is not negative", bool(square.is_nonnegative), "sign of (1 − η)²", "sign"),
        positive("and 1 − 1/H is positive for two or more heads", rest, {H: 2}),
        equal("one head does balance, at D_0 = E", gap.subs({H: 1, D_0: E}), 0),
        cases(
            "the multi-head layer has more at every size tried",
            sizes,
            lambda size: bool(gap.subs({H: size[0], E: size[1], D_0: size[2]}) > 0),
            lambda size: size[0] > 1,
        ),
    ]
    return proved("a sum of a square and a positive number", steps)


claim = Claim(
    id="I-4.10-same-width",
    paper=Paper.IDENTIFICATION,
    place="Section 4.10",
    says="For H > 1 no head size D_0 makes a single head of the same width E count as many identified "
    "parameters.",
    statement=[Ne(SINGLE, MANY, evaluate=False)],
    hypotheses=["the single head has no output projection; D = E/H", "H > 1"],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["I-complete"],
    does_not_establish=["the same for a single head with an output projection of its own"],
)
