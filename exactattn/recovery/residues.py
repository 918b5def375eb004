"""Rational parameters from a recovery in a prime field, with the bounds under which they are right."""

from __future__ import annotations

from exactattn.numbers import PrimeNumbers
from exactattn.recovery.solution import RecoveredHead, Solution

__all__ = ["rational_solution"]


def rational_solution(solution: Solution, numbers: PrimeNumbers) -> Solution:
    """The heads with rational entries: v and the constant by rational reconstruction, W checked to be
    integral over the common denominator.

    They are those of the layer if its scores are at most (p − 1)/2 over D, and numerators and denominators of
    v at most ``numbers.lift_bound``. Raises PrecisionExhausted where that is certainly not so.

    >>> from flint import fmpq
    >>> numbers = PrimeNumbers()
    >>> head = RecoveredHead(((numbers.score(fmpq(3)),),), (numbers.value(fmpq(1, 2)),))
    >>> rational_solution(Solution((head,), True), numbers).heads[0].v
    (1/2,)
    """
    heads = [
        RecoveredHead(
            tuple(tuple(numbers.require_exponents(x) for x in row) for row in head.W),
            tuple(numbers.lift(x) for x in head.v),
        )
        for head in solution.heads
    ]
    constant = None if solution.constant is None else numbers.lift(solution.constant)
    return Solution(tuple(heads), solution.rank_proved, constant)
