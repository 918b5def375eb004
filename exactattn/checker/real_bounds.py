"""Bounds of sums, products, logarithms and exponentials of rationals, rounded outward."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

__all__ = ["ONE", "ZERO", "down", "enclosed_sum", "exact_product", "exp", "log", "log_two", "product", "up"]

BITS = 192  # significant bits of bounds

ZERO, ONE = Fraction(0), Fraction(1)


def up(x: Fraction) -> Fraction:
    """A number >= x >= 0 with few bits."""
    return _rounded(x, True)


def down(x: Fraction) -> Fraction:
    """A number <= x, x >= 0, with few bits."""
    return _rounded(x, False)


def _rounded(x: Fraction, upward: bool) -> Fraction:
    p, q = x.numerator, x.denominator
    shift = BITS - p.bit_length() + q.bit_length()
    top, bottom = (p << shift, q) if shift >= 0 else (p, q << -shift)
    n = -(-top // bottom) if upward else top // bottom
    return Fraction(n, 1 << shift) if shift >= 0 else Fraction(n << -shift)


def product(factors: Any) -> Fraction:
    """An upper bound of a product of numbers >= 0."""
    result = Fraction(1)
    for factor in factors:
        result = up(result * factor)
    return result


def log_two(bits: int) -> tuple[int, int]:
    """Integers below and above 2^bits log 2: log 2 = 2 atanh(1/3)."""
    total, power, n = 0, (2 << bits) // 3, 1
    terms = 0
    while power:
        total += power // n
        power //= 9
        n += 2
        terms += 2
    return total, total + terms + 2


def log(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """An enclosure of log x, x > 0, of width about 2^-bits: log x = k log 2 + 2 atanh(z), z = (y - 1)/(y + 1)
    with y = x/2^k near 1."""
    k = x.numerator.bit_length() - x.denominator.bit_length()
    y = x / 2**k if k >= 0 else x * 2**-k
    z = (y - 1) / (y + 1)  # |z| <= 1/3
    sign, unit = (1 if z >= 0 else -1), abs(z)
    work = bits + 16
    power = (unit.numerator << work) // unit.denominator  # z 2^work, below by less than 1
    square = power * power >> work
    total, n, terms, rest = 0, 1, 0, power
    while rest:
        total += rest // n
        rest = rest * square >> work
        n += 2
        terms += 1
    # each power is below the true one by less than 2 units, each quotient by one more; the tail is below 3
    low, high = 2 * total, 2 * (total + 3 * terms + 4)
    if sign < 0:
        low, high = -high, -low
    two = log_two(work)
    lows, highs = (k * two[0], k * two[1]) if k >= 0 else (k * two[1], k * two[0])
    return Fraction(low + lows, 1 << work), Fraction(high + highs, 1 << work)


def exp(s: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """An enclosure of exp(s) of relative width about 2^-bits: exp(s) = 2^k exp(t), t = s - k log 2 halved ten
    times, and the Taylor series with all terms below half the one before."""
    work = bits + 64
    two = log_two(work)
    k = round(s * (1 << work) / two[0])
    floor = (s.numerator << work) // s.denominator
    lows, highs = (k * two[0], k * two[1]) if k >= 0 else (k * two[1], k * two[0])

    def series(t: int, upward: bool) -> int:
        """exp(t/2^work/2^10)^(2^10) in units of 2^-work, rounded one way; |t| < 2^work."""
        one = 1 << work
        total, term, n = one, one, 1
        while term not in (0, -1):
            term = (term * t >> 10 + work) // n
            total += term
            n += 1
        total += 4 * n if upward else -4 * n
        for _ in range(10):
            total = total * total >> work
            total += upward
        return total

    low, high = series(floor - highs, False), series(floor + 1 - lows, True)
    scale = Fraction(2) ** k / (1 << work)
    return low * scale, high * scale


def exact_product(factors: list[Fraction]) -> Fraction:
    """A product of rationals."""
    result = ONE
    for factor in factors:
        result *= factor
    return result


def enclosed_sum(terms: list[tuple[Fraction, int]]) -> tuple[Fraction, Fraction]:
    """An enclosure of the sum of n/x over the terms (x, n)."""
    low = high = ZERO
    for x, n in terms:
        below, above = down(abs(n / x)), up(abs(n / x))
        positive = (x > 0) == (n > 0)
        low, high = low + (below if positive else -above), high + (above if positive else -below)
    return low, high
