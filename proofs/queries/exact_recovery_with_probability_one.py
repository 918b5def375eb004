"""Q-2: random queries recover the canonical heads exactly with probability one."""

from sympy import Eq, Identity, Inverse, MatMul, MatrixSymbol, Transpose, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, equal, holds, matrix_equal, proved

d, H = symbols("d H", integer=True, positive=True)
b, b1, u, u1 = (MatrixSymbol(name, d, 1) for name in ("b_i", "b_1", "u_j", "u_1"))
W_h, W_g, W_k, W = (MatrixSymbol(name, d, d) for name in ("W_h", "W_g", "W_k", "W"))
v_h, v_g, v_k, v = (MatrixSymbol(name, d, 1) for name in ("v_h", "v_g", "v_k", "v"))
B, U, iB, iU = (MatrixSymbol(name, d, d) for name in ("B", "U", "B⁻¹", "U⁻¹"))
# scores of one head at all (b_i, u_j)
L = MatrixSymbol("L", d, d)
one = Identity(d)


def establish() -> Outcome:
    inverses = {iB * B: one, U * iU: one, B * iB: one, iU * U: one}
    degree = H + H - 1
    steps = [
        equal(
            "two layers of at most H heads: the numerator of G' − G has degree at most 2H − 1",
            degree,
            2 * H - 1,
        ),
        holds(
            "fewer than the 2H numbers of copies, so G' = G everywhere",
            bool((2 * H - degree).is_positive),
            "sign",
            "sign",
        ),
        matrix_equal(
            "poles of heads h, g meet where bᵀ(W_h − W_g)u = 0",
            b.T * W_h * u - b.T * W_g * u,
            b.T * (W_h - W_g) * u,
        ),
        matrix_equal(
            "column probes: scores of h and g add up to one of k where a bilinear form of u_1 and one of "
            "u_j cancel",
            b.T * W_h * u1 + b.T * W_g * u - b.T * W_k * (u1 + u),
            b.T * (W_h - W_k) * u1 + b.T * (W_g - W_k) * u,
        ),
        matrix_equal(
            "row probes: likewise in b_1 and b_i",
            b1.T * W_h * u + b.T * W_g * u - (b1 + b).T * W_k * u,
            b1.T * (W_h - W_k) * u + b.T * (W_g - W_k) * u,
        ),
        matrix_equal(
            "such a form is 0 for all vectors only if its matrix is: unit vectors read it off, so only for "
            "h = k = g",
            MatMul(one, W_h - W_k, one),
            W_h - W_k,
        ),
        matrix_equal(
            "assembly: B⁻¹(B W Uᵀ)U⁻ᵀ = W, from scores at all (b_i, u_j)",
            iB * (B * W * U.T) * iU.T,
            W,
            inverses,
        ),
        matrix_equal("and U⁻¹(U v) = v from residues", iU * (U * v), v, inverses),
    ]
    return proved(
        "each condition (B and U invertible, poles distinct, residues v_h·u not 0, labels unique) says "
        "that a polynomial in the query vectors, not identically 0 for canonical heads, is not 0; finitely "
        "many such zero sets have measure zero. Where all hold, the poles of each probe are those of the "
        "heads (Q-1), sums label them, and W and v are solved for",
        steps,
    )


claim = Claim(
    id="Q-2",
    paper=Paper.QUERIES,
    place="abstract",
    says="For every layer, query vectors drawn from a density make the published queries determine the "
    "canonical heads exactly, up to order, with probability one.",
    statement=[
        Eq(L, B * W * U.T, evaluate=False),
        Eq(W, MatMul(Inverse(B), L, Transpose(Inverse(U))), evaluate=False),
    ],
    hypotheses=[
        "an exact oracle and exact computation with real numbers",
        "at most H canonical heads",
        "query vectors b_1 … b_d, u_1 … u_d with a joint density",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["Q-1"],
    does_not_establish=[
        "how probable success is for vectors from a finite range (each run checks its own: Q-2-runs)",
        "anything about rounded or noisy answers (see Q-5)",
    ],
)
