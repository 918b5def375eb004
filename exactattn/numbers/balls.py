"""Balls: real numbers enclosed by a midpoint and a radius (Arb, through python-flint).

Precision belongs to the object: everything computed inside ``with balls.context():`` uses it. python-flint
keeps the working precision in one process-wide place, so two systems must not be active in two threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from flint import acb, acb_poly, arb, arb_mat, arb_poly, ctx, fmpq, fmpz, fmpz_poly

from exactattn.exceptions import CannotTell, InconsistentAnswers, InputError
from exactattn.numbers.decision import Decision
from exactattn.numbers.rational import rational
from exactattn.numbers.system import NumberSystem

__all__ = ["Balls", "encloses"]

MIN_PRECISION = 32
MAX_PRECISION = 1 << 20


class Balls(NumberSystem[arb, arb]):
    """Arb balls with a working precision of ``precision`` bits.

    >>> balls = Balls(precision=128)
    >>> with balls.context():
    ...     balls.equal(balls.log(balls.exp(fmpq(1, 3))), balls.value(fmpq(1, 3))).value
    'cannot tell'
    """

    name: ClassVar[str] = "balls"
    exact: ClassVar[bool] = False

    def __init__(self, precision: int = 256) -> None:
        if not MIN_PRECISION <= precision <= MAX_PRECISION:
            raise InputError(
                f"the precision must be {MIN_PRECISION} to {MAX_PRECISION} bits, not {precision}"
            )
        self.precision = int(precision)

    def __repr__(self) -> str:
        return f"Balls(precision={self.precision})"

    def context(self) -> AbstractContextManager[Any]:
        return ctx.workprec(self.precision)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name}

    def value(self, q: fmpq) -> arb:
        return arb(q)

    def score(self, q: fmpq) -> arb:
        return arb(q)

    def exp(self, score: fmpq) -> arb:
        return arb(score).exp()

    def log(self, x: arb) -> arb:
        if x > 0:
            return x.log()
        if x <= 0:
            raise InconsistentAnswers(
                "a pole is not on the negative axis, so the answers are not those of an attention layer "
                "with at most the stated number of heads"
            )
        raise CannotTell("cannot tell whether a pole is on the negative axis")

    def equal(self, x: arb, y: arb) -> Decision:
        if not x.overlaps(y):
            return Decision.NO
        return Decision.YES if x.is_exact() and y.is_exact() else Decision.CANNOT_TELL

    def equal_scores(self, s: arb, t: arb) -> Decision:
        return self.equal(s, t)

    def solve(self, matrix: Sequence[Sequence[arb]], columns: Sequence[Sequence[arb]]) -> list[list[arb]]:
        left = arb_mat([list(row) for row in matrix])
        return left.solve(arb_mat([list(row) for row in columns])).tolist()

    def solve_scores(
        self, matrix: Sequence[Sequence[fmpq]], columns: Sequence[Sequence[arb]]
    ) -> list[list[arb]]:
        return self.solve([[arb(x) for x in row] for row in matrix], columns)

    def simple_roots(self, coefficients: Sequence[arb]) -> list[arb]:
        """Enclosures of all roots, real and distinct, by the interval Newton test around the certified
        roots of the midpoint polynomial."""
        if len(coefficients) <= 1:
            return []
        polynomial = arb_poly(list(coefficients))
        derivative = polynomial.derivative()
        roots: list[arb] = []
        for guess in _midpoint_roots(coefficients):
            if guess.imag == 0:
                roots.append(_newton_enclosure(polynomial, derivative, guess.real))
            elif _is_proved_nonreal(polynomial, derivative, guess):
                raise InconsistentAnswers(
                    "a probe has a pole off the real axis, so the answers are not those of an attention "
                    "layer with at most the stated number of heads"
                )
            else:
                raise CannotTell("cannot tell whether all poles are real")
        for i, x in enumerate(roots):
            if any(x.overlaps(y) for y in roots[:i]):
                raise CannotTell("cannot tell whether two poles are distinct")
        return roots

    def value_text(self, x: arb) -> str:
        """Midpoint and radius as "man*2^exp+/-man*2^exp" with hexadecimal mantissas: exact midpoint, and a
        radius that encloses after reading back."""
        if not x.is_finite():
            raise CannotTell("an answer has no finite enclosure")
        (m, e), (rm, re) = x.mid().man_exp(), x.rad().man_exp()
        return f"{int(m):#x}*2^{int(e)}+/-{int(rm):#x}*2^{int(re)}"

    def parse_value(self, text: str) -> arb:
        middle, separator, radius = text.partition("+/-")
        if "*2^" in text and separator:
            try:
                (m, e), (rm, re) = (part.split("*2^") for part in (middle, radius))
                return arb((fmpz(int(m, 16)), fmpz(e)), (fmpz(int(rm, 16)), fmpz(re)))
            except ValueError:
                raise InputError(f"{text[:40]!r} is not a ball") from None
        centre = arb(rational(middle))
        if not separator:
            return centre
        bound = rational(radius)
        if bound < 0:
            raise InputError(f"the radius {radius.strip()} is negative")
        return centre + arb(0, arb(bound).upper())


def encloses(x: arb, q: fmpq) -> bool:
    """Whether the ball contains the rational, decided exactly.

    (arb.contains would first round the rational to the working precision.)

    >>> encloses(arb(1, 1) / 3, fmpq(1, 3))
    True
    """
    return bool(abs(q - x.mid().fmpq()) <= x.rad().fmpq())


def _midpoint_roots(coefficients: Sequence[arb]) -> list[acb]:
    """Certified roots of the polynomial with the exact midpoints as coefficients."""
    parts = [c.mid().man_exp() for c in coefficients]
    lowest = min((int(e) for m, e in parts if m != 0), default=0)
    scaled = [fmpz(m) << (int(e) - lowest) if m != 0 else fmpz(0) for m, e in parts]
    found: list[acb] = []
    pairs: Any = fmpz_poly(scaled).complex_roots()  # pairs (root, multiplicity)
    for root, multiplicity in pairs:
        if multiplicity > 1:
            raise CannotTell("cannot tell whether two poles are distinct")
        found.append(root)
    return found


def _spacing(x: arb) -> arb:
    """A few units in the last place of x at the working precision; never 0."""
    return (abs(x).upper() + arb(2) ** -ctx.prec) * arb(2) ** (4 - ctx.prec)


def _newton_enclosure(polynomial: arb_poly, derivative: arb_poly, guess: arb) -> arb:
    """A ball that holds exactly one root of every polynomial with coefficients in the given balls.

    Interval Newton: N(X) = x − P(x)/P'(X) inside the interior of X proves it.
    """
    centre = guess.mid()
    slope = derivative(centre)
    if slope.contains(0):
        raise CannotTell("cannot tell whether two poles are distinct")
    step = polynomial(centre) / slope
    radius = (abs(step).upper() * 2 + guess.rad() + _spacing(centre)).upper()
    for _ in range(4):
        box = centre + arb(0, radius)
        slope = derivative(box)
        if slope.contains(0):
            break
        image = centre - polynomial(centre) / slope
        if box.contains_interior(image):
            return image
        radius = (radius * 4).upper()
    raise CannotTell("cannot tell where a pole is")


def _is_proved_nonreal(polynomial: arb_poly, derivative: arb_poly, guess: acb) -> bool:
    """The same test in the complex plane, with a box that does not meet the real axis."""
    p, dp = acb_poly(polynomial), acb_poly(derivative)
    centre = acb(guess.real.mid(), guess.imag.mid())
    slope = dp(centre)
    if slope.contains(0):
        return False
    step = p(centre) / slope
    radius = (abs(step).upper() * 2 + guess.real.rad() + guess.imag.rad() + _spacing(abs(centre))).upper()
    box = centre + acb(arb(0, radius), arb(0, radius))
    slope = dp(box)
    if box.imag.contains(0) or slope.contains(0):
        return False
    image = centre - p(centre) / slope
    return bool(box.contains_interior(image))
