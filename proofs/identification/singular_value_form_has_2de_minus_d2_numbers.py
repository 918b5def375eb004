"""I-4.2: the canonical form from the singular value decomposition, and its degrees of freedom."""

from sympy import Eq, Identity, MatrixSymbol, Rational, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, equal, matrix_equal, proved

D, E = symbols("D E", integer=True, positive=True)
W_Q, W_K = MatrixSymbol("W_Q", D, E), MatrixSymbol("W_K", D, E)
U, V = MatrixSymbol("U", E, D), MatrixSymbol("V", E, D)
root, Sigma = MatrixSymbol("Λ", D, D), MatrixSymbol("Σ", D, D)
A = MatrixSymbol("A", D, D)
one = Identity(D)
orthonormal = {U.T * U: one, V.T * V: one}
symmetric = (root, Sigma)


def establish() -> Outcome:
    form_Q, form_K = root * V.T, root * U.T
    squares = {root * root: Sigma}
    tangent = V * A * Rational(1, 2)
    numbers = D + 2 * (D * E - D * (D + 1) / 2)
    steps = [
        matrix_equal(
            "Λ Vᵀ and Λ Uᵀ, Λ² = Σ, have the product U Σ Vᵀ",
            form_K.T * form_Q,
            U * Sigma * V.T,
            squares,
            symmetric,
        ),
        matrix_equal(
            "both have the Gram matrix Σ (queries)",
            form_Q * form_Q.T,
            Sigma,
            {**squares, **orthonormal},
            symmetric,
        ),
        matrix_equal(
            "both have the Gram matrix Σ (keys)",
            form_K * form_K.T,
            Sigma,
            {**squares, **orthonormal},
            symmetric,
        ),
        matrix_equal(
            "VᵀV = 1 is D(D+1)/2 independent equations: its derivative reaches every symmetric A",
            V.T * tangent + tangent.T * V,
            A,
            orthonormal,
            (A,),
        ),
        equal("Σ, U and V have 2DE − D² free numbers", numbers, 2 * D * E - D**2),
        equal("as many as weights less changes of basis", numbers, 2 * D * E - D * D),
    ]
    return proved("singular value decomposition of W_KᵀW_Q; U and V on Stiefel manifolds", steps)


claim = Claim(
    id="I-4.2",
    paper=Paper.IDENTIFICATION,
    place="Lemma 4.2",
    says="Every query/key head is equivalent to one made of the singular value decomposition U Σ Vᵀ of its "
    "bilinear form, W_Q = Λ Vᵀ and W_K = Λ Uᵀ with Λ² = Σ, which has 2DE − D² degrees of freedom.",
    statement=[
        Eq(W_K.T * W_Q, U * Sigma * V.T, evaluate=False),
        Eq(W_Q, root * V.T, evaluate=False),
        Eq(W_K, root * U.T, evaluate=False),
        Eq(D + 2 * (D * E - D * (D + 1) / 2), 2 * D * E - D**2, evaluate=False),
    ],
    hypotheses=["D ≤ E, W_Q and W_K of rank D", "singular values distinct, for a form unique up to signs"],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["I-4.1", "I-4.1-converse"],
    does_not_establish=["a unique form where singular values coincide or vanish"],
)
