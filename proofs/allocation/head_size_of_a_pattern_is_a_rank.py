"""A-1-pattern: a head of size d shows a pattern P if and only if log P without row constants has rank ≤ d."""

from sympy import Eq, Identity, MatrixSymbol, ZeroMatrix, exp, eye, log, symbols

from exactattn.allocate import AttentionPattern
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, matrix_equal, proved, trace_equal

n, d = symbols("n d", integer=True, positive=True)
L, S = MatrixSymbol("log P", n, n), MatrixSymbol("S", n, n)
Q, K = MatrixSymbol("Q", n, d), MatrixSymbol("K", n, d)
one, shift = MatrixSymbol("u", n, 1), MatrixSymbol("s", n, 1)
CENTRE = Identity(n) - one * one.T / n
ONES = {one.T * one: n * Identity(1)}
x, s, Z, log_2 = symbols("x s Z log_2", real=True)


def establish() -> Outcome:
    planted = [
        [[1, 2, 0], [2, 4, 0], [-1, -2, 0]],
        [[0, 1, 2, 0], [-1, 0, 3, 0], [-2, -3, 0, 0], [0, 0, 0, 0]],
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[5, 5], [7, 7]],
    ]

    def realised(scores: list[list[int]]) -> bool:
        pattern = AttentionPattern.softmax(scores)
        found = pattern.factors()
        exponents = (found.query * found.key.T / log(2)).tolist()
        same = AttentionPattern.softmax([[int(x) for x in row] for row in exponents])
        return same == pattern and found.size == pattern.head_size

    def needs_all(size: int) -> bool:
        return AttentionPattern.softmax(eye(size).tolist()).head_size == size - 1

    steps = [
        matrix_equal("constants of rows vanish", (S + shift * one.T) * CENTRE, S * CENTRE, ONES),
        matrix_equal(
            "so softmax(Q Kᵀ) = P gives log P (1 − uuᵀ/n) = Q ((1 − uuᵀ/n) K)ᵀ, of rank at most d",
            (Q * K.T + shift * one.T) * CENTRE,
            Q * (CENTRE * K).T,
            ONES,
        ),
        matrix_equal(
            "conversely log P is Q Kᵀ = log P (1 − uuᵀ/n) up to constants of rows",
            L * CENTRE + (L * one / n) * one.T,
            L,
            ONES,
        ),
        equal("and a constant in a row changes no weight", exp(x + s) / (exp(s) * Z), exp(x) / Z),
        matrix_equal("1 − uuᵀ/n is a projection", CENTRE * CENTRE, CENTRE, ONES),
        matrix_equal("that kills the vector of ones", CENTRE * one, ZeroMatrix(n, 1), ONES),
        trace_equal("tr(uuᵀ) = tr(uᵀu) = n", one * one.T, one.T * one),
        equal("so its trace, and rank, is n − n/n = n − 1: d = n − 1 always suffices", n - n / n, n - 1),
        matrix_equal(
            "and log P = log 2 · 1 up to constants has that rank: it becomes log 2 times the projection",
            log_2 * Identity(n) * CENTRE,
            log_2 * CENTRE,
        ),
        cases("the tool finds n − 1 for it", range(2, 8), needs_all),
        cases("patterns of ranks 1, 2, 2 and 0 come back from factors of that size", planted, realised),
    ]
    return proved("rank of a product, both directions, for all n and d", steps)


claim = Claim(
    id="A-1-pattern",
    paper=Paper.ALLOCATION,
    place="not claimed there; what a head dimension can express",
    says="A positive row-stochastic n×n pattern is softmax(Q Kᵀ) of a head of size d if and only if "
    "rank(log P (1 − uuᵀ/n)) ≤ d, u the vector of ones; n − 1 always suffices, and some patterns need it.",
    statement=[Eq(L * CENTRE, Q * (CENTRE * K).T, evaluate=False)],
    hypotheses=["Q and K are free: the n tokens are in general position, so that W_Q and W_K can make them"],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=[
        "that one head shows several patterns for several inputs (the known theorem for all inputs asks "
        "d ≥ n)",
        "anything about patterns that are matched only approximately",
    ],
)
