"""Q-6-bound: an upper bound on the number of neurons never suffices."""

from fractions import Fraction
from typing import Any

from flint import fmpq
from sympy import symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, differ, equal, holds, proved
from exactattn.model.query import Query
from exactattn.model.random_transformer import random_transformer
from exactattn.model.relu_form import Blocks, ReluForm
from exactattn.model.transformer import Neuron, Transformer
from exactattn.numbers import LogLattice, dot, rational_vector
from exactattn.oracle.transformer import TransformerOracle
from exactattn.recovery.relu import recover_transformer
from exactattn.recovery.relu.paths import TokenPath
from exactattn.recovery.relu.pieces import meeting

MODELS = [(1, 2, 2, 1), (2, 2, 3, 2), (2, 3, 3, 1)]  # heads, token size, neurons, seed
ETA = fmpq(1, 2)


def scaled(D: Blocks, c: Any) -> Blocks:
    return tuple(tuple(c * x for x in row) for row in D)


def added(D: Blocks, E: Blocks) -> Blocks:
    return tuple(tuple(x + y for x, y in zip(*rows, strict=True)) for rows in zip(D, E, strict=True))


def network(form: ReluForm, kinks: list[tuple[int, Blocks]]) -> Transformer:
    """½(v·Z + Σ σ|D·Z|) as neurons beside a linear path: |s| = 2 ReLU(s) − s."""
    linear = scaled(form.linear, fmpq(1, 2))
    for sign, D in kinks:
        linear = added(linear, scaled(D, fmpq(-sign, 2)))
    neurons = [Neuron(fmpq(sign), D) for sign, D in kinks]
    return Transformer.of(form.matrices, neurons, dim=form.dim, bypass=linear)


class Twin:
    """A recorded run with its right answer F, and F' with one neuron more that agrees on all of it."""

    def __init__(self, model: tuple[int, int, int, int]) -> None:
        heads, dim, neurons, seed = model
        teacher = random_transformer(heads, dim, neurons, seed=seed)
        result = recover_transformer(TransformerOracle(teacher), heads, neurons=neurons)
        self.form, self.right = result.form, result.matches(teacher)
        self.queries = [item.query for item in result.asked]
        self.answers = [item.answer for item in result.asked]
        self.queries += further_queries(dim)
        self.answers += [teacher(query, LogLattice()) for query in self.queries[len(self.answers) :]]
        (sign, D), *others = self.form.kinks
        e: Blocks = tuple(
            tuple(fmpq(1 + (3 * h + i) % 4) for i in range(dim)) for h in range(len(self.form.matrices))
        )
        for self.power in range(4, 65, 4):
            second = added(scaled(D, ETA), scaled(e, fmpq(1, 1 << self.power)))
            self.pair = added(D, second), second
            self.other = network(self.form, [(sign, self.pair[0]), (-sign, second), *others])
            if all(self.other(q, LogLattice()) == a for q, a in zip(self.queries, self.answers, strict=True)):
                return

    def between(self) -> Query:
        """A single token between the hyperplanes of D' and D''."""
        path = TokenPath(
            rational_vector([13, -7, 5][: self.form.dim]), rational_vector([4, 11, -3][: self.form.dim])
        )
        places = []
        for D in self.pair:
            bar = tuple(sum(column, fmpq(0)) for column in zip(*D, strict=True))
            t = meeting((dot(bar, path.start), dot(bar, path.corner)), (fmpq(0), fmpq(0)))
            places.append(fmpq(1) if t is None else t)
        return path.query(sum(places, fmpq(0)) / 2)


def further_queries(dim: int) -> list[Query]:
    tokens = [rational_vector([(7 * i + 5 * j) % 9 - 4 for i in range(dim)]) for j in range(12)]
    return [Query.of([(tokens[j], 1), (tokens[j + 1], 2)], tokens[j + 2]) for j in range(10)]


def establish() -> Outcome:
    s, t, eta = symbols("s t eta", positive=True)
    twins = [Twin(model) for model in MODELS]
    steps = [
        equal(
            "where D·Z and the shift have one sign: |D'·Z| − |D''·Z| = |D·Z|",
            (s + eta * s + t) - (eta * s + t),
            s,
        ),
        cases(
            "so too where |shift| < η|D·Z|, and where D·Z = 0",
            [(Fraction(x), Fraction(y, 8)) for x in range(-3, 4) for y in range(-3, 4)],
            lambda case: abs(case[0] + case[0] / 2 + case[1]) - abs(case[0] / 2 + case[1]) == abs(case[0]),
            lambda case: case[0] == 0 or abs(case[1]) < abs(case[0]) / 2,
        ),
    ]
    for (heads, dim, neurons, _), twin in zip(MODELS, twins, strict=True):
        name = f"H = {heads}, d = {dim}, K = {neurons}"
        count = len(twin.other.canonical().kinks)
        steps += [
            holds(f"{name}: the run ends with the right function", twin.right),
            equal(
                f"{name}: F' gives all {len(twin.queries)} answers of the run and of further queries",
                [twin.other(query, LogLattice()) for query in twin.queries],
                twin.answers,
            ),
            equal(f"{name}: F' has one neuron more (ε = 2^-{twin.power})", count, len(twin.form.kinks) + 1),
            differ(
                f"{name}: F' is another function",
                twin.other(twin.between(), LogLattice()),
                network(twin.form, list(twin.form.kinks))(twin.between(), LogLattice()),
            ),
        ]
    return proved(
        "replace ½σ|D·Z| by ½σ(|D'·Z| − |D''·Z|), D'' = ηD + εe, D' = D + D'', e not parallel to D. At a "
        "query with D·Z ≠ 0 both have its sign once ε|e·Z| < η|D·Z|, and where D·Z = 0 both are εe·Z: the "
        "value is the same, so for ε/η small at all queries of any finite set. F' is a network of K + 1 "
        "neurons with another canonical form. Take a method that is told only K ≤ K0, with K < K0, and "
        "halts on F with probability one. For every random seed there is an ε0 such that on F' with ε < ε0 "
        "it asks the same, gets the same answers and says the same as on F; so what it says on F' has, as "
        "ε → 0, the distribution of what it says on F. Different directions e give different F'. If it were "
        "right on each of m of them with probability p, it would say m different things on F with "
        "probability p each, up to an error that tends to 0: m p ≤ 1. As m is arbitrary, no p > 0 serves. "
        "All this holds for almost all F, η, ε and e, so excepting a set of networks of measure zero does "
        "not help",
        steps,
    )


claim = Claim(
    id="Q-6-bound",
    paper=Paper.QUERIES,
    place="not claimed there; why Q-6 needs more than a bound",
    says="No method that is told an upper bound K0 on the number of neurons, and no more about their "
    "number or kinks, halts with probability one and is right with a fixed positive probability on all "
    "networks with at most K0 neurons, not even on almost all of them.",
    hypotheses=[
        "finitely many value queries, chosen in any way, also at random",
        "some network has fewer neurons than K0",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["Q-6-canonical"],
    does_not_establish=[
        "anything about methods that know K exactly, or a spacing of kinks",
        "that the networks on which such a method fails are likely under a given distribution",
    ],
)
