"""A layer seen through few coordinates of its input: small enough to be run exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from flint import fmpq

from exactattn.checkpoint.dyadic import Dyadic, power_of_two
from exactattn.identify.features import Tie
from exactattn.identify.parameters import Array
from exactattn.identify.spec import AttentionSpec

__all__ = ["restricted"]


def restricted(
    spec: AttentionSpec,
    parameters: Mapping[str, Array],
    columns: Sequence[int],
    rows: Sequence[int] | None = None,
    *,
    exact: bool = True,
) -> dict[str, Array]:
    """The parameters of the bare layer on inputs that are 0 outside ``columns``, read at ``rows`` of its
    output (all for None): rationals, or floats where ``exact`` is False. Scale and shift of a norm before
    the layer are folded in.

    >>> spec = AttentionSpec.of(width=2, heads=1)
    >>> eye = {name: np.eye(2) for name in ("query", "key", "value", "output")}
    >>> restricted(spec, eye, [1])["key"].tolist()
    [[0], [1]]
    """
    convert = _rationals if exact else np.asarray
    readers = _readers(spec)
    normed = readers & {"query", "query down"} if spec.cross else readers
    found: dict[str, Array] = {}
    for name, array in parameters.items():
        if name.startswith(("before ", "after ")):
            continue
        kept = array[:, list(columns)] if name in readers else array
        if name.startswith("output") and rows is not None:
            kept = kept[list(rows)]
        found[name] = convert(kept)
    if "before scale" in parameters:
        scale = convert(parameters["before scale"][list(columns)])
        for name in normed & found.keys():
            found[name] = found[name] * scale
    if "before shift" in parameters:
        for name in normed & found.keys():
            bias, moved = f"{name} bias", _moved(parameters[name], parameters["before shift"], exact)
            found[bias] = found[bias] + moved if bias in found else moved
    return found


def _moved(matrix: Array, shift: Array, exact: bool) -> Array:
    """What the shift of a norm adds behind a projection."""
    if not exact:
        return np.asarray(matrix @ shift)
    product = Dyadic.of(matrix) @ Dyadic.of(shift)
    return _objects([product.entry(i, 0) for i in range(product.shape[0])], (product.shape[0],))


def _readers(spec: AttentionSpec) -> set[str]:
    """The projections that read the layer's input itself."""
    queries = "query" if spec.query_latent is None else "query down"
    if spec.key_value_latent is not None:
        return {queries, "key/value down", "rotated key"}
    readers = {queries}
    if Tie.QUERY_KEY not in spec.ties:
        readers.add("key")
    if Tie.KEY_VALUE not in spec.ties:
        readers.add("value")
    return readers


def _rationals(array: Array) -> Array:
    given = np.asarray(array)
    exact = Dyadic.of(given)
    unit = power_of_two(exact.exponent)
    return _objects([fmpq(x) * unit for x in exact.integers.entries()], given.shape)


def _objects(entries: list[Any], shape: tuple[int, ...]) -> Array:
    made = np.empty(len(entries), dtype=object)
    made[:] = entries
    return made.reshape(shape)
