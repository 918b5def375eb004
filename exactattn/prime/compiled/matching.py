# mypy: ignore-errors
"""Partners of poles (see ``exactattn.prime.matching``)."""

import numpy as np

from exactattn.prime.compiled.lanes import LANES, ONE, WORD, ZERO, add, compiled


@compiled
def labels_and_partners(x, x_values, y, y_values, z, z_values, added, n, p, labels, partners):
    """Scores ``x``, ``y``, ``z`` and residues, already multiplied by their weights; ``added``: residues add,
    otherwise they are equal."""
    K, count = x.shape
    keys = np.empty((K, LANES), np.uint64)
    rows = np.empty((K, LANES), np.uint64)
    columns = np.empty((K, LANES), np.uint64)
    seen = np.empty((K, LANES), np.uint64)
    positions = np.empty(LANES, np.uint64)
    key = np.empty(LANES, np.uint64)
    hits = np.empty(LANES, np.uint64)
    for start in range(0, count, LANES):
        size = min(LANES, count - start)
        rows[:] = 0
        columns[:] = 0
        seen[:] = 0
        for k in range(K):
            for lane in range(size):
                keys[k, lane] = (z[k, start + lane] << WORD) | z_values[k, start + lane]
        for h in range(K):
            positions[:] = 0
            for g in range(K):
                for lane in range(size):
                    score = add(x[h, start + lane], y[g, start + lane], n)
                    a, b = x_values[h, start + lane], y_values[g, start + lane]
                    value = add(a, b, p) if added else a
                    key[lane] = (score << WORD) | value
                    hits[lane] = 0
                for k in range(K):
                    for lane in range(LANES):
                        hits[lane] += ONE if key[lane] == keys[k, lane] else ZERO
                for lane in range(size):
                    differs = x_values[h, start + lane] != y_values[g, start + lane]
                    found = ZERO if not added and differs else hits[lane]
                    rows[h, lane] += found
                    columns[g, lane] += found
                    seen[h, lane] |= found
                    positions[lane] += np.uint64(g) * found
            for lane in range(size):
                labels[h, start + lane] = np.uint8(positions[lane])
        for h in range(K):
            for lane in range(size):
                most = max(np.uint8(rows[h, lane]), np.uint8(columns[h, lane]))
                partners[h, start + lane] = most if seen[h, lane] else np.uint8(0)
