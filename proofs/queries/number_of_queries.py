"""Q-3: exactly 4Hd² − 2H + 1 queries of at most 2H + 1 tokens."""

from itertools import product

from sympy import Eq, expand, symbols

from exactattn import ExactOracle, PublishedPlan, random_layer, recover
from exactattn.ledger import (
    Claim,
    Outcome,
    Paper,
    Verdict,
    cases,
    equal,
    item_count,
    proved,
    yield_count,
)
from exactattn.recovery import Probe, TokenRange

H, d = symbols("H d", integer=True, positive=True)
COUNT, LENGTH = 4 * H * d**2 - 2 * H + 1, 2 * H + 1


def drawn(heads: int, dim: int) -> PublishedPlan:
    return PublishedPlan.draw(heads, dim, seed=1, tokens=TokenRange.for_lattice(heads, dim))


def at(formula: object, heads: int, dim: int) -> int:
    return int(formula.subs({H: heads, d: dim}))  # type: ignore[attr-defined]


def run_agrees(size: tuple[int, int]) -> bool:
    """An exact recovery without redraws asks as many queries, and none longer."""
    result = recover(ExactOracle(random_layer(*size, seed=1)), heads=size[0], seed=2)
    return result.redraws == 0 and (result.queries, result.longest) == (at(COUNT, *size), at(LENGTH, *size))


def establish() -> Outcome:
    copies = item_count(PublishedPlan.copies, {"self.heads": H})
    probes = yield_count(PublishedPlan._probes, {"self.dim": d, "self.rows": d})
    each = item_count(Probe.queries, {"self.copies": copies})
    total = item_count(
        PublishedPlan.queries, {"self.singles": 1, "self.probes": probes, "probe.queries()": each}
    )
    sizes = list(product((1, 2, 3, 4), repeat=2))
    plans = [drawn(*size) for size in sizes]
    steps = [
        equal("the loops of the plan make 2d² − 1 probes", expand(probes), 2 * d**2 - 1),
        equal("each is asked with 2H numbers of copies", each, 2 * H),
        equal("with the single token b_1 that is", expand(total), COUNT),
        cases(
            "plans up to H = d = 4: as many queries, all distinct",
            plans,
            lambda plan: len(set(plan.queries())) == len(plan.queries()) == at(COUNT, plan.heads, plan.dim),
        ),
        cases(
            "rows and columns are d, there is one single query, and every probe has the plan's copies",
            plans,
            lambda plan: (
                plan.rows == plan.dim
                and len(plan.singles) == 1
                and all(probe.copies == plan.copies for probe in plan.probes)
            ),
        ),
        cases(
            "copies go from 1 to 2H, and m copies make m + 1 tokens, so the longest query has 2H + 1",
            plans,
            lambda plan: (
                [q.length for p in plan.probes for q in p.queries()]
                == [m + 1 for p in plan.probes for m in range(1, 2 * plan.heads + 1)]
            ),
        ),
        cases("exact runs ask exactly these", [(1, 1), (1, 3), (2, 2), (2, 3), (3, 2)], run_agrees),
    ]
    return proved(
        "the polynomial is read off the loops of the program that makes the plan, which depends on no answer",
        steps,
    )


claim = Claim(
    id="Q-3",
    paper=Paper.QUERIES,
    place="abstract",
    says="With H known, exactly 4Hd² − 2H + 1 value queries of at most 2H + 1 tokens suffice, with "
    "probability one.",
    statement=[Eq(2 * H * (2 * d**2 - 1) + 1, COUNT, evaluate=False)],
    hypotheses=["those of Q-2; no query vectors have to be drawn again"],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["Q-2"],
    does_not_establish=[
        "that this is the least number (it is not: H(d² + d) queries determine generic layers, theory, "
        "section 5)",
        "that the plan is the one of the paper, of which only the count was seen",
    ],
)
