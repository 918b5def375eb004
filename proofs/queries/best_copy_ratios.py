"""Q-5-minimax: the best constant that any choice of copy numbers can reach."""

from math import isqrt, prod
from random import Random

from flint import fmpq, fmpq_poly
from sympy import I, cancel, conjugate, diff, simplify, sqrt, symbols

from exactattn.errors import Node, minimax_constants, reached_constants, response
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, proved

s, p, x, r, c, V = symbols("s p x r c V", positive=True)


def polynomials(roots: list[fmpq]) -> tuple[fmpq_poly, fmpq_poly]:
    """Numerator and denominator Π (x + r_h)² of T as polynomials in x, from Π (s − ip)⁴ = R + iJ: R is even
    in s, and T is R over Π (s² + p²)²."""
    real, imaginary = fmpq_poly([1]), fmpq_poly([0])
    for root in roots:
        for _ in range(4):  # times s − i·root
            real, imaginary = (
                real * fmpq_poly([0, 1]) + imaginary * root,
                imaginary * fmpq_poly([0, 1]) - real * root,
            )
    top = fmpq_poly([real[k] for k in range(0, real.degree() + 1, 2)])
    bottom = fmpq_poly([1])
    for root in roots:
        bottom *= fmpq_poly([root * root, 1]) ** 2
    return top, bottom


def has_stated_shape(roots: list[fmpq]) -> bool:
    """T is 1 at infinity, has double poles at −r_h only, and there the stated coefficients."""
    top, bottom = polynomials(roots)
    if top.degree() != bottom.degree() or top[top.degree()] != bottom[bottom.degree()]:
        return False
    for h, root in enumerate(roots):
        at = -root * root
        others = prod(((at + o * o) ** 2 for g, o in enumerate(roots) if g != h), start=fmpq(1))
        coth = prod(((root + o) / (root - o) for g, o in enumerate(roots) if g != h), start=fmpq(1))
        if top(at) / others != 8 * root**4 * coth**2:
            return False
    return True


def nodes_are_best(root: fmpq) -> bool:
    """Two heads r = 1 and r = root²: where the minimax nodes are rational, the program's constants reach the
    bound exactly, and T is 1, −1, 1, −1, 1 there."""
    top, bottom = polynomials([fmpq(1), root])
    square = (1 + root) ** 2 + 4 * root
    whole = exact_root(square)
    outer, inner = ((1 + root) + whole) / 2, (whole - (1 + root)) / 2
    ratios = [outer * outer, root, inner * inner]
    nodes = [Node(1, 0), *(Node(int(x_m.p), int(x_m.q)) for x_m in ratios)]
    poles, residues = [fmpq(1), root * root], [fmpq(1), fmpq(-3)]
    reached = reached_constants(response(nodes, poles, residues))
    coth = ((root + 1) / (root - 1)) ** 2
    alternates = [top(x_m) / bottom(x_m) for x_m in ratios] == [-1, 1, -1] and top(0) == bottom(0)
    bounds = minimax_constants(poles, residues)
    return (
        alternates
        and reached == [8 * coth, 8 * coth / 3]
        and all(b.contains(k) for b, k in zip(bounds, reached, strict=True))
    )


def exact_root(square: fmpq) -> fmpq:
    """The square root of a rational square."""
    root = fmpq(isqrt(int(square.p)), isqrt(int(square.q)))
    if root * root != square:
        raise ArithmeticError(f"{square} is not a square")
    return root


def never_beaten(seed: int) -> bool:
    """No drawn set of rational nodes (with b alone as one more) has a smaller constant for any log r_h."""
    rng = Random(seed)
    heads = 1 + seed % 3
    numbers = list({fmpq(rng.randint(1, 30), rng.randint(1, 9)): None for _ in range(60)})
    nodes = [Node(int(n.p), int(n.q)) for n in numbers[: 2 * heads]]
    if seed % 2:
        nodes[0] = Node(1, 0)
    poles = numbers[2 * heads : 3 * heads]
    residues = [fmpq(rng.choice([-3, -2, -1, 1, 2, 3])) for _ in poles]
    reached = reached_constants(response(nodes, poles, residues))
    bounds = minimax_constants(poles, residues)
    return all(not bound > constant for bound, constant in zip(bounds, reached, strict=True))


def establish() -> Outcome:
    unit = (s - I * p) / (s + I * p)
    B = ((sqrt(x) - I * sqrt(r)) / (sqrt(x) + I * sqrt(r))) ** 2
    answer = V - x * c / (x + r)
    moved = diff(answer, r) * (-8 * r / c)
    # r = 1 and r = q² with q² + 6q + 1 a square, so that the minimax nodes are rational
    roots = [(m * m - 1) / (6 - 2 * m) for m in (fmpq(2), fmpq(5, 2), fmpq(7, 3), fmpq(11, 4))]
    steps = [
        equal("each factor of B has modulus 1 for x ≥ 0, so |T| ≤ 1", simplify(unit * conjugate(unit)), 1),
        equal(
            "√x ↦ −√x turns B into 1/B, so T = (B + 1/B)/2 is rational in x",
            simplify(unit * unit.subs(s, -s)),
            1,
        ),
        equal(
            "one head: T = 1 − 8r/(x + r) + 8r²/(x + r)²",
            cancel(simplify((B + 1 / B) / 2)),
            cancel(1 - 8 * r / (x + r) + 8 * r**2 / (x + r) ** 2),
        ),
        equal(
            "answers move with V·b, c and r by 1, −x/(x + r) and cx/(x + r)²: they span what T is in",
            [diff(answer, V), diff(answer, c), cancel(diff(answer, r))],
            [1, -x / (x + r), c * x / (x + r) ** 2],
        ),
        equal(
            "a double-pole coefficient 8r² is a move of log r by −8/c",
            cancel(moved * (x + r) ** 2).subs(x, -r),
            8 * r**2,
        ),
        cases(
            "H = 1 … 5: T has value 1 at infinity and double-pole coefficients 8r_h² Π coth²",
            [[fmpq(n + 1, 1 + (k + n) % 3) for n in range(heads)] for heads in range(1, 6) for k in range(3)],
            has_stated_shape,
            lambda roots: len(set(roots)) == len(roots),
        ),
        cases("H = 2: rational minimax nodes reach the bound exactly", roots, nodes_are_best),
        cases("drawn nodes never beat the bound", range(200), never_beaten),
    ]
    return proved(
        "T is a direction in which answers at every ratio change by at most 1, and it moves log r_h by "
        "8 Π coth²/|c_h|: no estimator can tell. At the 2H + 1 nodes Σ arctan √(r_g/x) = kπ/4 it is ±1 in "
        "turn; the weights with which interpolation there gives the double-pole coefficient are "
        "Π (−r_h − x_j)/Π (x_m − x_j) times positive numbers, so they alternate too, and their absolute sum "
        "is the coefficient of T itself",
        steps,
    )


claim = Claim(
    id="Q-5-minimax",
    paper=Paper.QUERIES,
    place="not claimed there; sharpens Q-5",
    says="For one pair of tokens, whatever copy ratios are asked and whatever estimator is used, errors of "
    "size ε can move log r_h, to first order, by (8/|c_h|) Π coth²((log r_h − log r_g)/4) ε, and 2H + 1 "
    "ratios reach this.",
    hypotheses=["V·b, residues and poles are all unknown, and only sequences of the two tokens are asked"],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["Q-5"],
    does_not_establish=[
        "a bound for methods that combine several pairs of tokens, or know V·b",
        "that the best ratios have short sequences: they can be as extreme as the poles",
    ],
)
