"""Q-6-regions: around a long single token no neuron changes its sign."""

from itertools import product
from typing import NamedTuple

from flint import fmpq
from sympy import MatrixSymbol, Symbol, simplify, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, matrix_equal, proved
from exactattn.model.query import Query
from exactattn.model.random_transformer import random_transformer
from exactattn.model.relu_form import Blocks, ReluForm
from exactattn.model.transformer import stacked_outputs
from exactattn.numbers import LogLattice, Vector, dot, rational_vector
from exactattn.recovery.relu.regions import near

d = symbols("d", integer=True, positive=True)
W, b, u = MatrixSymbol("W", d, d), MatrixSymbol("b", d, 1), MatrixSymbol("u", d, 1)
LATTICE = LogLattice()


class Case(NamedTuple):
    form: ReluForm
    b: Vector
    u: Vector
    copies: int
    scale: int

    @property
    def shares(self) -> list[fmpq]:
        """q_h = m/(m + exp(b^T W_h u))."""
        found = []
        for matrix in self.form.matrices:
            row = tuple(dot(self.b, column) for column in zip(*matrix, strict=True))
            found.append(self.copies / (self.copies + LATTICE.exp(dot(row, self.u))))
        return found

    def bar(self, direction: Blocks) -> fmpq:
        return sum((dot(block, self.b) for block in direction), fmpq(0))

    @property
    def is_hypothesis(self) -> bool:
        """λ² |D̄_k·b| > |Σ_h q_h D_kh·u| for all k."""
        return all(
            self.scale**2 * abs(self.bar(D))
            > abs(sum((q * dot(block, self.u) for q, block in zip(self.shares, D, strict=True)), fmpq(0)))
            for _, D in self.form.kinks
        )

    @property
    def is_linear(self) -> bool:
        """F = v^A·Z there, with v^A = ½(v + Σ σ_k sgn(D̄_k·b) D_k), and z_h = λb − q_h u/λ."""
        query: Query = near(self.b, self.scale, [(self.u, self.copies)])
        Z = stacked_outputs(self.form.matrices, False, query, LATTICE)
        expected = [
            [self.scale * x - q * y / self.scale for x, y in zip(self.b, self.u, strict=True)]
            for q in self.shares
        ]
        parts = [(fmpq(1), self.form.linear)]
        parts += [(fmpq(sign if self.bar(D) > 0 else -sign), D) for sign, D in self.form.kinks]
        linear = sum(
            (c * x * z for c, rows in parts for row, values in zip(rows, Z, strict=True)
             for x, z in zip(row, values, strict=True)), fmpq(0)
        ) / 2  # fmt: skip
        return expected == Z and self.form.value(Z, LATTICE) == linear


def instances() -> list[Case]:
    found = []
    for (heads, dim, neurons), seed in product(((1, 2, 2), (2, 2, 4), (2, 3, 3)), (1, 2)):
        form = random_transformer(heads, dim, neurons, seed=seed).canonical()
        for j, copies, scale in product(range(3), (1, 3), (1, 4, 1 << 20)):
            centre = rational_vector([(5 * i + 3 * j) % 7 - 3 for i in range(dim)])
            other = rational_vector([(2 * i + j) % 5 - 1 for i in range(dim)])
            found.append(Case(form, centre, other, copies, scale))
    return found


def establish() -> Outcome:
    m, r, scale, x, y = (Symbol(name, positive=True) for name in ("m", "r", "lambda", "x", "y"))
    output = (r * scale * x + m * (scale * x - y / scale)) / (m + r)
    steps = [
        matrix_equal("relative scores do not depend on λ", (scale * b).T * W * (u / scale), b.T * W * u),
        equal(
            "z_h = λb − q_h u/λ, q_h = m/(m + r_h)", simplify(output - scale * x + m / (m + r) * y / scale), 0
        ),
        cases(
            "where λ² |D̄_k·b| > |Σ_h q_h D_kh·u| for all k, F is v^A·Z (small λ and zeros are vacuous)",
            instances(),
            lambda case: case.is_linear,
            lambda case: case.is_hypothesis,
        ),
    ]
    return proved(
        "m copies of λb − u/λ before λb have scores λb^T W_h(−u/λ) = −b^T W_h u relative to the last token, "
        "so z_h = λb − q_h u/λ with q_h = m/(m + r_h), r_h = exp(b^T W_h u), and λ D_k·Z = "
        "λ² D̄_k·b − Σ_h q_h D_kh·u has the sign of D̄_k·b; then |D_k·Z| = sgn(D̄_k·b) D_k·Z for every k",
        steps,
    )


claim = Claim(
    id="Q-6-regions",
    paper=Paper.QUERIES,
    place="not claimed there; a step of Q-6",
    says="If λ²|D̄_k·b| > |Σ_h q_h D_kh·u| for all k, then at m copies of λb − u/λ before λb F = v^A·Z with "
    "v^A = ½(v + Σ σ_k sgn(D̄_k·b) D_k), and z_h = λb − q_h u/λ, q_h = m/(m + exp(b^T W_h u)) for every λ.",
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=["how large λ must be for parameters that are not known"],
)
