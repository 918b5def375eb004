"""P-3: zero overhead: the key/value cache and the weights have the sizes of the uniform layout."""

from sympy import Eq, diff, symbols

from exactattn.allocate import PUBLISHED, HeadSchedule, layer_cost, schedule_cost
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, proved

d, h, T, s = symbols("d h T s", positive=True)


def establish() -> Outcome:
    schedules = [*PUBLISHED.values(), HeadSchedule.parse("1,2,3,6", 6), HeadSchedule.parse("4x2,2,1", 4)]

    def same(schedule: HeadSchedule) -> bool:
        own, uniform = schedule_cost(schedule), schedule_cost(schedule.uniform())
        return bool(own.cache == uniform.cache and own.parameters == uniform.parameters)

    steps = [
        equal(
            "a key and a value of size s for each head and token", (2 * h * s * T).subs(s, d / h), 2 * d * T
        ),
        equal("the cost tool has that number", layer_cost(d, h, T).cache, 2 * d * T),
        equal("it does not change with h", diff(layer_cost(d, h, T).cache, h), 0),
        equal(
            "stacked projections are d×d",
            [h * s.subs(s, d / h), layer_cost(d, h, T).parameters],
            [d, 4 * d**2],
        ),
        cases("cache and weights of five schedules, monotone or not", schedules, same),
    ]
    return proved("h heads of size d/h have d numbers together", steps)


claim = Claim(
    id="P-3",
    paper=Paper.SCHEDULES,
    place="zero overhead",
    says="A head schedule has no overhead in memory: weights and key/value cache have the sizes of the "
    "uniform layout.",
    statement=[Eq(2 * h * s * T, 2 * d * T)],
    hypotheses=["plain multi-head attention; every head count divides the width"],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["P-1"],
    does_not_establish=[
        "equal speed: the paper's own ablation reports 4.3 % and 8.3 % fewer tokens a second for heads of "
        "size 384",
        "the memory of score matrices while they are computed, h T² numbers a layer",
    ],
)
