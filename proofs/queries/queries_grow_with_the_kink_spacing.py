"""Q-6-spacing: log(1/δ) queries are necessary, even with all heads and the number of neurons known."""

from flint import fmpq
from sympy import symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, proved
from exactattn.model.query import Query
from exactattn.model.transformer import Neuron, Transformer, head_output
from exactattn.numbers import LogLattice, rational_vector

N = 31
EPSILON = fmpq(1, N)
MATRIX = (rational_vector([1, -2]), rational_vector([0, 3]))


def teacher(theta: int) -> Transformer:
    """ReLU(β·z) − ReLU((β + εe)·z) with β = (1, −θε) and e = (0, 1): its wedge is θε − ε < z_1/z_2 < θε."""
    beta = [fmpq(1), -theta * EPSILON]
    return Transformer.of(
        [MATRIX],
        [Neuron.of(1, [beta]), Neuron.of(-1, [[beta[0], beta[1] + EPSILON]])],
        dim=2,
    )


TEACHERS = {theta: teacher(theta) for theta in range(1, N + 1)}


def queries() -> list[Query]:
    found = [Query.of([], (fmpq(2 * k + 1, 2 * N), fmpq(1))) for k in range(-3, N + 3)]
    found += [Query.of([], (fmpq(k, N), fmpq(-1))) for k in range(-N, 2, 5)]
    tokens = [rational_vector([(5 * j) % 7 - 3, (3 * j) % 5 - 1]) for j in range(14)]
    return found + [Query.of([(tokens[j], 1), (tokens[j + 1], 3)], tokens[j + 2]) for j in range(12)]


def is_ternary(query: Query) -> bool:
    """All teachers but at most one answer 0 or −ε z_2, and which of them depends on the side alone."""
    lattice = LogLattice()
    z = head_output(MATRIX, query, lattice)
    left, right = fmpq(0), -EPSILON * z[1]
    others = 0
    for theta, model in TEACHERS.items():
        first, second = z[0] - theta * EPSILON * z[1], z[0] - (theta - 1) * EPSILON * z[1]
        value = model(query, lattice)
        if first <= 0 and second <= 0:
            expected = left
        elif first >= 0 and second >= 0:
            expected = right
        else:
            others += 1
            continue
        if value != expected:
            return False
    return others <= 1


def halves(query: Query) -> bool:
    """Some answer is common to at least (N − 1)/2 teachers."""
    values = [model(query, LogLattice()) for model in TEACHERS.values()]
    return 2 * max(values.count(value) for value in set(values)) >= N - 1


def establish() -> Outcome:
    k = symbols("k", integer=True, positive=True)
    steps = [
        cases("each answer is a ternary comparison", queries(), is_ternary),
        cases("each answer leaves half of the teachers but one", queries(), halves),
        cases(
            "the teachers are different functions with two neurons",
            [(x, y) for x in TEACHERS for y in range(1, x)],
            lambda pair: (
                not TEACHERS[pair[0]].same_function(TEACHERS[pair[1]])
                and len(TEACHERS[pair[0]].canonical().kinks) == 2
            ),
        ),
        equal("n → (n − 1)/2 takes 2^k − 1 to 2^(k−1) − 1", (2**k - 1 - 1) / 2, 2 ** (k - 1) - 1),
    ]
    return proved(
        "outside its wedge, of width ε in z_1/z_2, teacher θ answers 0 or −ε z_2, on one side or the other; "
        "the N = 1/ε open wedges are disjoint, so at any query all teachers but at most one answer by the "
        "side alone. An opponent who always keeps the larger side keeps at least (n − 1)/2 of n teachers "
        "that agree with all answers so far; to be left with one takes at least log2(N + 1) − 1 queries. For "
        "a random method: in a binary tree whose nodes find one teacher each, 2^k − 1 teachers have mean "
        "depth at least k − 2, so on a uniformly random teacher, and then on some teacher, any method that "
        "is always right asks at least log2(N + 1) − 2 queries in the mean. On a fixed path the two kinks "
        "of a teacher are of order ε apart",
        steps,
    )


claim = Claim(
    id="Q-6-spacing",
    paper=Paper.QUERIES,
    place="not claimed there; lower bound for Q-6",
    says="Even for one head with a known matrix, token size 2 and two neurons, methods that are always right "
    "need at least log2(1/ε) − 2 queries (in the mean, if they are random) on networks whose kinks are of "
    "order ε apart.",
    hypotheses=["each query gives one exact number"],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=[
        "that O(K log 1/δ) queries of the walk are the fewest for more neurons",
        "anything about networks whose kinks are far apart",
    ],
)
