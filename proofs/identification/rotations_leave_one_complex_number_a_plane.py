"""I-4.8-rope: with rotary positions the query/key freedom is (C^×)^(D/2), of dimension D."""

from sympy import (
    Eq,
    Identity,
    MatMul,
    Matrix,
    MatrixSymbol,
    Transpose,
    cos,
    eye,
    kronecker_product,
    simplify,
    sin,
    symbols,
)

from exactattn.ledger import Claim, Outcome, Paper, Verdict, equal, matrix_equal, proved

D, E = symbols("D E", integer=True, positive=True)
R, S, W = (MatrixSymbol(name, D, D) for name in ("R", "S", "M"))
W_Q, W_K = MatrixSymbol("W_Q", D, E), MatrixSymbol("W_K", D, E)
iQ, iK = MatrixSymbol("(W_QW_Qᵀ)⁻¹", D, D), MatrixSymbol("(W_KW_Kᵀ)⁻¹", D, D)
SAME = Eq(MatMul(Transpose(MatMul(S.I.T, W_K)), R, S, W_Q), W_K.T * R * W_Q, evaluate=False)
theta, phi = symbols("theta phi", real=True)
p, q, r, s = symbols("p q r s", real=True)


def turn(angle: object) -> Matrix:
    return Matrix([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])


def establish() -> Outcome:
    block = Matrix([[p, q], [r, s]])
    commutator = turn(theta) * block - block * turn(theta)
    # X ↦ R_θ X − X R_φ on 2×2 blocks, as a 4×4 matrix
    between = kronecker_product(turn(theta), eye(2)) - kronecker_product(eye(2), turn(phi).T)
    complex_numbers = Matrix([[p, -q], [q, p]]) * Matrix([[r, -s], [s, r]])
    steps = [
        matrix_equal("S that commutes with R keeps every rotated score", SAME.lhs, SAME.rhs, {R * S: S * R}),
        matrix_equal("and all powers of R: R² S = S R²", R * R * S, S * R * R, {R * S: S * R}),
        matrix_equal(
            "W_KᵀM W_Q determines M, so an S that keeps the scores at distances 0 and 1 has S⁻¹ R S = R",
            iK * W_K * (W_K.T * W * W_Q) * W_Q.T * iQ,
            W,
            {iK * W_K * W_K.T: Identity(D), W_Q * W_Q.T * iQ: Identity(D)},
        ),
        matrix_equal("that is R S = S R", S * (S.I * R * S), R * S),
        equal(
            "between planes of different cosine only 0 commutes: determinant 4(cos φ − cos θ)²",
            simplify(between.det()),
            4 * (cos(phi) - cos(theta)) ** 2,
        ),
        equal(
            "within a plane the commutator is sin θ times four entries",
            commutator,
            sin(theta) * Matrix([[-(q + r), p - s], [p - s, q + r]]),
        ),
        equal(
            "they vanish for q = −r, p = s: the block is p + r i",
            commutator.subs({q: -r, s: p}),
            Matrix.zeros(2),
        ),
        equal(
            "such blocks multiply like complex numbers",
            complex_numbers,
            Matrix([[p * r - q * s, -(p * s + q * r)], [p * s + q * r, p * r - q * s]]),
        ),
        equal(
            "their determinant is |p + q i|²: invertible unless 0",
            Matrix([[p, -q], [q, p]]).det(),
            p**2 + q**2,
        ),
        equal("D/2 planes of 2 numbers: dimension D", 2 * (D / 2), D),
    ]
    return proved(
        "the S that keep all scores are the invertible matrices that commute with R (I-4.1-converse and "
        "two distances); block by block, for any number of planes",
        steps,
    )


claim = Claim(
    id="I-4.8-rope",
    paper=Paper.IDENTIFICATION,
    place="Proposition 4.8",
    says="With rotary positions the changes of basis that keep all query/key scores of a head are "
    "(C^×)^(D/2), one complex number a rotation plane, of dimension D instead of D².",
    statement=[SAME, Eq(R * S, S * R, evaluate=False)],
    hypotheses=[
        "all D dimensions are rotated, by angles with distinct cosines and sines that are not 0 (as θ_i = "
        "base^(−2i/D), which lie in (0, 1])",
        "D ≤ E, W_Q and W_K of rank D; at least the distances 0 and 1 occur",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["I-4.1-converse"],
    does_not_establish=[
        "that the scores at all distances are determined by the outputs (see I-complete-sizes)",
        "the same for angles that coincide (see I-4.8-equal-angles) or for partial rotations "
        "(I-4.8-partial-rope)",
    ],
)
