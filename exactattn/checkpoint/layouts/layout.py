"""What the layouts of all families share: separate and fused projections, their biases, and norms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from exactattn.checkpoint.place import Array, Place, Places
from exactattn.identify.features import Norm
from exactattn.identify.spec import AttentionSpec

__all__ = ["Fusion", "LayerPlaces", "Layout", "StackKey", "norm", "projection", "split_rows"]

LayerPlaces = dict[str, Places]
"""Places by the names of :func:`~exactattn.identify.parameters.parameter_shapes`."""

StackKey = tuple[str, bool]
"""The name of a stack of layers, and whether these are its cross-attention layers."""


@dataclass(frozen=True)
class Layout:
    """Where one stack of layers keeps its parameters.

    ``anchor``: a tensor every such checkpoint has, with {i} for the layer, after any prefix that holds
    ``within`` and does not hold ``not_within``, where these are not empty. ``places``: from the architecture,
    the prefix of all names and the layer's number to the places.
    ``norms_are_shifted``: scales are stored less 1. ``norm_is_shared``: why the norm before the layer feeds
    more than the layer, if it does. ``norm_below``: where a norm of the layer below (of the embeddings, for
    the first layer) makes the tokens, the names of both.
    """

    anchor: str
    places: Callable[[AttentionSpec, str, int], LayerPlaces]
    norms_are_shifted: bool = False
    norm_is_shared: str = ""
    norm_below: tuple[str, str] | None = None
    within: str = ""
    not_within: str = ""


class Fusion(Enum):
    """How queries, keys and values share one tensor: as three blocks, or group by group."""

    BLOCKS = "blocks"
    GROUPS = "groups"


def split_rows(spec: AttentionSpec, fusion: Fusion) -> dict[str, Array]:
    """The rows of the queries, keys and values in a fused tensor.

    >>> spec = AttentionSpec.of(width=4, heads=2, groups=1, head_size=2)
    >>> {name: rows.tolist() for name, rows in split_rows(spec, Fusion.GROUPS).items()}
    {'query': [0, 1, 2, 3], 'key': [4, 5], 'value': [6, 7]}
    """
    D, C, m = spec.head_size, spec.value_size, spec.heads_per_group
    if fusion is Fusion.BLOCKS:
        sizes = (spec.heads * D, spec.groups * D, spec.groups * C)
        rows = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    else:
        table = np.arange(spec.groups * (m * D + D + C)).reshape(spec.groups, -1)
        rows = [part.reshape(-1) for part in np.split(table, [m * D, m * D + D], axis=1)]
    return dict(zip(("query", "key", "value"), rows, strict=True))


def projection(
    name: str, tensor: str, bias: bool, rows: Array | None = None, *, transposed: bool = False
) -> LayerPlaces:
    """A projection and its bias, if it has one."""
    places: LayerPlaces = {name: (Place(f"{tensor}.weight", rows, transposed),)}
    if bias:
        places[f"{name} bias"] = (Place(f"{tensor}.bias", rows),)
    return places


def norm(name: str, tensors: str | Sequence[str], kind: Norm | None) -> LayerPlaces:
    """The scales and shifts of a norm, in one tensor or one a head."""
    if kind is None:
        return {}
    names = [tensors] if isinstance(tensors, str) else list(tensors)
    places: LayerPlaces = {}
    if kind.scale:
        places[f"{name} scale"] = tuple(Place(f"{each}.weight") for each in names)
    if kind.shift:
        places[f"{name} shift"] = tuple(Place(f"{each}.bias") for each in names)
    return places
