"""P-5: "25 to 30 tokens per parameter"."""

from sympy import And, Rational, Symbol

from exactattn.ledger import Claim, Counterexample, Outcome, Paper, Verdict, equal, holds, refuted

# tokens and parameters as printed, in units of their last digit, times that unit
MODELS = {"124M": (288, 10**7, 124), "354M": (1049, 10**7, 354), "757M": (2097, 10**7, 757)}
HALF = Rational(1, 2)
ratio = Symbol("r")


def bounds(name: str) -> tuple[Rational, Rational]:
    """Least and largest ratio of numbers that round to the printed ones."""
    tokens, unit, millions = MODELS[name]
    low = (tokens - HALF) * unit / ((millions + HALF) * 10**6)
    high = (tokens + HALF) * unit / ((millions - HALF) * 10**6)
    return low, high


def establish() -> Outcome:
    small = Rational(288 * 10**7, 124 * 10**6)
    steps = [
        equal("2.88 billion tokens for 124 million parameters", small, Rational(720, 31)),
        holds(
            "below 25 however the two numbers were rounded", bool(bounds("124M")[1] < 25), str(bounds("124M"))
        ),
        *(
            holds(f"{name}: between 25 and 30", bool(low >= 25 and high <= 30), f"{low} to {high}")
            for name in ("354M", "757M")
            for low, high in (bounds(name),)
        ),
    ]
    counterexample = Counterexample(
        "the 124M model has 720/31 ≈ 23.2 tokens a parameter",
        {"tokens": 288 * 10**7, "parameters": 124 * 10**6, "ratio": small, "at most": bounds("124M")[1]},
        "the only one of the three models outside the range",
    )
    return refuted("exact division, with the rounding of the printed numbers", steps, counterexample)


claim = Claim(
    id="P-5",
    paper=Paper.SCHEDULES,
    place="training set-up",
    says="The three models were trained on 25 to 30 tokens a parameter.",
    statement=[And(ratio >= 25, ratio <= 30)],
    hypotheses=["tokens and parameters as printed: 2.88, 10.49 and 20.97 billion; 124, 354 and 757 million"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="The 354M and 757M models were; the 124M model had 23.2 tokens a parameter.",
    does_not_establish=["what difference the amount of data makes"],
)
