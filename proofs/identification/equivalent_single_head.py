"""I-4.10: the width of a single head with as many identified parameters."""

from sympy import Eq, Rational, ceiling, expand, solve, sqrt, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, proved

E, H, D, E_0, D_0 = symbols("E H D E_0 D_0", positive=True)
SINGLE = (2 * D_0 + E_0) * E_0 - D_0**2
MANY = 4 * E * H * D - 2 * H * D**2


def least_width(width: int, heads: int) -> int:
    """The smallest E_0 with 2 E_0² ≥ 4E² − 2E²/H, by exact comparison."""
    size = 0
    while 2 * size**2 < 4 * width**2 - Rational(2 * width**2, heads):
        size += 1
    return size


def establish() -> Outcome:
    solution = E * sqrt(2 - 1 / H)
    balance = SINGLE.subs(D_0, E_0) - MANY.subs(D, E / H)
    sizes = [(heads * size, heads) for heads in range(1, 26) for size in (1, 2, 5)]
    steps = [
        equal(
            "with D_0 = E_0 and D = E/H both counts are 2E_0² and 4E² − 2E²/H",
            expand(balance),
            2 * E_0**2 - 4 * E**2 + 2 * E**2 / H,
        ),
        equal("their only positive balance is E_0 = E√(2 − 1/H)", solve(balance, E_0), [solution]),
        cases(
            "rounding up gives the least width with at least as many",
            sizes,
            lambda size: least_width(*size) == ceiling(solution.subs({E: size[0], H: size[1]})),
        ),
        equal("H = 1 gives E itself", solution.subs(H, 1), E),
        equal("equality can be exact: H = 25, E_0 = 7E/5", solution.subs(H, 25), 7 * E / 5),
    ]
    return proved("solving a quadratic equation; 2E_0² grows with E_0", steps)


claim = Claim(
    id="I-4.10",
    paper=Paper.IDENTIFICATION,
    place="Section 4.10",
    says="A single head without output projection has at least as many identified parameters as a "
    "multi-head layer with D = E/H from width E_0 = ⌈E√(2 − 1/H)⌉ on, with D_0 = E_0.",
    statement=[Eq(SINGLE, MANY, evaluate=False), Eq(E_0, ceiling(E * sqrt(2 - 1 / H)), evaluate=False)],
    hypotheses=[
        "the single head has 2D_0E_0 + E_0² parameters, of which D_0² are free; the layer 4EHD, of which "
        "2HD² are",
        "D_0 = E_0, D = E/H",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["I-complete"],
    does_not_establish=[
        "equal counts: 2 − 1/H is rarely the square of a rational, so the single head mostly has a few more",
        "that both layers can compute the same functions",
    ],
)
