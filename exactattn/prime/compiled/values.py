# mypy: ignore-errors
"""Values of Σ_h S_h/(m + R_h) at all m."""

import numpy as np

from exactattn.prime.arithmetic import UNDEFINED
from exactattn.prime.compiled.lanes import LANES, ONE, ZERO, add, compiled, invert, multiply, multiply_add


@compiled
def values(base, numerator, weight, copies, p, q, r2, out):
    count, heads = weight.shape[1], weight.shape[0]
    M = len(copies)
    top = np.empty((M, LANES), np.uint32)
    bottom = np.empty((M, LANES), np.uint32)
    prefix = np.empty((M, LANES), np.uint32)
    r, s = np.empty(LANES, np.uint32), np.empty(LANES, np.uint32)
    running, part = np.empty(LANES, np.uint32), np.empty(LANES, np.uint32)
    one = multiply(r2, ONE, p, q)
    node = np.empty(M, np.uint64)
    for m in range(M):
        node[m] = multiply(np.uint64(copies[m]), r2, p, q)
    for start in range(0, count, LANES):
        size = min(LANES, count - start)
        top[:] = 0
        bottom[:] = np.uint32(one)
        r[:] = np.uint32(one)
        s[:] = 0
        for h in range(heads):
            for lane in range(size):
                r[lane] = multiply(weight[h, start + lane], r2, p, q)
                s[lane] = multiply(numerator[h, start + lane], r2, p, q)
            for m in range(M):
                x = node[m]
                for lane in range(LANES):
                    factor = add(np.uint64(r[lane]), x, p)
                    below = np.uint64(bottom[m, lane])
                    top[m, lane] = multiply_add(
                        np.uint64(top[m, lane]), factor, np.uint64(s[lane]), below, p, q
                    )
                    bottom[m, lane] = multiply(below, factor, p, q)
        for m in range(M):
            for lane in range(LANES):
                b = np.uint64(bottom[m, lane])
                b = one if b == ZERO else b
                prefix[m, lane] = b if m == 0 else multiply(np.uint64(prefix[m - 1, lane]), b, p, q)
        invert(prefix[M - 1], running, p, q, one)
        for step in range(M):
            m = M - 1 - step
            for lane in range(LANES):
                b = np.uint64(bottom[m, lane])
                b = one if b == ZERO else b
                now = np.uint64(running[lane])
                part[lane] = now if m == 0 else multiply(np.uint64(prefix[m - 1, lane]), now, p, q)
                running[lane] = multiply(now, b, p, q)
            for lane in range(size):
                fraction = multiply(np.uint64(top[m, lane]), np.uint64(part[lane]), p, q)
                value = add(multiply(fraction, ONE, p, q), base[start + lane], p)
                out[m, start + lane] = UNDEFINED if bottom[m, lane] == 0 else value
