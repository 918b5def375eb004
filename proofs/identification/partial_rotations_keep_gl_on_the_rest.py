"""I-4.8-partial-rope: rotations of R of D dimensions leave R + (D − R)² free numbers."""

from sympy import Eq, Matrix, Symbol, cos, expand, eye, simplify, sin, symbols

from exactattn.identify import count_model, parse_variant
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, proved

D, R, G = symbols("D R G", integer=True, positive=True)
theta = symbols("theta", real=True)


def establish() -> Outcome:
    turn = Matrix([[cos(theta), -sin(theta)], [sin(theta), cos(theta)]])
    sizes = [(size, rotated) for size in (2, 4, 6) for rotated in range(2, size + 1, 2)]

    def counted(size: tuple[int, int]) -> bool:
        count = count_model(parse_variant(f"gqa E=24 H=4 G=2 D={size[0]} R={size[1]}")).layers[0].count
        part = next(p for p in count.parts if p.name == "query/key")
        return count.number(part.unidentified) == 2 * (size[1] + (size[0] - size[1]) ** 2)

    steps = [
        equal(
            "a rotated plane and the unrotated rest commute through 0 only: det(R_θ − 1) = 2 − 2 cos θ",
            simplify((turn - eye(2)).det()),
            2 - 2 * cos(theta),
        ),
        equal("planes give R, the rest GL(D − R)", 2 * (R / 2) + (D - R) ** 2, R + (D - R) ** 2),
        equal("all rotated: D", (R + (D - R) ** 2).subs(R, D), D),
        equal("in numbers, D = 4 and R = 2: 6", expand((R + (D - R) ** 2).subs({D: 4, R: 2})), 6),
        cases("the counting tool has G times that", sizes, counted),
    ]
    return proved("I-4.8-rope within the planes; no block between planes and the rest commutes", steps)


claim = Claim(
    id="I-4.8-partial-rope",
    paper=Paper.IDENTIFICATION,
    place="not claimed there; Proposition 4.8 for partial rotations",
    says="With rotations of R of D dimensions the changes of basis that keep all scores of a head are "
    "(C^×)^(R/2) × GL(D − R), of dimension R + (D − R)².",
    statement=[Eq(Symbol("unidentified"), R + (D - R) ** 2, evaluate=False)],
    hypotheses=[
        "angles with distinct cosines, other than 1",
        "D ≤ E, W_Q and W_K of rank D",
        "distances 0 and 1 occur",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["I-4.8-rope"],
    does_not_establish=[
        "that the scores at all distances are determined by the outputs (see I-complete-sizes)"
    ],
)
