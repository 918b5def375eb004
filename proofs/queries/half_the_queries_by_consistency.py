"""Q-3-consistency: 2H(d² + d − 1) queries suffice with labels from check equations, without closeness."""

from sympy import expand, symbols

from exactattn import ExactOracle, random_layer, recover
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, positive, proved
from exactattn.recovery import TokenRange, consistency_count
from exactattn.recovery.methods.consistency_plan import ConsistencyPlan

H, d, r = symbols("H d r", positive=True)
TOKENS = TokenRange(last=6, difference=40, first=24)
SIZES = [(h, n, k) for h in (1, 2, 3) for n in range(1, 7) for k in range(1, n + 1)]
MODELS = [(1, 3), (2, 2), (3, 3), (2, 4)]


def plan_has_the_count(size: tuple[int, int, int]) -> bool:
    heads, dim, rank = size
    queries = ConsistencyPlan.draw(heads, dim, 1, TOKENS, rank=rank).queries()
    longest = max(query.length for query in queries)
    return len({q.key for q in queries}) == consistency_count(*size) and longest <= 2 * heads + 1


def recovered(size: tuple[int, int]) -> bool:
    layer = random_layer(*size, seed=1)
    result = recover(ExactOracle(layer), size[0], method="consistent")
    return result.matches(layer) and result.formula == consistency_count(*size)


def establish() -> Outcome:
    x, y, a, b = symbols("x y a b")
    probes = 1 + 2 * (d - 1) + (r - 1) * d + (d - r) * r
    full = 2 * H * (d**2 + d - 1)
    steps = [
        equal("one token a: R − y = x; one token −a: R' − y = 1/x", (x + y - y) * (1 / x + y - y), 1),
        equal(
            "their residues less y v·b, e = x v·a and e' = −v·a/x: e' x = −e (1/x)",
            (-a / x + y * b - y * b) * x,
            -(x * a + y * b - y * b) / x,
        ),
        equal("a row's base shows v·q = S/R", (y * b) / y, b),
        equal("its other probes: S = (R − y) v·p + y v·q", (x + y - y) * a + y * b, x * a + y * b),
        equal("probes in all", expand(probes), expand(2 * d * r - r**2 + d - 1)),
        equal("full rank", expand(2 * H * probes.subs(r, d)), expand(full)),
        positive("fewer than published for d ≥ 2", 4 * H * d**2 - 2 * H + 1 - full, {H: 1, d: 2}),
        cases("the plan as data, none longer than 2H + 1", SIZES, plan_has_the_count),
        cases("layers come back exactly", MODELS, recovered),
    ]
    return proved(
        "every probe shows poles and residues (Q-3); the check equation of the right head is an identity, "
        "and that of a wrong one an equation between analytic functions of the query vectors that are "
        "different for heads with different v, so it fails for generic vectors",
        steps,
    )


claim = Claim(
    id="Q-3-consistency",
    paper=Paper.QUERIES,
    place="not claimed there; about half of the published number",
    says="2H(d² + d − 1) value queries of length at most 2H + 1, fixed beforehand, determine the canonical "
    "heads; 2H(2dr − r² + d − 1) if they have rank r.",
    hypotheses=["an exact oracle", "query vectors generic", "no two canonical heads have the same v"],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["Q-1", "Q-3"],
    does_not_establish=[
        "the same for heads that share v: rows then cannot be linked, and the published method is used",
    ],
)
