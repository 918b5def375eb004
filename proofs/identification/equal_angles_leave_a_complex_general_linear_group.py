"""I-4.8-equal-angles: k planes rotated by one angle leave GL(k, C), of dimension 2k²."""

from sympy import Eq, I, Identity, MatrixSymbol, ZeroMatrix, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, equal, matrix_equal, proved

k = symbols("k", integer=True, positive=True)
c, s = symbols("c s", real=True)
# k planes with all first coordinates before all second ones: R = c + s J, S in blocks A, B, C, D
A, B, C, D = (MatrixSymbol(name, k, k) for name in "ABCD")
A2, B2 = MatrixSymbol("A'", k, k), MatrixSymbol("B'", k, k)
J, S = MatrixSymbol("J", 2 * k, 2 * k), MatrixSymbol("S", 2 * k, 2 * k)
one = Identity(k)


def establish() -> Outcome:
    # J = (0, −1; 1, 0): blocks of J S and S J
    left = ((-C, -D), (A, B))
    right = ((B, -A), (D, -C))
    differences = [
        (x - y).doit()
        for row, other in zip(left, right, strict=True)
        for x, y in zip(row, other, strict=True)
    ]
    solved = {C: -B, D: A}
    steps = [
        matrix_equal(
            "R = c + s J commutes with S where J does (s ≠ 0)",
            (c * Identity(2 * k) + s * J) * S - S * (c * Identity(2 * k) + s * J),
            s * (J * S - S * J),
        ),
        *(
            matrix_equal(f"block {n} of J S − S J vanishes for C = −B, D = A", part, ZeroMatrix(k, k), solved)
            for n, part in enumerate(differences, 1)
        ),
        matrix_equal("and only there: the first block is −(C + B)", differences[0], -(C + B)),
        matrix_equal("the second A − D", differences[1], A - D),
        matrix_equal(
            "blocks (A, B; −B, A) multiply like A + iB",
            (A + I * B) * (A2 + I * B2),
            (A * A2 - B * B2) + I * (A * B2 + B * A2),
        ),
        equal("A and B are free: 2k² numbers", 2 * one.shape[0] * one.shape[1], 2 * k**2),
        equal("for one plane 2, as in I-4.8-rope", (2 * k**2).subs(k, 1), 2),
    ]
    return proved("the matrices that commute with J are the complex k×k matrices A + iB", steps)


claim = Claim(
    id="I-4.8-equal-angles",
    paper=Paper.IDENTIFICATION,
    place="not claimed there; Proposition 4.8 where angles coincide",
    says="k rotation planes of one head with the same angle (and no other of that cosine) leave GL(k, C) "
    "free, of dimension 2k² instead of 2k.",
    statement=[Eq((c * Identity(2 * k) + s * J) * S, S * (c * Identity(2 * k) + s * J), evaluate=False)],
    hypotheses=["sin of the angle is not 0", "D ≤ E, W_Q and W_K of rank D", "distances 0 and 1 occur"],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["I-4.8-rope"],
    does_not_establish=["anything for opposite angles of one cosine (one of the planes read backwards)"],
)
