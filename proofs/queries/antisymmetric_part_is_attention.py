"""Q-6-antisymmetric: F(X) − F(−X) is a layer of attention."""

from itertools import product

from sympy import Abs, MatrixSymbol, Symbol, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, matrix_equal, proved
from exactattn.model.query import Query
from exactattn.model.random_transformer import random_transformer
from exactattn.model.relu_form import flat
from exactattn.model.transformer import stacked_outputs
from exactattn.numbers import LogLattice, rational_vector
from exactattn.recovery.relu.heads import negated

d = symbols("d", integer=True, positive=True)
W, x, y = MatrixSymbol("W", d, d), MatrixSymbol("x", d, 1), MatrixSymbol("y", d, 1)
MODELS = [(heads, dim, residual, bypass) for heads, dim in ((1, 2), (2, 2), (2, 3))
          for residual, bypass in product((False, True), repeat=2)]  # fmt: skip


def is_attention(size: tuple[int, int, bool, bool]) -> bool:
    heads, dim, residual, bypass = size
    model = random_transformer(heads, dim, 4, seed=5, residual=residual, bypass=bypass)
    form, lattice = model.canonical(), LogLattice()
    tokens = [rational_vector([(3 * i + 4 * j) % 7 - 3 for i in range(dim)]) for j in range(5)]
    found = []
    for j in range(3):
        query = Query.of([(tokens[j], 2), (tokens[j + 1], 1)], tokens[j + 2])
        z = [
            value
            for block in stacked_outputs(form.matrices, form.residual, query, lattice)
            for value in block
        ]
        linear = sum(a * b for a, b in zip(flat(form.linear), z, strict=True))
        found.append(model(query, lattice) - model(negated(query), lattice) == linear)
    return all(found)


def establish() -> Outcome:
    s = Symbol("s", real=True)
    steps = [
        matrix_equal("scores of −X are those of X", (-x).T * W * (-y), x.T * W * y),
        equal("|−s| = |s|, so only the linear part is left", Abs(-s), Abs(s)),
        cases("F(X) − F(−X) = v·Z(X) for random teachers", MODELS, is_attention),
    ]
    return proved(
        "−X has the scores, so the softmax weights, of X, hence Z(−X) = −Z(X) and "
        "F(X) − F(−X) = ½(v·Z + v·Z) + ½ Σ σ_k(|D_k·Z| − |D_k·Z|) = v·Z",
        steps,
    )


claim = Claim(
    id="Q-6-antisymmetric",
    paper=Paper.QUERIES,
    place="not claimed there; a step of Q-6",
    says="For attention followed by a bias-free ReLU network, F(X) − F(−X) = v·Z(X), v = 2ℓ + Σ a_k β_k: one "
    "layer of attention, with the same matrices, whatever the network.",
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=["anything about heads with v_h = 0, which this part does not show"],
)
