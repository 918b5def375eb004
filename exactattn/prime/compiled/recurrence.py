# mypy: ignore-errors
"""Minimal recurrences, scaled by discrepancies (see ``exactattn.prime.recurrence``)."""

import numpy as np

from exactattn.prime.compiled.lanes import (
    LANES,
    ONE,
    ZERO,
    add,
    compiled,
    invert,
    multiply,
    multiply_add,
    subtract,
)


@compiled
def recurrences(moments, rank, p, q, r2, out, bad):
    length, count = moments.shape
    mu = np.empty((length, LANES), np.uint32)
    current = np.empty((rank + 1, LANES), np.uint32)
    previous = np.empty((rank + 1, LANES), np.uint32)
    updated = np.empty((rank + 1, LANES), np.uint32)
    d, last = np.empty(LANES, np.uint32), np.empty(LANES, np.uint32)
    wrong = np.empty(LANES, np.uint8)
    one = multiply(r2, ONE, p, q)
    for start in range(0, count, LANES):
        size = min(LANES, count - start)
        mu[:] = 0
        for n in range(length):
            for lane in range(size):
                mu[n, lane] = multiply(moments[n, start + lane], r2, p, q)
        current[:] = 0
        previous[:] = 0
        current[0] = np.uint32(one)
        previous[0] = np.uint32(one)
        last[:] = np.uint32(one)
        wrong[:] = 0
        for n in range(length):
            grows = n % 2 == 0 and n < 2 * rank
            terms = rank + 1 if n >= 2 * rank else n // 2 + 1 + (not grows)
            d[:] = 0
            for i in range(terms):
                for lane in range(LANES):
                    product = multiply(np.uint64(current[i, lane]), np.uint64(mu[n - i, lane]), p, q)
                    d[lane] = add(np.uint64(d[lane]), product, p)
            if n >= 2 * rank:
                for lane in range(LANES):
                    wrong[lane] |= d[lane] != 0
                continue
            shift = 2 if grows and n > 0 else 1
            used = min(terms, rank + 1 - shift)
            for i in range(rank + 1):
                if shift <= i < shift + used:
                    for lane in range(LANES):
                        minus = subtract(ZERO, np.uint64(d[lane]), p)
                        updated[i, lane] = multiply_add(
                            np.uint64(current[i, lane]), np.uint64(last[lane]),
                            minus, np.uint64(previous[i - shift, lane]), p, q,
                        )  # fmt: skip
                else:
                    for lane in range(LANES):
                        updated[i, lane] = multiply(np.uint64(current[i, lane]), np.uint64(last[lane]), p, q)
            if grows:
                for lane in range(LANES):
                    wrong[lane] |= d[lane] == 0
                    last[lane] = d[lane]
                previous[:] = current
            current[:] = updated
        for lane in range(LANES):
            d[lane] = one if wrong[lane] else current[0, lane]
        invert(d, last, p, q, one)
        for i in range(rank + 1):
            for lane in range(size):
                x = multiply(np.uint64(current[rank - i, lane]), np.uint64(last[lane]), p, q)
                x = multiply(x, ONE, p, q)
                regular = wrong[lane] == 0
                out[i, start + lane] = x if regular else (ONE if i == rank else ZERO)
        for lane in range(size):
            bad[start + lane] = wrong[lane] != 0
