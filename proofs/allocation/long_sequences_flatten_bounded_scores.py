"""A-2-long: with scores within ±c no weight among L keys exceeds e^(2c)/L."""

from itertools import product

from flint import fmpq
from sympy import Eq, exp, symbols

from exactattn.allocate import attention_row
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, positive, proved

L, c, z, M = symbols("L c z M", positive=True)


def establish() -> Outcome:
    sharp = z / (z + L - 1)
    gap = z * (z - 1) / (L * (z + L - 1))
    rows = [row for n in (1, 2, 3, 4) for row in product((-2, -1, 0, 1, 2), repeat=n)]

    def within(row: tuple[int, ...]) -> bool:
        largest, ratio = max(attention_row(row)), fmpq(2) ** (max(row) - min(row))
        return bool(largest <= ratio / (ratio + len(row) - 1) <= ratio / len(row))

    steps = [
        equal(
            "one score c beside L − 1 scores −c: weight z/(z + L − 1) with z = e^(2c)",
            exp(c) / (exp(c) + (L - 1) * exp(-c)),
            (exp(2 * c) / (exp(2 * c) + L - 1)),
        ),
        equal("z/L exceeds it by", z / L - sharp, gap),
        positive("not negative: no multiple M of it falls below −1", M * gap + 1, {M: 0, z: 1, L: 1}),
        cases("all rows of up to four scores of −2 … 2 times log 2", rows, within),
    ]
    return proved(
        "a weight grows with its own score and falls with all others, so it is largest at the ends", steps
    )


claim = Claim(
    id="A-2-long",
    paper=Paper.ALLOCATION,
    place="Theorem 5.1 as reported: bounded logits, weights of order 1/L",
    says="If all scores lie in [−c, c], every weight among L keys is at most e^(2c)/(e^(2c) + L − 1) "
    "≤ e^(2c)/L.",
    statement=[Eq(z / L - z / (z + L - 1), z * (z - 1) / (L * (z + L - 1)), evaluate=False)],
    hypotheses=["bounded scores; nothing else"],
    establish=establish,
    expected=Verdict.PROVED,
    does_not_establish=["that scores of trained models stay bounded as sequences grow"],
)
