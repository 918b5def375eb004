"""The learned numbers of a layer as named arrays, and the one order in which vectors list them.

Matrices are out × in, heads below each other in blocks of rows (``output``: beside each other in blocks of
columns). Rotated dimensions are the first of a head.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from exactattn.identify.features import Norm, Scope, Sinks, Tie
from exactattn.identify.spec import AttentionSpec

__all__ = ["Array", "Parameters", "Shapes", "join", "parameter_count", "parameter_shapes", "split"]

Array = npt.NDArray[Any]
Shapes = dict[str, tuple[int, ...]]
Parameters = dict[str, Array]


def parameter_shapes(spec: AttentionSpec) -> Shapes:
    """Name and shape of every array of learned numbers, in the order of vectors; norms around the layer
    included.

    >>> parameter_shapes(AttentionSpec.of(width=4, heads=2, key_bias=True))
    {'query': (4, 4), 'key': (4, 4), 'key bias': (4,), 'value': (4, 4), 'output': (4, 4)}
    """
    shapes: Shapes = {}
    for name, shape in _entries(spec):
        shapes[name] = shape
    return shapes


def _entries(spec: AttentionSpec) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield from _norm("before", spec.norm_before, spec.width)
    query_width, key_width = spec.width, spec.key_width
    for name, latent, width in (
        ("query", spec.query_latent, spec.width),
        ("key/value", spec.key_value_latent, spec.key_width),
    ):
        if latent is not None:
            yield from _linear(f"{name} down", latent.rank, width, latent.bias)
            yield from _norm(f"{name} latent", latent.norm, latent.rank)
    if spec.query_latent is not None:
        query_width = spec.query_latent.rank
    shared = 0
    if spec.key_value_latent is not None:
        key_width = spec.key_value_latent.rank
        if spec.rotary is not None and spec.rotary.shared_key:
            shared = spec.rotated
            yield from _linear("rotated key", shared, spec.key_width, spec.key_value_latent.bias)
    query_heads = spec.groups if Tie.QUERY_HEADS in spec.ties else spec.heads
    keys, values = spec.groups * (spec.head_size - shared), spec.groups * spec.value_size
    yield from _linear("query", query_heads * spec.head_size, query_width, spec.query_bias)
    if Tie.QUERY_KEY not in spec.ties:
        yield from _linear("key", keys, key_width, spec.key_bias)
    if Tie.KEY_VALUE not in spec.ties:
        yield from _linear("value", values, key_width, spec.value_bias)
    yield from _linear("output", spec.width, spec.heads * spec.value_size, spec.output_bias)
    if spec.query_key_norm is not None:
        norm, shared_scales = spec.query_key_norm.norm, spec.query_key_norm.scope is Scope.SHARED
        yield from _norm("query norm", norm, spec.head_size * (1 if shared_scales else query_heads))
        yield from _norm("key norm", norm, spec.head_size * (1 if shared_scales else spec.groups))
    if spec.sinks is Sinks.LEARNED:
        yield "sinks", (spec.heads,)
    if spec.relative_bias is not None:
        yield "relative bias", (spec.heads, spec.relative_bias.buckets)
    yield from _norm("after", spec.norm_after, spec.width)


def _linear(name: str, rows: int, columns: int, bias: bool) -> Iterator[tuple[str, tuple[int, ...]]]:
    if rows:
        yield name, (rows, columns)
        if bias:
            yield f"{name} bias", (rows,)


def _norm(name: str, norm: Norm | None, size: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    if norm is not None and norm.scale:
        yield f"{name} scale", (size,)
    if norm is not None and norm.shift:
        yield f"{name} shift", (size,)


def parameter_count(spec: AttentionSpec) -> int:
    """The length of a vector of all learned numbers.

    >>> parameter_count(AttentionSpec.of(width=4, heads=2))
    64
    """
    return sum(math.prod(shape) for shape in parameter_shapes(spec).values())


def split(vector: Array, shapes: Mapping[str, tuple[int, ...]]) -> Parameters:
    """The named arrays of a vector whose last axis lists all learned numbers; other axes stay in front."""
    arrays, start = {}, 0
    for name, shape in shapes.items():
        size = math.prod(shape)
        arrays[name] = vector[..., start : start + size].reshape(*vector.shape[:-1], *shape)
        start += size
    return arrays


def join(arrays: Mapping[str, Array], shapes: Mapping[str, tuple[int, ...]], lead: int = 0) -> Array:
    """The vector of all learned numbers, the inverse of :func:`split`; ``lead`` axes stay in front.

    >>> shapes = parameter_shapes(AttentionSpec.of(width=2, heads=1))
    >>> bool((join(split(np.arange(16), shapes), shapes) == np.arange(16)).all())
    True
    """
    parts = [arrays[name].reshape(*arrays[name].shape[:lead], -1) for name in shapes]
    return np.concatenate(parts, axis=-1)
