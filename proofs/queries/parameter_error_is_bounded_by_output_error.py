"""Q-5: approximate answers."""

from sympy import diff, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, equal, unknown

r, c, m = symbols("r c m", positive=True)


def establish() -> Outcome:
    steps = [
        equal(
            "an answer c/(m + r) moves with its coefficient by 1/(m + r)", diff(c / (m + r), c), 1 / (m + r)
        ),
        equal("and with its pole by −c/(m + r)²", diff(c / (m + r), r), -c / (m + r) ** 2),
    ]
    return unknown(
        "waits for the error constants (theory, section 6): a bound with explicit constants needs the "
        "inverse of this derivative for all heads together, and a radius in which it holds. So far only "
        "the derivative is checked",
        steps,
    )


claim = Claim(
    id="Q-5",
    paper=Paper.QUERIES,
    place="abstract; its conditions were not seen",
    says="With approximate answers the error of the recovered parameters is at most a constant, which "
    "depends on model and queries, times the error of the answers.",
    hypotheses=["those of Q-2", "the error of the answers is small enough"],
    establish=establish,
    expected=Verdict.UNKNOWN,
    does_not_establish=["any constant"],
)
