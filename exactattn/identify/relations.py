"""Relations over the rationals among the fixed numbers of layers: ALiBi slopes and rotary angles."""

from __future__ import annotations

from flint import fmpq, fmpz

__all__ = ["alibi_steps", "independent_powers"]


def alibi_steps(heads: int) -> tuple[list[int], int]:
    """The published ALiBi slopes as powers k of β = 2^(−4/P), P the largest power of 2 up to H, and the least
    d with β^d = 1/2.

    >>> alibi_steps(8)
    ([2, 4, 6, 8, 10, 12, 14, 16], 2)
    >>> alibi_steps(3)
    ([4, 8, 2], 1)
    """
    power = 1 << (heads.bit_length() - 1)
    steps = [2 * (h + 1) for h in range(power)] + [2 * h + 1 for h in range(heads - power)]
    if power >= 4:
        return steps, power // 4
    return [k * 4 // power for k in steps], 1


def independent_powers(base: fmpq, planes: int) -> tuple[int, fmpq]:
    """The least d with β^d rational, β = base^(−1/planes), and β^(−d).

    >>> independent_powers(fmpq(10000), 32)
    (8, 10)
    """
    for d in range(1, planes + 1):
        if planes % d == 0:
            m = planes // d
            p, q = (_exact_root(int(x), m) for x in (base.p, base.q))
            if p is not None and q is not None:
                return d, fmpq(p, q)
    raise AssertionError("unreachable: d = planes always divides")


def _exact_root(x: int, degree: int) -> int | None:
    root = int(fmpz(x).root(degree))
    return root if root**degree == x else None
