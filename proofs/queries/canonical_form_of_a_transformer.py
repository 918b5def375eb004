"""Q-6-canonical: the canonical form of attention followed by a ReLU network, and that it is unique."""

from flint import fmpq
from sympy import Abs, Symbol, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, proved
from exactattn.model.query import Query
from exactattn.model.random_transformer import random_transformer
from exactattn.model.transformer import Neuron, Transformer
from exactattn.numbers import LogLattice, to_matrix

SEEDS = range(6)
LATTICE = LogLattice()


def rewritten(model: Transformer) -> Transformer:
    """Neurons rescaled, split and reversed with a linear path: the same function, written differently."""
    neurons = []
    linear = [[fmpq(0)] * model.dim for _ in model.neurons[0].beta]
    for k, n in enumerate(model.neurons):
        if k % 3 == 0:  # a ReLU(s) = a/2 ReLU(2s)
            neurons.append(Neuron(n.a / 2, tuple(tuple(2 * x for x in row) for row in n.beta)))
        elif k % 3 == 1:  # a = a/3 + 2a/3
            neurons += [Neuron(n.a / 3, n.beta), Neuron(2 * n.a / 3, n.beta)]
        else:  # ReLU(s) = s + ReLU(−s)
            neurons.append(Neuron(n.a, tuple(tuple(-x for x in row) for row in n.beta)))
            linear = [[x + n.a * y for x, y in zip(*rows, strict=True)]
                      for rows in zip(linear, n.beta, strict=True)]  # fmt: skip
    return Transformer.of(
        model.matrices, neurons[::-1], dim=model.dim, residual=model.residual, bypass=linear
    )


def queries(dim: int) -> list[Query]:
    tokens = [tuple(fmpq((7 * i + 5 * j + 3) % 9 - 4) for i in range(dim)) for j in range(6)]
    return [Query.of([(tokens[j], j + 1), (tokens[j + 1], 1)], tokens[j + 2]) for j in range(4)]


def full_rank(seed: int) -> bool:
    """Moving further tokens y moves Z in all H·d directions: e^{w·y}(e_i + (y − z_h)(w_h)_i) has full rank,
    here with w_h = W_h^T b and 2^s for e^s (exponents are integers, and the argument is the same)."""
    model = random_transformer(2, 2, 1, seed=seed)
    b = (fmpq(1), fmpq(2))
    w = [tuple(sum(x * y for x, y in zip(b, column, strict=True)) for column in zip(*W, strict=True))
         for W in model.matrices]  # fmt: skip
    z = [(fmpq(1, 3), fmpq(2)), (fmpq(-1), fmpq(1, 2))]
    rows = []
    for y in ((0, 1), (1, 0), (1, 1), (2, -1), (-1, 2)):
        for i in range(2):
            row = []
            for wh, zh in zip(w, z, strict=True):
                weight = LATTICE.exp(sum((x * c for x, c in zip(wh, y, strict=True)), fmpq(0)))
                row += [weight * ((i == j) + (y[j] - zh[j]) * wh[i]) for j in range(2)]
            rows.append(tuple(row))
    return bool(to_matrix(rows).rank() == 4)


def establish() -> Outcome:
    s, c = Symbol("s", real=True), Symbol("c", real=True)
    positive, t = symbols("p", positive=True), Symbol("t", real=True)
    steps = [
        cases("ReLU(s) = (s + |s|)/2", range(-5, 6), lambda n: 2 * max(0, n) == n + abs(n)),
        equal("parallel directions merge: |c s| = |c| |s|", Abs(c * s), Abs(c) * Abs(s)),
        equal("a positive factor moves through a neuron", Abs(positive * t), positive * Abs(t)),
        cases(
            "networks written differently have one canonical form and the same values",
            SEEDS,
            lambda seed: (
                rewritten(random_transformer(2, 2, 5, seed=seed)).same_function(
                    random_transformer(2, 2, 5, seed=seed)
                )
                and all(
                    rewritten(random_transformer(2, 2, 5, seed=seed))(query, LATTICE)
                    == random_transformer(2, 2, 5, seed=seed)(query, LATTICE)
                    for query in queries(2)
                )
            ),
        ),
        cases(
            "different canonical forms have different values somewhere",
            [(x, y) for x in SEEDS for y in range(x)],
            lambda pair: any(
                random_transformer(2, 2, 3, seed=pair[0])(query, LATTICE)
                != random_transformer(2, 2, 3, seed=pair[1])(query, LATTICE)
                for query in queries(2)
            ),
        ),
        cases("moving tokens moves Z in all directions", SEEDS, full_rank),
    ]
    return proved(
        "existence: ReLU(s) = (s + |s|)/2 gives v = 2ℓ + Σ a_k β_k, D_k = |a_k| β_k, σ_k = sign a_k; equal "
        "matrices and parallel directions merge. Uniqueness: take the matrices of both forms together, and b "
        "with all w_h = W_h^T b different. If Σ_h e^{w_h·y} c_h·(δ + (y − z_h)(w_h·δ)) = 0 for all y and δ, "
        "then for each h, since exponentials with different w_h are linearly independent over polynomials, "
        "c_h (w_h·δ) = 0 for all δ, and then c_h·δ = 0, so c_h = 0: at a sequence repeated often enough, "
        "with H·d further tokens in general position, moving these moves Z in all directions (and moving b "
        "moves the last block). For a direction D ≠ 0, D·Z is analytic, odd in X and not 0, so along an "
        "analytic path from X to −X it changes its sign at an isolated place; repeated often, with further "
        "tokens that are in general position there, it still does. So some X has D·Z(X) = 0 where Z covers a "
        "neighbourhood. Inside the hyperplane D·z = 0 move off the other hyperplanes of both forms: F has a "
        "bend of size |D| with sign σ exactly if D (with σ) is one of its directions. So both forms have the "
        "same kinks; what is left, (v − v')·Z = 0 on an open set of values of Z, gives v = v'",
        steps,
    )


claim = Claim(
    id="Q-6-canonical",
    paper=Paper.QUERIES,
    place="not claimed there; up to what Q-6 can recover",
    says="Attention followed by a bias-free ReLU network is F = ½(v·Z + Σ σ_k|D_k·Z|) with different W_h, no "
    "two D_k parallel and no dead head, and the function determines this form: W_h, v, and the σ_k with the "
    "±D_k, up to order.",
    hypotheses=["sequences of any length are inputs", "real parameters; a residual block is allowed"],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["Q-1"],
    does_not_establish=["how many queries show it", "uniqueness for sequences of bounded length"],
)
