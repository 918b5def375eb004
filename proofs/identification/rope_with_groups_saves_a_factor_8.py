"""I-4.9-figures: the printed numbers for rotary positions with 64 heads in 8 groups of size 128."""

from sympy import Eq, Rational, Symbol

from exactattn.identify import count_model, parse_variant
from exactattn.ledger import Claim, Counterexample, Outcome, Paper, Verdict, differ, equal, refuted

H, G, D = 64, 8, 128


def free(words: str) -> int:
    """Free query/key numbers of a layer of width 8192, by the counting tool."""
    count = count_model(parse_variant(f"{words} E=8192 H={H} D={D}")).layers[0].count
    return count.number(next(p for p in count.parts if p.name == "query/key").unidentified)


def establish() -> Outcome:
    plain, grouped, both = free("mha"), free(f"gqa G={G}"), free(f"gqa G={G} R=all")
    steps = [
        equal("plain: H·D²", plain, H * D**2),
        equal("in groups: G·D²", grouped, G * D**2),
        equal("in groups with rotations: G·D", both, G * D),
        equal("the printed numbers are the first two", [plain, grouped], [1048576, 131072]),
        differ("131 072 is not the number with rotations", both, 131072),
        differ("the factor is not 8", Rational(plain, both), 8),
        equal("it is 1024", Rational(plain, both), 1024),
    ]
    counterexample = Counterexample(
        "rotations leave 1 024 free numbers, not 131 072",
        {"H": H, "G": G, "D": D, "H·D²": plain, "G·D²": grouped, "G·D": both},
        "the statement is about this one layer",
    )
    return refuted("exact arithmetic", steps, counterexample)


claim = Claim(
    id="I-4.9-figures",
    paper=Paper.IDENTIFICATION,
    place="Section 4.9, example",
    says="With rotary positions and 64 heads in 8 groups of size 128 there are 131 072 unidentified "
    "query/key numbers a layer instead of 1 048 576, a factor of 8.",
    statement=[Eq(Symbol("unidentified"), 131072, evaluate=False)],
    hypotheses=["rotations of all D dimensions by distinct angles"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="With rotary positions there are G·D = 1 024, a factor of 1 024; 131 072 = G·D² and the "
    "factor 8 belong to groups without rotations.",
    depends_on=["I-4.8-rope", "I-4.9"],
    does_not_establish=["the numbers of a layer that rotates only a part of its dimensions"],
)
