"""P-1: the head count does not change the number of attention parameters, 4d² + 4d with biases."""

from sympy import Eq, diff, symbols

from exactattn.allocate import PUBLISHED, layer_cost, schedule_cost
from exactattn.identify import AttentionSpec, count_layer
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, proved

d, h, s = symbols("d h s", positive=True)
BIASES = ("query_bias", "key_bias", "value_bias", "output_bias")


def establish() -> Outcome:
    # h heads of size s: three projections of s×d a head, and one d×s
    weights = 3 * h * (s * d) + h * (d * s)
    biases = 3 * h * s + d
    sizes = [(width, heads, bias) for width in (4, 12, 768) for heads in (1, 2, 4) for bias in (False, True)]

    def counted(size: tuple[int, int, bool]) -> bool:
        width, heads, bias = size
        spec = AttentionSpec.of(width, heads, **dict.fromkeys(BIASES, bias))
        return bool(count_layer(spec).parameters == layer_cost(width, heads, bias=bias).parameters)

    def same(name: str) -> bool:
        schedule = PUBLISHED[name]
        return all(
            schedule_cost(schedule, bias=bias).parameters
            == schedule_cost(schedule.uniform(), bias=bias).parameters
            for bias in (False, True)
        )

    steps = [
        equal("weights of h heads of size s = d/h", weights.subs(s, d / h), 4 * d**2),
        equal("their biases and the output's", biases.subs(s, d / h), 4 * d),
        equal("neither changes with h", diff((weights + biases).subs(s, d / h), h), 0),
        equal("the cost tool has the same numbers", layer_cost(d, h, bias=True).parameters, 4 * d**2 + 4 * d),
        cases("as has the counting tool of identification", sizes, counted),
        cases("the published schedules have the parameters of their uniform layouts", PUBLISHED, same),
    ]
    return proved("sizes of the four projections", steps)


claim = Claim(
    id="P-1",
    paper=Paper.SCHEDULES,
    place="accounting of parameters",
    says="A head schedule leaves the number of attention parameters unchanged: 4d² a layer, and 4d more with "
    "biases, whatever the head count.",
    statement=[Eq(3 * h * (s * d) + h * (d * s), 4 * d**2)],
    hypotheses=["plain multi-head attention, s = d/h for every h in the schedule"],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=["that as many parameters are identified (see P-6)"],
)
