"""Where an array of parameters is stored: which rows of which tensors, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactattn.exceptions import InputError

__all__ = ["Place", "Places", "assign", "gather"]

Array = NDArray[Any]
Read = Callable[[str], Array]


@dataclass(frozen=True)
class Place:
    """Rows of a tensor (all of them if None), which is stored as it is, or as inputs × outputs."""

    tensor: str
    rows: Array | None = None
    transposed: bool = False

    def view(self, tensor: Array) -> Array:
        """The part of the tensor that is meant, out × in."""
        whole = tensor.T if self.transposed else tensor
        return whole if self.rows is None else whole[self.rows]


Places = tuple[Place, ...]
"""Parts of one array of parameters, below each other."""


def gather(places: Places, shape: tuple[int, ...], read: Read) -> Array:
    """The array of parameters as float64. Raises InputError, with the tensor, unless it has this shape."""
    parts = [_part(place, read(place.tensor)) for place in places]
    array = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if array.ndim != len(shape):  # scales of all heads as heads × dimensions
        array = array.reshape(-1) if len(shape) == 1 else array
    if array.shape != shape:
        raise InputError(
            f"has shape {array.shape}, but the config gives {shape}; check the config",
            field=places[0].tensor,
        )
    return np.asarray(array, dtype=np.float64)


def _part(place: Place, tensor: Array) -> Array:
    size = tensor.shape[-1 if place.transposed else 0] if tensor.ndim else 0
    if tensor.ndim == 0 or (place.rows is not None and size <= int(place.rows.max())):
        raise InputError(
            f"has shape {tensor.shape}, too small for the config; check the config", field=place.tensor
        )
    return place.view(tensor)


def assign(places: Places, array: Array, tensors: dict[str, Array]) -> None:
    """Write an array of parameters into the tensors it came from, in place."""
    for place, part in _parts(places, array, tensors):
        tensor = tensors[place.tensor]
        whole = tensor.T if place.transposed else tensor
        if place.rows is None:
            whole[...] = part.reshape(whole.shape)
        else:
            whole[place.rows] = part


def _parts(places: Places, array: Array, tensors: dict[str, Array]) -> Iterator[tuple[Place, Array]]:
    start = 0
    for place in places:
        size = len(array) if len(places) == 1 else len(place.view(tensors[place.tensor]))
        yield place, array[start : start + size]
        start += size
