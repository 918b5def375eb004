"""I-4.8-fig1: the millions of unidentified parameters in Figure 1."""

from sympy import Rational, floor

from exactattn.identify import count_model, parse_variant
from exactattn.ledger import Claim, Counterexample, Outcome, Paper, Verdict, cases, differ, equal, refuted

HEAD_SIZES = (32, 64, 128, 256)
PRINTED = (Rational("0.26"), Rational("1.05"), Rational("4.20"), Rational("16.8"))
ATTENTION = (Rational("12.6"), Rational("25.2"), Rational("50.4"), Rational("100.9"))


def free(size: int) -> int:
    """Free query/key numbers in 24 layers of 8 heads of this size and width 512, by the counting tool."""
    layer = count_model(parse_variant(f"mha E=512 H=8 D={size} layers=24")).layers[0]
    part = next(p for p in layer.count.parts if p.name == "query/key")
    return 24 * layer.count.number(part.unidentified)


def millions(number: int, digits: int) -> Rational:
    """Rounded to so many digits after the point."""
    return Rational(floor(Rational(number, 10**6) * 10**digits + Rational(1, 2)), 10**digits)


def establish() -> Outcome:
    counts = [free(size) for size in HEAD_SIZES]
    steps = [
        equal("24·8·D² query/key numbers are free", counts, [24 * 8 * size**2 for size in HEAD_SIZES]),
        equal(
            "in millions",
            [millions(c, 3) for c in counts],
            [Rational(t) for t in ("0.197", "0.786", "3.146", "12.583")],
        ),
        differ("which are not the printed ones", [millions(c, 2) for c in counts], list(PRINTED)),
        equal(
            "with value and output twice as many",
            [millions(2 * c, 2) for c in counts],
            [Rational(t) for t in ("0.39", "1.57", "6.29", "25.17")],
        ),
        differ("which are not the printed ones either", [millions(2 * c, 2) for c in counts], list(PRINTED)),
        cases(
            "while the attention parameters printed beside them are those of this model, 4·24·8·512·D, up "
            "to a quarter million",
            list(zip(HEAD_SIZES, ATTENTION, strict=True)),
            lambda row: abs(Rational(4 * 24 * 8 * 512 * row[0], 10**6) - row[1]) <= Rational(1, 4),
        ),
        cases(
            "the printed ones are 32·8·D², those of 32 layers",
            list(zip(HEAD_SIZES, PRINTED, strict=True)),
            lambda row: abs(Rational(32 * 8 * row[0] ** 2, 10**6) - row[1]) <= Rational(1, 40),
        ),
    ]
    counterexample = Counterexample(
        "already the first of the four",
        {
            "layers": 24,
            "heads": 8,
            "D": 32,
            "free query/key numbers": counts[0],
            "printed, in millions": PRINTED[0],
        },
        "the statement is about these four numbers, and all four are wrong by the factor 4/3",
    )
    return refuted("exact arithmetic", steps, counterexample)


claim = Claim(
    id="I-4.8-fig1",
    paper=Paper.IDENTIFICATION,
    place="Section 4.8, Figure 1",
    says="A model of 24 layers, 8 heads and width 512 has 0.26, 1.05, 4.20 and 16.8 million unidentified "
    "parameters at head sizes 32, 64, 128 and 256.",
    hypotheses=["plain multi-head attention without biases", "query and key parameters only"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="Query and key have 0.197, 0.786, 3.15 and 12.6 million unidentified parameters there, twice "
    "that with value and output; the printed numbers belong to 32 layers.",
    depends_on=["I-complete"],
    does_not_establish=["how the printed numbers came about"],
)
