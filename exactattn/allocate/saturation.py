"""How far attention can move when scores move: the sharp bound tanh(ε/2) (theory, section 10).

Two constants occur, and are the same statement. Let δ_j be the change of the score of key j and
ω = max δ − min δ its *spread*. Attention moves by at most tanh(ω/4) in total variation. Adding one number to
all scores changes nothing, and the best such shift leaves |δ_j| ≤ ε = ω/2: so in the *maximum norm after a
common shift* the bound is tanh(ε/2).

Proof. Let A be the keys whose weight grows, p and q the weight of A before and after. Its odds grow by at
most the factor t² = e^ω, so q ≤ p t²/(1 − p + p t²), and

    (t − 1)/(t + 1) − (p t²/(1 − p + p t²) − p) = (t − 1)(1 − p (t + 1))² / ((t + 1)(1 + p (t² − 1))) ≥ 0.

The total variation is q − p, (t − 1)/(t + 1) = tanh(ω/4), and p = 1/(t + 1) gives equality.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import arb, fmpq

from exactattn.exceptions import InputError
from exactattn.numbers import Vector, rational_vector

__all__ = [
    "attention_bound",
    "attention_row",
    "extremal_rows",
    "sharp_bound",
    "total_variation",
    "weight_bound",
]


def attention_row(exponents: Sequence[int]) -> Vector:
    """softmax of the scores log 2 · exponents, exactly.

    >>> attention_row([1, 0])
    (2/3, 1/3)
    """
    powers = [fmpq(2) ** int(x) for x in exponents]
    total = sum(powers, fmpq(0))
    return tuple(x / total for x in powers)


def total_variation(p: Sequence[Any], q: Sequence[Any]) -> fmpq:
    """Half the sum of |p_j − q_j|: the largest change of the weight of a set of keys, exactly.

    >>> total_variation(["2/3", "1/3"], ["1/3", "2/3"])
    1/3
    """
    total = fmpq(0)
    for x, y in zip(rational_vector(p), rational_vector(q), strict=True):
        total += abs(x - y)
    return total / 2


def sharp_bound(exponents: Sequence[int], changed: Sequence[int]) -> fmpq:
    """The bound for two rows of scores log 2 · integers whose changes have an even spread ω = 2k log 2:
    tanh(ω/4) = (2^k − 1)/(2^k + 1), exactly.

    >>> sharp_bound([0, 2], [2, 0])
    3/5

    Raises InputError for an odd spread, where the bound is not rational.
    """
    changes = [y - x for x, y in zip(exponents, changed, strict=True)]
    spread = max(changes) - min(changes)
    if spread % 2:
        raise InputError(f"the spread {spread} is odd, so the bound is not rational; double all exponents")
    t = fmpq(2) ** (spread // 2)
    return (t - 1) / (t + 1)


def extremal_rows(k: int, keys: int = 2) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two rows of exponents, changes of spread 2k, whose attention differs by exactly the bound: one key
    starts with the weight 1/(2^k + 1) and gains odds by the factor 4^k.

    >>> before, after = extremal_rows(2)
    >>> before, after
    ((0, 2), (2, 0))
    >>> total_variation(attention_row(before), attention_row(after)) == sharp_bound(before, after)
    True

    The other keys share one score. Raises InputError unless k ≥ 1 and keys − 1 is a power of 2.
    """
    others = keys - 1
    if k < 1 or others < 1 or others & (others - 1):
        raise InputError(f"k = {k} and {keys} keys; k is at least 1 and keys is 1 more than a power of 2")
    copies = others.bit_length() - 1
    return (copies, *(k,) * others), (copies + k, *(0,) * others)


def attention_bound(score_change: arb) -> arb:
    """tanh(ε/2): how far attention can move when no score moves by more than ε (up to a common shift)."""
    return (score_change / 2).tanh()


def weight_bound(spread: arb, keys: int) -> arb:
    """The largest weight among ``keys`` keys whose scores have the given spread: 1/(1 + (n − 1) e^{−spread}),
    sharp, and below e^{spread}/n.

    >>> weight_bound(arb(2).log(), 3).contains(fmpq(1, 2))
    True
    """
    return 1 / (1 + (keys - 1) * (-spread).exp())
