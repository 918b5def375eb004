"""All symmetries of a layer at a point, and their tangents as sparse vectors in one order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactattn.identify.gauge import LinearSymmetry, ShiftSymmetry, TangentsOnly
from exactattn.identify.gauge_around import around_symmetries
from exactattn.identify.gauge_heads import head_symmetries
from exactattn.identify.gauge_isospectral import IsospectralScales
from exactattn.identify.gauge_shifts import AgainstMean, shift_symmetries
from exactattn.identify.parameters import Parameters, parameter_shapes
from exactattn.identify.spec import AttentionSpec

__all__ = ["GaugeTangent", "Symmetry", "gauge_tangents", "symmetries"]

Symmetry = LinearSymmetry | ShiftSymmetry | AgainstMean | TangentsOnly | IsospectralScales


@dataclass(frozen=True)
class GaugeTangent:
    """A direction in which the function does not change: its symmetry and its entries by parameter number."""

    symmetry: str
    entries: dict[int, Any]


def symmetries(spec: AttentionSpec, parameters: Parameters) -> Iterator[Symmetry]:
    """The symmetries of a layer at a point, given as arrays of fmpq or nmod objects, in a fixed order.

    The factor on scores counts as absorbed by the queries.

    >>> from flint import fmpq
    >>> from exactattn.identify.parameters import parameter_shapes
    >>> spec = AttentionSpec.of(width=2, heads=1, key_bias=True)
    >>> arrays = {k: np.full(s, fmpq(1)) for k, s in parameter_shapes(spec).items()}
    >>> [symmetry.name for symmetry in symmetries(spec, arrays)]
    ['basis of queries and keys', 'basis of values', 'key bias']
    """
    yield from head_symmetries(spec)
    yield from around_symmetries(spec)
    yield from shift_symmetries(spec, parameters)
    yield from IsospectralScales.of(spec)


def gauge_tangents(spec: AttentionSpec, parameters: Parameters) -> Iterator[GaugeTangent]:
    """The tangents of all symmetries at a point; they need not be independent."""
    shapes = parameter_shapes(spec)
    starts, start = {}, 0
    for name, shape in shapes.items():
        starts[name] = start
        start += math.prod(shape)
    for symmetry in symmetries(spec, parameters):
        for tangent in symmetry.tangents(parameters):
            entries = {
                starts[name] + int(np.ravel_multi_index(index, shapes[name])): x
                for name, part in tangent.items()
                for index, x in part.items()
            }
            yield GaugeTangent(symmetry.name, entries)
