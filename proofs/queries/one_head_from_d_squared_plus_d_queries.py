"""Q1-4.1: one head from d² + d queries."""

from flint import fmpq, fmpq_mat
from sympy import Eq, Identity, MatrixSymbol, exp, symbols

from exactattn import Attention, Head, LogLattice, Query, evaluate, random_layer, token
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, matrix_equal, proved
from exactattn.numbers import dot

d = symbols("d", integer=True, positive=True)
s, t, v_j, c = symbols("s t v_j c", real=True)
W, U, iU = MatrixSymbol("W", d, d), MatrixSymbol("U", d, d), MatrixSymbol("U⁻¹", d, d)
u, e = MatrixSymbol("u", d, 1), MatrixSymbol("e_j", d, 1)
# tokens u + e_j and e_j, the last one asking; t is the difference of their scores, c = v·u
ANSWER = (exp(s + t) * (v_j + c) + exp(s) * v_j) / (exp(s + t) + exp(s))


class Recorder:
    """Answers of a layer on the log-lattice, counted."""

    def __init__(self, layer: Attention) -> None:
        self.layer, self.asked = layer, 0

    def __call__(self, query: Query) -> fmpq:
        self.asked += 1
        value: fmpq = evaluate(self.layer, query, LogLattice())
        return value


def learned(ask: Recorder, dim: int) -> Head:
    """The head behind the answers; v must not be 0."""
    unit = [[fmpq(int(i == j)) for i in range(dim)] for j in range(dim)]
    v = [ask(Query.of([], token(*e_j))) for e_j in unit]
    other = next(k for k, x in enumerate(v) if x != 0)
    # a basis of directions u with v·u ≠ 0
    basis = [
        e_i if x != 0 else [a + b for a, b in zip(e_i, unit[other], strict=True)]
        for e_i, x in zip(unit, v, strict=True)
    ]
    rows = []
    for j, e_j in enumerate(unit):
        logits = []
        for u_i in basis:
            first = [a + b for a, b in zip(u_i, e_j, strict=True)]
            weight = (ask(Query.of([(token(*first), 1)], token(*e_j))) - v[j]) / dot(tuple(v), tuple(u_i))
            logits.append(LogLattice().log(weight / (1 - weight)))
        # logits are e_jᵀ W u_i for all i
        solved = fmpq_mat(basis).solve(fmpq_mat([[x] for x in logits]))
        rows.append([solved[k, 0] for k in range(dim)])
    return Head.of(rows, v)


def recovered(layer: Attention) -> bool:
    ask = Recorder(layer)
    return learned(ask, layer.dim) == layer.heads[0] and ask.asked == layer.dim**2 + layer.dim


def establish() -> Outcome:
    weight = exp(t) / (1 + exp(t))
    layers = [random_layer(1, dim, seed=seed) for dim in (1, 2, 3, 4) for seed in range(5)]
    layers += [
        Attention.of([Head.of([[1, 2], [3, 4]], [0, 1])]),
        Attention.of([Head.of([[1, 2], [3, 4]], [0, 0])]),
    ]
    steps = [
        equal("the answer is v_j + σ(t) v·u", ANSWER, v_j + weight * c),
        equal("whose logit is t again", weight / (1 - weight), exp(t)),
        matrix_equal("t = e_jᵀW u", e.T * W * (u + e) - e.T * W * e, e.T * W * u),
        matrix_equal(
            "a basis of directions u, the rows of U, gives W", (W * U.T) * iU.T, W, {iU * U: Identity(d)}
        ),
        equal("d single tokens, d directions at each of d tokens", d + d * d, d**2 + d),
        cases(
            "exact recovery from d² + d answers, v ≠ 0",
            layers,
            recovered,
            lambda layer: any(x != 0 for x in layer.heads[0].v),
        ),
    ]
    return proved("an explicit method; directions are chosen after v is known", steps)


claim = Claim(
    id="Q1-4.1",
    paper=Paper.SINGLE_HEAD_QUERIES,
    place="Theorem 4.1",
    says="One head (W, v) with v ≠ 0 is recovered exactly from d² + d value queries of at most two tokens.",
    statement=[Eq(ANSWER, v_j + exp(t) / (1 + exp(t)) * c, evaluate=False)],
    hypotheses=["v is not 0 (otherwise W is in no answer)", "exact answers"],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=["the same for several heads (theory, section 5: H(d² + d) for generic layers)"],
)
