"""Half probes: H queries, one unknown number a head.

With k − 1 copies of b, one b + u and the last token b, f = V·b + c + Σ_h α_h x_h/(k + x_h) with α_h = v_h·u
known and x_h = exp(b^T W_h u) unknown: H equations g(k), k = 1 … H, in H unknowns.

- Over balls a prediction is near, and Newton's iteration starts there; the interval Newton test then encloses
  the one solution in a box around it.
- On the log-lattice x_h = 2^e, and the odd part of k + 2^e divides the denominator of g(k), up to small
  factors. Candidates are few, and what is returned is their one choice that solves all equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import lcm
from typing import Any

from flint import arb, arb_mat, ctx, fmpq, fmpz

from exactattn.exceptions import CannotTell, InconsistentAnswers
from exactattn.numbers import NumberSystem
from exactattn.recovery.genericity import NonGeneric
from exactattn.recovery.methods.two_powers import two_to
from exactattn.recovery.modular_image import PRIMES
from exactattn.recovery.probe import Probe

__all__ = ["enclosed_near", "powers_of_two", "solve_half_probe"]

MAX_STEPS = 64
MAX_SETS = 1 << 18
CLEAR_EXPONENT = 12
PRIME = PRIMES[0]
SMALL_FACTORS = fmpz(lcm(*range(1, 129)))


def solve_half_probe(
    probe: Probe,
    alpha: Sequence[Any],
    near: Sequence[Any] | None,
    values: Sequence[Any],
    system: NumberSystem[Any, Any],
) -> list[Any]:
    """x_h with Σ_h α_h x_h/(k + x_h) = values[k − 1]; ``near`` predicts them over balls.

    Raises NonGeneric if the probe must be drawn again.
    """
    if not system.exact:
        try:
            assert near is not None
            return enclosed_near(alpha, near, values)
        except CannotTell as error:
            raise NonGeneric([(probe, str(error))], False) from None
    found = powers_of_two(alpha, values)
    if found is None:
        raise NonGeneric([(probe, "its exponents are not determined")], True)
    return found


def enclosed_near(alpha: Sequence[arb], near: Sequence[arb], values: Sequence[arb]) -> list[arb]:
    """Enclosures of the solution near a prediction. Raises CannotTell, or InconsistentAnswers if further
    equations certainly fail."""
    K = len(alpha)
    middle_alpha, middle_values = [a.mid() for a in alpha], [g.mid() for g in values]
    x = [p.mid() for p in near]
    for _ in range(MAX_STEPS):
        step = _newton_step(middle_alpha, x, middle_values[:K])
        x = [(a - s).mid() for a, s in zip(x, step, strict=True)]
        if all(abs(s).upper() <= abs(a) * arb(2) ** (8 - ctx.prec) for a, s in zip(x, step, strict=True)):
            break
        if not all(a > 0 for a in x):
            raise CannotTell("cannot tell where the solution of a half probe is")
    step = _newton_step(alpha, x, values[:K])
    radius = max((abs(s).upper() for s in step), key=lambda r: r.fmpq()) * 2
    box = [a + arb(0, (radius + abs(a) * arb(2) ** (4 - ctx.prec)).upper()) for a in x]
    residual = _residuals(alpha, x, values[:K])
    correction = _solved(_jacobian(alpha, box), residual)
    image = [a - s for a, s in zip(x, correction, strict=True)]
    if not all(b.contains_interior(i) for b, i in zip(box, image, strict=True)):
        raise CannotTell("cannot tell where the solution of a half probe is")
    for error in _residuals(alpha, image, values)[K:]:
        if not error.contains(0):
            raise InconsistentAnswers(
                "the answers of a half probe contradict each other, so they are not those of an attention "
                "layer with the stated number of heads"
            )
    return image


def _residuals(alpha: Sequence[arb], x: Sequence[arb], values: Sequence[arb]) -> list[arb]:
    return [
        sum((a * t / (t + k) for a, t in zip(alpha, x, strict=True)), arb(0)) - g
        for k, g in enumerate(values, 1)
    ]


def _jacobian(alpha: Sequence[arb], x: Sequence[arb]) -> list[list[arb]]:
    return [[a * k / (t + k) ** 2 for a, t in zip(alpha, x, strict=True)] for k in range(1, len(x) + 1)]


def _solved(matrix: list[list[arb]], right: list[arb]) -> list[arb]:
    try:
        rows = arb_mat(matrix).solve(arb_mat([[r] for r in right])).tolist()
    except ZeroDivisionError:
        raise CannotTell("cannot tell whether a half probe determines its numbers") from None
    return [row[0] for row in rows]


def _newton_step(alpha: Sequence[arb], x: Sequence[arb], values: Sequence[arb]) -> list[arb]:
    return _solved(_jacobian(alpha, x), _residuals(alpha, x, values))


def powers_of_two(alpha: Sequence[fmpq], values: Sequence[fmpq]) -> list[fmpq] | None:
    """The powers of two that solve the equations, by head; None if there are none or several ways.

    >>> x = [fmpq(64), fmpq(1, 1024)]
    >>> g = [sum(a * t / (k + t) for a, t in zip((3, -5), x)) for k in (1, 2)]
    >>> powers_of_two([fmpq(3), fmpq(-5)], g)
    [64, 1/1024]
    """
    exponents = _exponents(alpha, values)
    # A long denominator that shows is no accident, so such exponents are tried alone first.
    clear = [e for e in exponents if abs(e) > CLEAR_EXPONENT]
    return _fitting(alpha, clear, values) or _fitting(alpha, exponents, values)


def _fitting(alpha: Sequence[fmpq], exponents: list[int], values: Sequence[fmpq]) -> list[fmpq] | None:
    """The one choice of exponents that solves all equations; None if there is none, or several, or if there
    are too many choices.

    Halves of the heads meet in the middle: modulo a prime, the first equation says what sum the second half
    must have for every choice of the first.
    """
    target = _residue(values[0])
    half = (len(alpha) + 1) // 2
    if target is None or len(exponents) ** half > MAX_SETS:
        return None
    images = [[(e, _image(a, e)) for e in exponents] for a in alpha]
    sums: dict[int, list[tuple[int, ...]]] = {}
    for chosen in product(*images[:half]):
        total = sum(image for _, image in chosen) % PRIME
        sums.setdefault(total, []).append(tuple(e for e, _ in chosen))
    solutions = []
    for chosen in product(*images[half:]):
        rest = (target - sum(image for _, image in chosen)) % PRIME
        for first in sums.get(rest, ()):
            x = [two_to(e) for e in (*first, *(e for e, _ in chosen))]
            if _solves(alpha, x, values):
                solutions.append(x)
    return solutions[0] if len(solutions) == 1 else None


def _solves(alpha: Sequence[fmpq], x: Sequence[fmpq], values: Sequence[fmpq]) -> bool:
    return all(
        sum((a * t / (k + t) for a, t in zip(alpha, x, strict=True)), fmpq(0)) == g
        for k, g in enumerate(values, 1)
    )


def _residue(q: fmpq) -> int | None:
    """The rational modulo a prime; None if it has none."""
    denominator = int(q.q % PRIME)
    return int(q.p % PRIME) * pow(denominator, -1, PRIME) % PRIME if denominator else None


def _image(a: fmpq, e: int) -> int:
    """α x/(1 + x) modulo a prime."""
    x = pow(2, e, PRIME)
    return int(a.p % PRIME) * x * pow(int(a.q % PRIME) * (1 + x), -1, PRIME) % PRIME


def _exponents(alpha: Sequence[fmpq], values: Sequence[fmpq]) -> list[int]:
    """Exponents e for which the odd part of k + 2^e divides the denominator of g(k) for every k, once factors
    are put back that numerators may have cancelled: those of some α, and small ones that heads share."""
    cancelled = SMALL_FACTORS
    for a in alpha:
        cancelled *= abs(a.p) if a else 1
    whole = [g.q * cancelled for g in values]
    found = []
    for size in range(max(x.bit_length() for x in whole) + 1):
        # For k = 1 the odd parts of 1 + 2^e and 1 + 2^-e are equal.
        if whole[0] % _odd_part(size, 1) == 0:
            signs = (size, -size) if size else (0,)
            found += [e for e in signs if all(x % _odd_part(e, k) == 0 for k, x in enumerate(whole[1:], 2))]
    return found


def _odd_part(e: int, k: int) -> fmpz:
    """That of the numerator of k + 2^e."""
    odd = (fmpz(k) << max(0, -e)) + (fmpz(1) << max(0, e))
    return odd >> ((odd & -odd).bit_length() - 1)
