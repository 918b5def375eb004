"""I-4.5-fraction: the identified share is 1 − 1/(2H)."""

from sympy import Eq, Rational, Symbol, symbols

from exactattn.identify import AttentionSpec, count_layer
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, proved

E, H = symbols("E H", integer=True, positive=True)
D = E / H
SHARE = 1 - 1 / (2 * H)


def establish() -> Outcome:
    query_key, all_four = 2 * H * D * E, 4 * H * D * E
    sizes = [(heads * size, heads) for heads in (1, 2, 3, 8, 12) for size in (1, 2, 64)]

    def counted(size: tuple[int, int]) -> bool:
        count = count_layer(AttentionSpec.of(*size))
        return bool(Rational(count.identified, count.parameters) == SHARE.subs(H, size[1]))

    steps = [
        equal("query and key: E²/H of 2E² are free", H * D**2, E**2 / H),
        equal("so 1 − 1/(2H) of them are identified", 1 - H * D**2 / query_key, SHARE),
        equal("all four: 2E²/H of 4E² are free, the same share", 1 - 2 * H * D**2 / all_four, SHARE),
        cases("the counting tool gives the same share", sizes, counted),
    ]
    return proved("the counts of I-complete with D = C = E/H", steps)


claim = Claim(
    id="I-4.5-fraction",
    paper=Paper.IDENTIFICATION,
    place="Section 4.5",
    says="With D = C = E/H the identified share of the attention parameters is 1 − 1/(2H), for query and "
    "key alone and with value and output.",
    statement=[Eq(Symbol("identified") / Symbol("parameters"), SHARE, evaluate=False)],
    hypotheses=["plain multi-head attention without biases, H divides E, D = C = E/H", "a generic point"],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["I-complete"],
    does_not_establish=["the share with biases, rotations, groups or norms"],
)
