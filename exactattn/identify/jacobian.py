"""The Jacobian of a layer's outputs by its parameters at a point modulo a prime."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from exactattn.identify.parameters import Array, join, parameter_shapes
from exactattn.identify.spec import AttentionSpec
from exactattn.identify.specialisation import Point, Sizes

__all__ = ["JacobianRows", "input_sizes", "jacobian_rows", "read_positions"]

MOST_READ = 24


@dataclass(frozen=True)
class JacobianRows:
    """Rows of the Jacobian (outputs × parameters) and their numbers: output position in order of sequences
    and positions, times the width, plus the coordinate.
    """

    rows: Array
    numbers: list[int]


def longest_sequence(spec: AttentionSpec) -> int:
    """Tokens that show all rotation planes apart, all buckets of a relative bias, and several keys."""
    longest = 4 + spec.rotated
    if spec.relative_bias is not None:
        longest = max(longest, spec.relative_bias.max_distance + 2)
    return longest


def input_sizes(spec: AttentionSpec, outputs: int) -> Sizes:
    """Lengths of sequences with at least ``outputs`` independent output numbers: the longest first.

    >>> input_sizes(AttentionSpec.of(width=4, heads=2), 40)
    ((6, 0), (5, 0), (6, 0))
    """
    longest = longest_sequence(spec)
    useful = min(spec.width, spec.heads * spec.value_size + spec.output_bias)
    # at a position with i keys before it at most H·i scores are seen, and about half of the outputs needed
    # are for telling scores
    short = 4 + max(spec.rotated, min(spec.head_size, spec.width))
    longest = max(longest, short)
    sizes: list[tuple[int, int]] = []
    made = 0
    # behind a norm, about half of the positions have a root
    outputs = 2 * outputs + 2 * spec.width if spec.norm_after is not None else outputs
    while made < outputs or not sizes:
        n = longest if not sizes else short - len(sizes) % 2
        sizes.append((n, short if spec.cross else 0))
        # without keys before it, the first position shows no scores
        made += (len(read_positions(n)) - (1 if spec.causal else 0)) * useful
    return tuple(sizes)


def read_positions(length: int) -> list[int]:
    """All positions, or some evenly spaced ones up to the last.

    >>> read_positions(3), len(read_positions(1000))
    ([0, 1, 2], 24)
    """
    if length <= MOST_READ:
        return list(range(length))
    return sorted({(k + 1) * length // MOST_READ - 1 for k in range(MOST_READ)})


def jacobian_rows(point: Point, sequences: Sequence[int] | None = None) -> Iterator[JacobianRows]:
    """The rows of each sequence, for all positions read.

    >>> point = Point.draw(AttentionSpec.of(width=2, heads=1), 1, ((2, 0),))
    >>> [part.rows.shape for part in jacobian_rows(point)]
    [(4, 16)]
    """
    width = point.spec.width
    shapes = parameter_shapes(point.spec)
    before = 0
    for index, (n, _) in enumerate(point.sizes):
        if sequences is None or index in sequences:
            run, outputs, read = point.outputs(index, read_positions(n))
            if read:
                count = len(read) * width
                cotangents = np.eye(count, dtype=np.int64).reshape(count, len(read), width)
                parts = run.tape.pull_back(outputs, cotangents, list(run.leaves.values()))
                named = dict(zip(run.leaves, parts, strict=True))
                numbers = [(before + i) * width + e for i in read for e in range(width)]
                yield JacobianRows(join(named, shapes, lead=1), numbers)
        before += n
