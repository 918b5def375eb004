"""A-1: under a fixed budget more heads mean more identified parameters and a lower rank of each head."""

from sympy import Eq, Lt, diff, symbols

from exactattn.allocate import budget_line, identified_formula, pareto_front
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, positive, proved

E, B, d, k = symbols("E B d k", positive=True)
H = B / d


def establish() -> Outcome:
    parameters = 2 * H * d * E
    identified = identified_formula(E, H, d)
    fewer = identified - identified.subs(d, d + k)
    splits = [(width, budget) for width in (4, 6, 12, 64) for budget in (1, 4, 12, 64, 60)]

    def no_split_dominates(sizes: tuple[int, int]) -> bool:
        points = [p for p in budget_line(*sizes) if p.head_size <= p.width]
        return len(pareto_front(points)) == len(points)

    steps = [
        equal("query/key parameters are 2EB however the budget is split", parameters, 2 * E * B),
        equal("and do not change with the head size", diff(parameters, d), 0),
        equal("identified are 2EB − B d", identified, 2 * E * B - B * d),
        equal("k more dimensions a head cost B k identified parameters", fewer, B * k),
        positive("which is a loss", B * k, {B: 1, k: 1}),
        equal("one head for the whole budget: 2EB − B²", identified.subs(d, B), 2 * E * B - B**2),
        equal("heads of size 1: 2EB − B", identified.subs(d, 1), 2 * E * B - B),
        cases("no split of the budget into sizes up to E dominates another", splits, no_split_dominates),
    ]
    return proved(
        "the rank of a head's scores is at most d and rises with d, the identified parameters of I-4.2 fall "
        "by B for each dimension: every split is on the Pareto front",
        steps,
    )


claim = Claim(
    id="A-1",
    paper=Paper.ALLOCATION,
    place="abstract, trade-off between the number of heads and their dimension",
    says="With H·d = B fixed in a layer of width E, the query/key parameters stay 2EB, 2EB − B·d of them are "
    "identified, and a head's scores have rank at most d: more heads buy identified parameters with rank.",
    statement=[
        Eq(identified_formula(E, H, d), 2 * E * B - B * d, evaluate=False),
        Lt(identified_formula(E, B / (d + k), d + k), identified_formula(E, H, d), evaluate=False),
    ],
    hypotheses=[
        "plain heads without rotations or norms, d ≤ E, d divides B",
        "two measures only: rank of one head's scores, and identified parameters",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["I-4.2"],
    does_not_establish=[
        "the approximation bounds of the paper, whose formulas were not available here",
        "which split trains to a lower loss",
    ],
)
