"""A-2-truncation: dropping singular values moves a head's output by at most tanh(σ X Y/2) · diameter."""

from itertools import product

from flint import fmpq, fmpq_mat
from sympy import Eq, Identity, MatrixSymbol, symbols

from exactattn.ledger import (
    Claim,
    Outcome,
    Paper,
    Verdict,
    cases,
    equal,
    matrix_equal,
    positive,
    proved,
    trace_equal,
)

E, k = symbols("E k", integer=True, positive=True)
U, V = MatrixSymbol("U", E, k), MatrixSymbol("V", E, k)
T = MatrixSymbol("Σ", k, k)
x, y = MatrixSymbol("x", E, 1), MatrixSymbol("y", E, 1)
ORTHOGONAL = {U.T * U: Identity(k), V.T * V: Identity(k)}
a, b = MatrixSymbol("a", k, 1), MatrixSymbol("b", k, 1)
tail, s, M, moved, plus, minus = symbols("sigma_i s M T m_+ m_-", positive=True)

# a rotation with rational entries, and singular values 3, 2, 1
ROTATION = fmpq_mat(3, 3, [fmpq(v, 3) for v in (2, -1, 2, 2, 2, -1, -1, 2, 2)])
VALUES = (3, 2, 1)


def establish() -> Outcome:
    rest = x.T * (Identity(E) - U * U.T).T * (Identity(E) - U * U.T) * x
    grid = [v for v in product(range(-2, 3), repeat=3) if any(v)]

    def bounded(pair: tuple[tuple[int, ...], ...], rank: int = 1) -> bool:
        """The exact square of xᵀ(W − W_r)y against σ² |x|² |y|²."""
        left, right = (fmpq_mat(3, 1, list(v)) for v in pair)
        kept = fmpq_mat(3, 3, [v if i == j >= rank else 0 for i in range(3) for j, v in enumerate(VALUES)])
        change = (left.transpose() * ROTATION * kept * ROTATION.transpose() * right)[0, 0]
        lengths = (left.transpose() * left)[0, 0] * (right.transpose() * right)[0, 0]
        return bool(change * change <= VALUES[rank] ** 2 * lengths)

    def reached(rank: int) -> bool:
        column = fmpq_mat(3, 1, [ROTATION[i, rank] for i in range(3)])
        kept = fmpq_mat(3, 3, [v if i == j >= rank else 0 for i in range(3) for j, v in enumerate(VALUES)])
        change = (column.transpose() * ROTATION * kept * ROTATION.transpose() * column)[0, 0]
        return bool(change == VALUES[rank] * (column.transpose() * column)[0, 0])

    steps = [
        matrix_equal(
            "the score change is (Uᵀx)ᵀ Σ (Vᵀy), Σ the dropped values",
            x.T * U * T * V.T * y,
            (U.T * x).T * T * (V.T * y),
        ),
        matrix_equal(
            "|Uᵀx|² = |x|² − |x − U Uᵀx|², so |Uᵀx| ≤ |x|, and likewise for y",
            x.T * x - rest,
            (U.T * x).T * (U.T * x),
            ORTHOGONAL,
        ),
        trace_equal(
            "Cauchy and Schwarz by Lagrange's identity: |abᵀ − baᵀ|² = 2|a|²|b|² − 2(a·b)²",
            (a * b.T - b * a.T).T * (a * b.T - b * a.T),
            [2 * a.T * a * b.T * b, -2 * a.T * b * a.T * b],
        ),
        positive(
            "σ_{r+1}² − σ_i² is not negative for σ_{r+1} = σ_i + s: no multiple M of it falls below −1",
            M * ((tail + s) ** 2 - tail**2) + 1,
            {M: 0, tail: 0, s: 0},
        ),
        equal(
            "the output moves by T (m₊ − m₋): means of values over gaining and losing keys",
            moved * plus - moved * minus,
            moved * (plus - minus),
        ),
        cases("score changes of a 3×3 head of values 3, 2, 1, exactly", product(grid, grid), bounded),
        cases("reached by the next singular vectors, for each rank", range(3), reached),
    ]
    return proved(
        "Cauchy–Schwarz with the dropped singular values gives ε = σ_{r+1} X Y, A-2 gives the attention, and "
        "both means of values lie in their convex hull, whose diameter is that of the values",
        steps,
    )


claim = Claim(
    id="A-2-truncation",
    paper=Paper.ALLOCATION,
    place="Corollary 5.1 (truncated singular values; its formula was not available here)",
    says="Keeping r singular values of a head's query/key matrix changes scores by at most ε = "
    "σ_{r+1} X Y on tokens with |x| ≤ X and |y| ≤ Y, and its output by at most tanh(ε/2) times the "
    "diameter of the values.",
    statement=[
        Eq(
            x.T * x - x.T * (Identity(E) - U * U.T).T * (Identity(E) - U * U.T) * x,
            (U.T * x).T * (U.T * x),
            evaluate=False,
        )
    ],
    hypotheses=["plain softmax attention; scores xᵀ W y up to a constant for each query", "σ_1 ≥ σ_2 ≥ …"],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["A-2"],
    does_not_establish=[
        "that the next singular value is small: on tokens out of a layer norm X Y is about the width, and "
        "the spectra of trained heads are flat",
        "what a change in one layer does to the layers above it",
    ],
)
