"""Q-4: with an upper bound H_0 on the number of heads, 4H_0d² − 2H_0 + 1 queries."""

from sympy import Eq, Symbol, symbols

from exactattn import ExactOracle, random_layer, recover
from exactattn.ledger import (
    Claim,
    Outcome,
    Paper,
    Verdict,
    cases,
    equal,
    holds,
    item_count,
    proved,
    yield_count,
)
from exactattn.recovery import Probe, PublishedPlan

H_0, d, K = symbols("H_0 d K", integer=True, positive=True)
slack = Symbol("H_0 - K", integer=True, nonnegative=True)
COUNT, LENGTH = 4 * H_0 * d**2 - 2 * H_0 + 1, 2 * H_0 + 1


def run_agrees(size: tuple[int, int, int]) -> bool:
    """An exact recovery with a loose bound finds the canonical heads with the queries of the bound."""
    heads, dim, bound = size
    layer = random_layer(heads, dim, seed=1)
    result = recover(ExactOracle(layer), heads=bound, seed=2)
    numbers = {H_0: bound, d: dim}
    asked = (result.queries, result.longest) == (COUNT.subs(numbers), LENGTH.subs(numbers))
    return result.matches(layer) and (asked or result.redraws > 0)


def establish() -> Outcome:
    copies = item_count(PublishedPlan.copies, {"self.heads": H_0})
    probes = yield_count(PublishedPlan._probes, {"self.dim": d, "self.rows": d})
    each = item_count(Probe.queries, {"self.copies": copies})
    total = item_count(
        PublishedPlan.queries, {"self.singles": 1, "self.probes": probes, "probe.queries()": each}
    )
    excess = 2 * (K + slack) - (K + (K + slack) - 1)
    steps = [
        equal("the plan for the bound has as many queries", total.expand(), COUNT),
        equal("at most 2H_0 copies and the last token", copies + 1, LENGTH),
        equal(
            "K true heads and up to H_0 others leave 2H_0 − (K + H_0 − 1) = H_0 − K + 1 answers to spare",
            excess,
            slack + 1,
        ),
        holds("at least one, so the answers decide", bool(excess.expand().is_positive), "sign", "sign"),
        cases(
            "exact runs with bounds that are too large (heads, d, bound)",
            [(1, 2, 2), (1, 2, 4), (2, 2, 3), (2, 2, 5), (1, 3, 3)],
            run_agrees,
        ),
    ]
    return proved("Q-3 with H_0 for H; the number of heads is that of the poles seen", steps)


claim = Claim(
    id="Q-4",
    paper=Paper.QUERIES,
    place="abstract",
    says="With only an upper bound H_0 on the number of heads, 4H_0d² − 2H_0 + 1 queries of at most 2H_0 + "
    "1 tokens suffice, with probability one.",
    statement=[Eq(2 * H_0 * (2 * d**2 - 1) + 1, COUNT, evaluate=False)],
    hypotheses=["those of Q-2 with at most H_0 canonical heads"],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["Q-2", "Q-3"],
    does_not_establish=["anything without a bound; a stranger with more heads can give the same answers"],
)
