"""I-complete-sizes: groups, rotations and biases leave nothing else unidentified, at listed sizes."""

from sympy import Eq, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict
from exactattn.ledger.rank_evidence import proved_counts

G, R, D, C = symbols("G R D C", integer=True, positive=True)
VARIANTS = (
    "mha E=4 H=2",
    "mha E=3 H=1 D=5 C=4",
    "gqa E=4 H=4 G=2 D=2 C=2",
    "mha E=4 H=2 D=2 C=2 R=all",
    "mha E=4 H=1 D=4 C=2 R=all",
    "gqa E=5 H=2 G=1 D=4 C=2 R=2",
    "mqa E=4 H=3 D=2 R=all",
    "mha E=4 H=2 bias=qkvo",
    "mha E=4 H=1 D=4 C=2 R=2 bias=k",
    "gqa E=6 H=2 G=1 D=2 C=3 R=all bias=qkv",
)


def establish() -> Outcome:
    return proved_counts(VARIANTS)


claim = Claim(
    id="I-complete-sizes",
    paper=Paper.IDENTIFICATION,
    place="not claimed there; Sections 4.7 to 4.9",
    says="The symmetries found for groups, rotary positions and biases are all: G(R + (D − R)²) + G·C² "
    "numbers and the "
    "biases without effect are unidentified, nothing else. With rotary positions, query, key and value "
    "biases and no "
    "output bias, every bias is identified.",
    statement=[Eq(symbols("unidentified"), G * (R + (D - R) ** 2) + G * C**2, evaluate=False)],
    hypotheses=["almost all parameters; generic angles, all distances and inputs", "causal attention"],
    establish=establish,
    expected=Verdict.PROVED_FOR,
    does_not_establish=["sizes that are not listed", "points that are not generic", "stacked layers"],
)
