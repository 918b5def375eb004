"""Minimal recurrences of many sequences at once (Berlekamp and Massey), for the regular case.

Nothing is divided: the recurrence is scaled by discrepancies, and made monic at the end. A sequence in which
a discrepancy vanishes where the order must grow is reported, not solved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exactattn.prime.arithmetic import Array, dot_rows, inverses, reduce, times
from exactattn.prime.field import PrimeField

__all__ = ["recurrences"]


def recurrences(moments: Array, rank: int, field: PrimeField) -> tuple[Array, NDArray[np.bool_]]:
    """Monic polynomials z^K + … of the recurrences of order K = ``rank`` of sequences (N, P), N ≥ 2K, lowest
    coefficient first (K+1, P); and which sequences have none, or are not regular: those get z^K.

    >>> powers = np.array([[1], [2], [4], [8]], dtype=np.uint64)
    >>> polynomials, bad = recurrences(powers, 1, PrimeField())
    >>> polynomials.tolist(), bad.tolist()      # z − 2
    ([[2013265919], [1]], [False])
    """
    prime, count = field.p, moments.shape[1]
    bad = np.zeros(count, dtype=np.bool_)
    current = np.zeros((rank + 1, count), dtype=np.uint64)
    previous = np.zeros_like(current)
    current[0] = previous[0] = 1
    last = np.ones(count, dtype=np.uint64)
    for n in range(2 * rank):
        grows = n % 2 == 0
        size = n // 2 + 1 + (not grows)  # coefficients of ``current``
        discrepancy = dot_rows(current[:size], moments[n - size + 1 : n + 1][::-1], prime)
        shift = 2 if grows and n else 1
        updated = current * last
        length = min(size, rank + 1 - shift)
        updated[shift : shift + length] += (prime - discrepancy) * previous[:length]
        updated = reduce(updated, prime)
        if grows:
            bad |= discrepancy == 0
            previous, last = current, discrepancy
        current = updated
    for n in range(2 * rank, len(moments)):
        bad |= dot_rows(current, moments[n - rank : n + 1][::-1], prime) != 0
    current[:, bad] = 0
    current[0, bad] = 1
    return times(current[::-1], inverses(current[0], prime), prime), bad
