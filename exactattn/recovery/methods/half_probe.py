"""Half probes: H queries, one unknown number a head.

With k − 1 copies of b, one b + u and the last token b, f = V·b + c + Σ_h α_h x_h/(k + x_h) with α_h = v_h·u
known and x_h = exp(b^T W_h u) unknown: H equations g(k), k = 1 … H, in H unknowns.

- Over balls a prediction is near, and Newton's iteration starts there; the interval Newton test then encloses
  the one solution in a box around it.
- On the log-lattice x_h = 2^e, and the odd part of k + 2^e shows in the denominator of g(k); with the x_h of
  a set of exponents the α_h solve a linear system, and must be those that are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import Any

from flint import arb, arb_mat, ctx, fmpq, fmpz

from exactattn.exceptions import CannotTell, InconsistentAnswers
from exactattn.numbers import NumberSystem
from exactattn.recovery.genericity import NonGeneric
from exactattn.recovery.probe import Probe

__all__ = ["enclosed_near", "powers_of_two", "solve_half_probe"]

MAX_STEPS = 64
MAX_SETS = 4096


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
    found = powers_of_two(alpha, values, system)
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


def powers_of_two(
    alpha: Sequence[fmpq], values: Sequence[fmpq], system: NumberSystem[Any, Any]
) -> list[fmpq] | None:
    """The powers of two that solve the equations, by head; None if there are none or several ways.

    >>> from exactattn.numbers import LogLattice
    >>> x = [fmpq(64), fmpq(1, 1024)]
    >>> g = [sum(a * t / (k + t) for a, t in zip((3, -5), x)) for k in (1, 2)]
    >>> powers_of_two([fmpq(3), fmpq(-5)], g, LogLattice())
    [64, 1/1024]
    """
    K = len(alpha)
    if len(set(alpha)) < K or 0 in alpha:
        return None
    solutions = []
    for exponents in islice(combinations(_exponents(values), K), MAX_SETS):
        x = [_power(e) for e in exponents]
        matrix = [[t / (k + t) for t in x] for k in range(1, K + 1)]
        found = [row[0] for row in system.solve(matrix, [[g] for g in values[:K]])]
        if sorted(found) != sorted(alpha):
            continue
        ordered = [x[found.index(a)] for a in alpha]
        if all(
            sum((a * t / (k + t) for a, t in zip(alpha, ordered, strict=True)), fmpq(0)) == g
            for k, g in enumerate(values, 1)
        ):
            solutions.append(ordered)
    return solutions[0] if len(solutions) == 1 else None


def _power(e: int) -> fmpq:
    return fmpq(fmpz(1) << e) if e >= 0 else fmpq(1, fmpz(1) << -e)


def _exponents(values: Sequence[fmpq]) -> Iterator[int]:
    """Exponents e for which the odd part of k + 2^e shows in the denominator of g(k) for every k, up to a
    factor that numerators may have cancelled; the most significant first."""
    limit = max(g.q.bit_length() for g in values) + 1
    found = []
    for e in range(-limit, limit + 1):
        shown = missing = 0
        for k, g in enumerate(values, 1):
            odd = fmpz(k) + (fmpz(1) << e) if e >= 0 else (fmpz(k) << -e) + 1
            while odd % 2 == 0:
                odd //= 2
            common = odd.gcd(g.q)
            shown += common.bit_length()
            missing += odd.bit_length() - common.bit_length()
            if missing > 8 + shown // 2:
                break
        else:
            found.append((missing - shown, e))
    return iter([e for _, e in sorted(found)])
