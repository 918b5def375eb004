"""Q-6-crossings: a half-turn of single tokens crosses each neuron's hyperplane exactly once."""

from itertools import product

from flint import fmpq
from sympy import symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, proved
from exactattn.model.query import Query
from exactattn.model.random_transformer import random_transformer
from exactattn.numbers import LogLattice, dot, rational_vector
from exactattn.recovery.relu.paths import TokenPath
from exactattn.recovery.relu.pieces import meeting, place

SIZES = [(heads, dim, 4, seed) for (heads, dim), seed in product(((1, 2), (2, 2), (2, 3)), range(4))]


def crossed_once(size: tuple[int, int, int, int]) -> bool:
    """Signs before and after the one place differ and do not change elsewhere on a fine grid."""
    heads, dim, neurons, seed = size
    form = random_transformer(heads, dim, neurons, seed=seed).canonical()
    start = rational_vector([13, -7, 5][:dim])
    corner = rational_vector([4, 11, -3][:dim])
    for _, D in form.kinks:
        bar = tuple(sum(column, fmpq(0)) for column in zip(*D, strict=True))
        p, q = dot(bar, start), dot(bar, corner)
        t = meeting((p, q), (fmpq(0), fmpq(0)))
        if t is None or p * place(t)[0] + q * place(t)[1] != 0:
            return False
        for n in range(65):
            s = fmpq(n, 32)
            x, y = place(s)
            value = p * x + q * y
            if s != t and (value > 0) != ((p > 0) == (s < t)):
                return False
    return True


def shows_all_bends(size: tuple[int, int, int, int]) -> bool:
    """F at a single token is ½(v̄·b + Σ σ_k |D̄_k·b|), and F(2b) = 2F(b)."""
    heads, dim, neurons, seed = size
    model = random_transformer(heads, dim, neurons, seed=seed)
    path = TokenPath(rational_vector([13, -7, 5][:dim]), rational_vector([4, 11, -3][:dim]))
    form, lattice = model.canonical(), LogLattice()
    for n in range(9):
        b = path.token(fmpq(n, 4))
        bars = [
            tuple(sum(c, fmpq(0)) for c in zip(*D, strict=True))
            for D in (form.linear, *(D for _, D in form.kinks))
        ]
        expected = dot(bars[0], b)
        for (sign, _), bar in zip(form.kinks, bars[1:], strict=True):
            expected += sign * abs(dot(bar, b))
        value = model(Query.of([], b), lattice)
        if 2 * value != expected or model(Query.of([], tuple(2 * x for x in b)), lattice) != 2 * value:
            return False
    return True


def establish() -> Outcome:
    p, q = symbols("p q", real=True)
    steps = [
        equal("D̄·(−b0) = −D̄·b0: opposite signs at both ends", p * (-1) + q * 0, -(p * 1 + q * 0)),
        cases("each hyperplane is crossed once, at a rational place", SIZES, crossed_once),
        cases("on single tokens F = ½(v̄·b + Σ σ_k|D̄_k·b|), positively homogeneous", SIZES, shows_all_bends),
    ]
    return proved(
        "at a single token b every block of Z is b, so D_k·Z = D̄_k·b, on the path p(1 − t) + q t and then "
        "p(1 − t) + q(2 − t) with p = D̄_k·b0, q = D̄_k·c: a linear function on a half-plane that is traversed "
        "once, by angle. If p ≠ 0 its kernel is one ray of the open half-plane. For almost all b0 no p is 0 "
        "unless D̄_k is 0",
        steps,
    )


claim = Claim(
    id="Q-6-crossings",
    paper=Paper.QUERIES,
    place="not claimed there; a step of Q-6",
    says="On single tokens from b0 over c to −b0 each neuron with D̄_k·b0 ≠ 0 changes its sign exactly once, "
    "so F has at most as many bends there as neurons, and exactly as many if their places differ.",
    hypotheses=["d ≥ 2, b0 and c linearly independent"],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=["anything about a neuron whose blocks add up to 0: no single token shows it"],
)
