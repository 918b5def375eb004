"""Which pole belongs to which head, where some heads have several candidates or share a pole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any

from flint import fmpq

__all__ = ["shared_labels", "unique_matching"]

MAX_TRIES = 1 << 16


def unique_matching(candidates: Sequence[Sequence[int]]) -> list[int] | None:
    """The one way to give every head a candidate of its own; None if there is none, or several.

    >>> unique_matching([[0, 1], [1], [2, 0]])
    [0, 1, 2]
    >>> unique_matching([[0, 1], [0, 1]]) is None
    True
    """
    order = sorted(range(len(candidates)), key=lambda h: len(candidates[h]))

    def ways(n: int, taken: dict[int, int]) -> Iterator[list[int]]:
        if n == len(order):
            owner = {h: k for k, h in taken.items()}
            yield [owner[h] for h in range(len(candidates))]
            return
        for k in candidates[order[n]]:
            if k not in taken:
                yield from ways(n + 1, {**taken, k: order[n]})

    found = list(islice(ways(0, {}), 2))
    return found[0] if len(found) == 1 else None


def shared_labels(
    residues: Sequence[fmpq], options: Sequence[Sequence[tuple[int, fmpq, Any]]]
) -> list[Any] | None:
    """For every head the third entry of one of its options (pole, residue, what it means), so that the
    residues of the heads at each pole add up to that of the pole, and no pole is left over. None if that can
    be done in no way, or in several.

    >>> shared_labels([fmpq(5), fmpq(7)], [[(0, fmpq(2), "a")], [(0, fmpq(3), "b"), (1, fmpq(9), "c")],
    ...               [(1, fmpq(7), "d")]])
    ['a', 'b', 'd']
    """
    alone = [[o for o in chosen if o[1] == residues[o[0]]] for chosen in options]
    labels = unique_matching([[k for k, _, _ in chosen] for chosen in alone])
    if labels is not None and len(residues) == len(options):
        fitting = [[o for o in chosen if o[0] == k] for chosen, k in zip(alone, labels, strict=True)]
        return [chosen[0][2] for chosen in fitting] if all(len(c) == 1 for c in fitting) else None
    # Heads that share a pole are rare; the poles of the others are left to them first.
    if len(residues) == len(options):
        return None
    first = [own if len(own) == 1 else chosen for own, chosen in zip(alone, options, strict=True)]
    return _adding_up(residues, first) or _adding_up(residues, options)


def _adding_up(
    residues: Sequence[fmpq], options: Sequence[Sequence[tuple[int, fmpq, Any]]]
) -> list[Any] | None:
    if _size(options) > MAX_TRIES:
        return None
    found = list(islice(_ways(residues, options), 2))
    return found[0] if len(found) == 1 else None


def _size(options: Sequence[Sequence[Any]]) -> int:
    size = 1
    for chosen in options:
        size *= len(chosen)
    return size


def _ways(
    residues: Sequence[fmpq], options: Sequence[Sequence[tuple[int, fmpq, Any]]]
) -> Iterator[list[Any]]:
    for chosen in product(*options):
        if len({k for k, _, _ in chosen}) < len(residues):
            continue
        left = list(residues)
        for k, residue, _ in chosen:
            left[k] -= residue
        if not any(left):
            yield [meaning for _, _, meaning in chosen]
