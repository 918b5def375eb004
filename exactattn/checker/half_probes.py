"""That the answers of a half probe determine its exponents, among all integers.

K integers A_h != 0 (a common multiple of v_h.u) and exponents e_h; T(k) = sum_h A_h/(k + 2^e_h), k = 1, 2 ...
Claim: T'(k) = T(k) for integers e'_h only if e' = e. Write N_m = sum of sign(e_h) A_h over |e_h| = m, and
N'_m likewise for e', and C = sum_h |A_h|.

1. A_h/(1 + 2^e) is A_h/(2^m + 1) for e = m > 0, and A_h - A_h/(2^m + 1) for e = -m < 0. So
   T'(1) - T(1) = sum of (N'_m - N_m)/(2^m + 1) over m > 0, and a multiple of 1/2 (from e = 0).
2. Let P_m be the part of 2^m + 1 that is prime to all 2^j + 1 with j < m; it is odd for m > 0. Let t >= 0
   with P_m > 2C for all m > t. Then N'_m = N_m for m > t: by induction from above, where both are 0. If it
   holds beyond m, then P_m divides N'_m - N_m, as nothing else in 1. has a denominator that shares a prime
   with P_m; and |N'_m - N_m| <= 2C.
3. Bound of t: Phi_n(2), n = 2m, divides 2^m + 1, and a prime of it divides 2^j + 1, 0 < j < m, only if it
   divides n, which one prime does at most, and only once (n > 6). So P_m >= Phi_n(2)/n, and
   Phi_n(2) > 2^phi(n)/4, as the product of all 1 - 2^-d exceeds 1/4; and phi(n) >= sqrt(n/2). Where this is
   not enough, P_m is computed.
4. Every m = |e_h| > t is a level with N_m != 0 (verified), so some heads have |e'| = m, with that signed sum.
   All ways to give every level such a set of heads are tried. If there are n levels, at most K - n <= 2 heads
   are left over; one left over has |e'| <= t, since A != 0; so have two, since +-A_g +-A_h != 0 (verified if
   K - n = 2). Of all that is possible, only e' = e is verified to satisfy the equations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product

from .check import refuse
from .placements import Limit, placements
from .staged import power

__all__ = ["check_half_probe", "threshold"]

MAX_SIZE_BITS, MAX_LEFT, MAX_HEADS = 160, 2, 64

Exponents = dict[int, int]  # by head


def check_half_probe(name: str, residues: Sequence[Fraction], exponents: Sequence[int], nodes: int) -> None:
    """That these exponents are the only integers with these values at k = 1 ... nodes; residues are v_h.u."""
    common = math.lcm(*(x.denominator for x in residues))
    A = [int(x * common) for x in residues]
    size = sum(map(abs, A))
    if not all(A) or size.bit_length() > MAX_SIZE_BITS or len(A) > MAX_HEADS:
        refuse("heads", f"{name}: v.u is zero or too long, or heads are too many")
    t = threshold(2 * size)
    levels: dict[int, int] = {}
    for a, e in zip(A, exponents, strict=True):
        if abs(e) > t:
            levels[abs(e)] = levels.get(abs(e), 0) + (a if e > 0 else -a)
    left = len(A) - len(levels)
    if not all(levels.values()):
        refuse("heads", f"{name}: two exponents cancel each other")
    if left > MAX_LEFT or (left == 2 and len(set(map(abs, A))) < len(A)):
        refuse("heads", f"{name}: the exponents are too small to be determined")
    truth = dict(enumerate(exponents))
    limit = Limit(name)

    sizes = list(levels)

    def options(level: int, h: int) -> list[tuple[int, int]]:
        return [(A[h], sizes[level]), (-A[h], -sizes[level])]

    for placed in placements(list(levels.values()), options, frozenset(truth), left, limit):
        rest = [h for h in range(len(A)) if h not in placed]
        target = value(A, truth, 1) - value(A, placed, 1)
        for chosen in product(range(-t, t + 1), repeat=len(rest)):
            limit.step()
            small = dict(zip(rest, chosen, strict=True))
            other = {**placed, **small}
            if value(A, small, 1) != target or other == truth:
                continue
            if all(value(A, other, k) == value(A, truth, k) for k in range(2, nodes + 1)):
                refuse("heads", f"{name}: other exponents give the same answers")


def value(A: Sequence[int], exponents: Exponents, k: int) -> Fraction:
    return sum((A[h] / (k + power(e)) for h, e in exponents.items()), Fraction(0))


@lru_cache(maxsize=64)
def threshold(bound: int) -> int:
    """The least t >= 0 such that P_m > bound for all m > t.

    >>> threshold(1), threshold(100)
    (3, 10)
    """
    limit = 32
    while math.isqrt(limit // 2) < (4 * limit * bound).bit_length():
        limit *= 2
    phi = list(range(limit + 1))
    for p in range(2, limit + 1):
        if phi[p] == p:
            for n in range(p, limit + 1, p):
                phi[n] -= phi[n] // p
    for m in range(limit // 2, 0, -1):
        clear = m > 3 and phi[2 * m] > (4 * 2 * m * bound).bit_length()
        if not clear and new_part(m) <= bound:
            return m
    return 0


def new_part(m: int) -> int:
    """P_m: a common prime of 2^m + 1 and some 2^j + 1, j < m, divides 2^(m/q) + 1 for an odd prime q."""
    part, rest, q = (1 << m) + 1, m, 3
    while rest % 2 == 0:
        rest //= 2
    while rest > 1:
        if rest % q == 0:
            while rest % q == 0:
                rest //= q
            while (shared := math.gcd(part, (1 << m // q) + 1)) > 1:
                part //= shared
        q += 2
    return part
