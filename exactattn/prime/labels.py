"""Labels from candidates: which pole of a probe can belong to which head."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exactattn.prime.kernels import Flags

__all__ = ["unique_labels"]


def unique_labels(candidates: Flags) -> tuple[NDArray[np.int64], Flags]:
    """The pole of each head (K, P) from candidates (K heads, K poles, P), and where it is not the only
    choice.

    The true labelling is among the candidates, so a head with one candidate takes that pole from the others;
    what is forced in this way is right.

    >>> both, second = [True, True], [False, True]
    >>> labels, bad = unique_labels(np.array([both, second])[:, :, None])
    >>> labels[:, 0].tolist(), bad.tolist()
    ([0, 1], [False])
    """
    K, _, count = candidates.shape
    labels = candidates.argmax(axis=1) if K else np.zeros((0, count), dtype=np.int64)
    ones = np.ascontiguousarray(candidates).view(np.uint8)  # at most 255 heads
    bad = (ones.sum(axis=1, dtype=np.uint8) != 1).any(axis=0) | (ones.sum(axis=0, dtype=np.uint8) != 1).any(
        axis=0
    )
    for column in np.flatnonzero(bad).tolist():
        found = _forced([set(np.flatnonzero(row).tolist()) for row in candidates[:, :, column]])
        if found is not None:
            labels[:, column] = found
            bad[column] = False
    return labels, bad


def _forced(choices: list[set[int]]) -> list[int] | None:
    found: dict[int, int] = {}
    while len(found) < len(choices):
        single = [h for h, poles in enumerate(choices) if h not in found and len(poles) == 1]
        if not single:
            return None
        (found[single[0]],) = choices[single[0]]
        choices = [poles - {found[single[0]]} for poles in choices]
    return [found[h] for h in range(len(choices))]
