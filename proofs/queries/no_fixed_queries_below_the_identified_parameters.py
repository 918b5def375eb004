"""Q-3-lower: no fixed queries, fewer than identified parameters, tell all layers of an open set."""

from fractions import Fraction
from itertools import product

from sympy import Symbol, exp, expand, symbols

from exactattn.identify import AttentionSpec, count_layer
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, proved
from exactattn.recovery.counts import matrix_count

d, r = symbols("d r", positive=True, integer=True)
SIZES = [(n, k) for n in range(1, 7) for k in range(1, n + 1)]
# one head, d = 1, one token a before the last token b: it gives v (b + e a)/(1 + e), e = exp(b W (a − b))
PAIRS = [
    (a, b, e) for a, b, e in product(range(-3, 4), range(-3, 4), (Fraction(1, 4), Fraction(2), Fraction(8)))
]


def two_layers_one_answer(instance: tuple[int, int, Fraction]) -> bool:
    """Below two queries (d = 1, H = 1, N = 2): another W with another v gives the same answer."""
    a, b, e = instance
    value = Fraction(b + a * e) / (1 + e)
    other = Fraction(b + a * e**2) / (1 + e**2)
    v = value / other
    return v * other == value and e != e**2 and v != 0


def is_hypothesis(instance: tuple[int, int, Fraction]) -> bool:
    a, b, e = instance
    return b not in (0, a) and b + a * e != 0 and b + a * e**2 != 0


def establish() -> Outcome:
    s, t = Symbol("s", real=True), Symbol("t", real=True)
    steps = [
        equal(
            "outputs are analytic in the parameters: exponentials of bilinear scores over a positive sum",
            exp(s) / (exp(s) + exp(t)),
            1 / (1 + exp(t - s)),
        ),
        equal(
            "a matrix of rank r near a generic one is r rows and r columns: 2dr − r² free numbers",
            expand(r * d + r * (d - r)),
            expand(2 * d * r - r**2),
        ),
        cases(
            "the exact count of identified parameters of query and key weights of head size r says the same",
            SIZES,
            lambda size: (
                count_layer(AttentionSpec.of(width=size[0], heads=1, head_size=size[1])).identified
                == 2 * matrix_count(*size)
            ),
        ),
        cases(
            "the smallest size, N = 2: one query leaves two layers",
            PAIRS,
            two_layers_one_answer,
            is_hypothesis,
        ),
    ]
    return proved(
        "let N be the number of identified parameters and take an open set of canonical layers in its "
        "chart R^N (rows and columns of each W_h, and v_h). For fixed queries X_1 … X_q the map from "
        "parameters to answers is continuous. If it were injective on the open set and q < N, its "
        "composition with the inclusion R^q ⊂ R^N would be a continuous injection of an open subset of R^N "
        "into R^N with an image inside a proper subspace, which is not open: invariance of domain forbids "
        "it. So two layers of the open set give the same answers, whatever the decoder does. A randomised "
        "choice of queries is a mixture of fixed ones. If later queries are continuous functions of "
        "earlier answers, the map from parameters to answers is still continuous and the same argument "
        "applies",
        steps,
    )


claim = Claim(
    id="Q-3-lower",
    paper=Paper.QUERIES,
    place="not claimed there; lower bound for Q-3-optimal",
    says="With fewer value queries than identified parameters, H(2dr − r² + d), no method whose queries "
    "are fixed beforehand, deterministic or random, or depend continuously on earlier answers, "
    "determines all layers of any open set of parameters.",
    hypotheses=["answers are the exact real values of the layer", "each query gives one number"],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["Q-1"],
    does_not_establish=[
        "anything about methods whose next query depends discontinuously on earlier answers",
        "anything about layers with parameters from a discrete set, where one real number can hold them all",
        "that almost all layers cannot be told apart: only that not all of an open set can",
    ],
)
