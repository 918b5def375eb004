"""Q-1: two layers answer all value queries alike if and only if they have the same canonical form."""

from itertools import combinations_with_replacement, product

from sympy import Eq, Identity, MatMul, MatrixSymbol, cancel, exp, symbols

from exactattn import Attention, Head, LogLattice, PublishedPlan, evaluate
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, matrix_equal, proved
from exactattn.recovery import TokenRange

d = symbols("d", integer=True, positive=True)
W, M = MatrixSymbol("W", d, d), MatrixSymbol("W_h − W_g", d, d)
a, b, z, v1, v2 = (MatrixSymbol(name, d, 1) for name in ("a", "b", "z", "v", "v'"))
m, x, r, q, c = symbols("m x r q c", positive=True)
s_a, s_b, of_a, of_b = symbols("s_a s_b v_a v_b", real=True)


def one_head() -> tuple[object, object]:
    """The value of one head at m copies of a before b, and as constant less a term with one pole."""
    value = (m * exp(s_a) * of_a + exp(s_b) * of_b) / (m * exp(s_a) + exp(s_b))
    return value, of_b - m * (of_b - of_a) / (m + exp(s_b - s_a))


def small_layers() -> list[Attention]:
    """All layers of at most two heads of token size 1 with entries −1, 0, 1."""
    heads = [Head.of([[w]], [v]) for w, v in product((-1, 0, 1), repeat=2)]
    return [Attention.of(pair) for pair in combinations_with_replacement(heads, 2)]


def establish() -> Outcome:
    plan = PublishedPlan.draw(heads=2, dim=1, seed=1, tokens=TokenRange(1, 3))
    layers = small_layers()
    values = {
        layer: tuple(evaluate(layer, query, LogLattice()) for query in plan.queries()) for layer in layers
    }
    pairs = [(first, second) for n, first in enumerate(layers) for second in layers[:n]]
    steps = [
        matrix_equal(
            "heads with one W read the same mean z, so their v add", v1.T * z + v2.T * z, (v1 + v2).T * z
        ),
        equal("m copies of a before b: one head is v·b − m c/(m + r)", *one_head()),
        matrix_equal("r = exp(bᵀW(b − a)) and c = v·(b − a)", b.T * W * b - b.T * W * a, b.T * W * (b - a)),
        equal("times (m + r), at m = −r, its own term gives c", cancel((x + r) * c / (x + r)).subs(x, -r), c),
        equal("and a term with another pole gives 0", ((x + r) * c / (x + q)).subs(x, -r), 0),
        matrix_equal(
            "bᵀ(W_h − W_g)u read at all unit vectors b, u is W_h − W_g: it vanishes everywhere only for "
            "W_h = W_g",
            MatMul(Identity(d), M, Identity(d)),
            M,
        ),
        cases(
            "all 45 layers of two heads, d = 1, entries −1, 0, 1: equal answers at one plan, equal "
            "canonical form",
            pairs,
            lambda pair: pair[0].same_function(pair[1]),
            lambda pair: values[pair[0]] == values[pair[1]],
        ),
        cases(
            "and equal canonical form, equal answers",
            pairs,
            lambda pair: values[pair[0]] == values[pair[1]],
            lambda pair: pair[0].same_function(pair[1]),
        ),
    ]
    return proved(
        "separation by poles: equal answers at all m make equal rational functions of m; distinct W have "
        "distinct poles for almost all (b, u), so poles and coefficients match head by head; finitely many "
        "matchings cover an open set of (b, u), so one of them covers an open set and, being equations "
        "between polynomials, all",
        steps,
    )


claim = Claim(
    id="Q-1",
    paper=Paper.QUERIES,
    place="abstract",
    says="What value queries determine is the canonical form: heads with equal W merged by adding their v, "
    "heads with v = 0 dropped, order forgotten. Layers with the same canonical form, and only those, "
    "answer alike.",
    statement=[Eq(*one_head(), evaluate=False)],
    hypotheses=["real W and v, tokens any real vectors, sequences of any length"],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=[
        "how many queries suffice (see Q-2 and Q-3)",
        "anything for a restricted set of tokens",
    ],
)
