"""I-4.8.1: the unidentified share with a head size of its own is D/(2E)."""

from sympy import Eq, Rational, Symbol, symbols

from exactattn.identify import AttentionSpec, count_layer
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, proved

E, H, D = symbols("E H D", integer=True, positive=True)


def establish() -> Outcome:
    free, parameters = H * D**2, 2 * H * D * E
    sizes = [(6, heads, size) for heads in (1, 2, 5) for size in range(1, 7)]

    def counted(size: tuple[int, int, int]) -> bool:
        count = count_layer(AttentionSpec.of(size[0], size[1], head_size=size[2]))
        return bool(Rational(count.unidentified, count.parameters) == Rational(size[2], 2 * size[0]))

    steps = [
        equal("query and key: D/(2E) is free", free / parameters, D / (2 * E)),
        equal("with value and output of the same size too", 2 * free / (2 * parameters), D / (2 * E)),
        equal("at D = E it is 1/2, for any number of heads", (free / parameters).subs(D, E), Rational(1, 2)),
        cases("the counting tool gives the same share, D up to E", sizes, counted),
    ]
    return proved("the counts of I-complete with any D ≤ E", steps)


claim = Claim(
    id="I-4.8.1",
    paper=Paper.IDENTIFICATION,
    place="Section 4.8.1",
    says="With a head size D that is not tied to E/H the unidentified share is D/(2E), for any number of "
    "heads; at D = E it is one half.",
    statement=[Eq(Symbol("unidentified") / Symbol("parameters"), D / (2 * E), evaluate=False)],
    hypotheses=["plain multi-head attention without biases, C = D ≤ E", "a generic point"],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["I-complete"],
    does_not_establish=["the share for D > E, where 2DE − E² numbers a head are free"],
)
