"""A-2: attention moves by at most tanh(ε/2) when scores move by at most ε, and that is sharp."""

from itertools import product

from sympy import Eq, exp, log, simplify, symbols, tanh

from exactattn.allocate import attention_row, extremal_rows, sharp_bound, total_variation
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, positive, proved

p, t, a, b, w = symbols("p t a b omega", positive=True)
P, R, lost, gained = symbols("P_A P_B alpha beta", positive=True)
up, down, square, k, M = symbols("s_+ s_- s k M", positive=True)
MOVED = p * t**2 / (1 - p + p * t**2)


def establish() -> Outcome:
    gap = (t - 1) * (1 - p * (t + 1)) ** 2 / ((t + 1) * (1 + p * (t**2 - 1)))
    odds_gap = w * (P * gained + lost * R) / (R * (R + gained))
    rows = list(product(range(0, 5, 2), repeat=3))
    pairs = [(x, y) for x in rows for y in rows]

    def within(pair: tuple[tuple[int, ...], tuple[int, ...]]) -> bool:
        return total_variation(*(attention_row(row) for row in pair)) <= sharp_bound(*pair)

    def reached(sizes: tuple[int, int]) -> bool:
        before, after = extremal_rows(*sizes)
        return total_variation(attention_row(before), attention_row(after)) == sharp_bound(before, after)

    steps = [
        equal(
            "half the sum of |q − p| is the gain of the growing weights, less half of gains − losses = 0",
            (up + down) / 2,
            up - (up - down) / 2,
        ),
        equal(
            "with e^δ = e^max − α' on growing keys and e^min + β' on the others, odds grow by at most "
            "ω̂ = e^(max − min): ω̂ P_A/P_B − ω̂ (P_A − α)/(P_B + β) is",
            w * P / R - w * (P - lost) / (R + gained),
            odds_gap,
        ),
        positive(
            "not negative: scaled to P_B = 1, no multiple M of it falls below −1",
            M * odds_gap.subs(R, 1) + 1,
            {M: 0, w: 1, P: 0, lost: 0, gained: 0},
        ),
        equal("with t² = ω̂ the bound exceeds the gain of weight by", (t - 1) / (t + 1) - (MOVED - p), gap),
        positive(
            "not negative either: for t = 1 + k, with any s ≥ 0 for the square",
            M * gap.subs((1 - p * (t + 1)) ** 2, square).subs(t, 1 + k) + 1,
            {M: 0, k: 0, p: 0, square: 0},
        ),
        equal("and 0 at p = 1/(t + 1)", gap.subs(p, 1 / (t + 1)), 0),
        equal(
            "(t − 1)/(t + 1) = tanh(ω/4) at t = e^(ω/2)",
            simplify(tanh(a / 4).rewrite(exp).subs(a, 2 * log(t)) - (t - 1) / (t + 1)),
            0,
        ),
        equal("the best shift leaves half the spread: max − (max + min)/2", a - (a + b) / 2, (a - b) / 2),
        cases("all pairs of three scores of 0, 2, 4 times log 2 obey it", pairs, within),
        cases(
            "and it is reached with 2, 3 and 5 keys, for ε = k log 2",
            list(product((1, 2, 3, 8), (2, 3, 5))),
            reached,
        ),
    ]
    return proved(
        "odds of the growing keys are multiplied by at most e^ω, ω = 2ε the spread of the changes; the "
        "largest change of a weight with given odds ratio is an identity with a square",
        steps,
    )


claim = Claim(
    id="A-2",
    paper=Paper.ALLOCATION,
    place="saturation of softmax (its Theorem 5.1, whose formula was not available here)",
    says="If all scores of a row change by at most ε after a common shift, its attention changes by at most "
    "tanh(ε/2) in total variation; no smaller constant holds. In terms of the spread ω = 2ε: tanh(ω/4).",
    statement=[
        Eq(
            MOVED - p + (t - 1) * (1 - p * (t + 1)) ** 2 / ((t + 1) * (1 + p * (t**2 - 1))),
            (t - 1) / (t + 1),
            evaluate=False,
        )
    ],
    hypotheses=["any number of keys, any real scores", "ε is the maximum norm after the best common shift"],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=[
        "the same bound for the spread itself: tanh(ω/2) is true but not sharp",
        "that scores of trained models change little",
    ],
)
