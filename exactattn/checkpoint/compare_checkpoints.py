"""Two checkpoints, attention layer by attention layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from flint import fmpq

from exactattn.checkpoint.checkpoint import Checkpoint
from exactattn.checkpoint.compare import LayerComparison, Sameness, compare_layers, rounding_share
from exactattn.exceptions import InputError
from exactattn.identify.config_file import load_object
from exactattn.identify.parameters import Array, parameter_shapes
from exactattn.identify.spec import AttentionSpec

__all__ = [
    "NamedComparison",
    "check_angles",
    "compare_checkpoints",
    "overall",
    "stored_layer",
    "unlike_tensors",
]

ANGLE_FIELDS = (
    "rope_scaling",
    "rope_parameters",
    "max_position_embeddings",
    "original_max_position_embeddings",
)
UNITS = {"F64": 53, "F32": 24, "F16": 11, "BF16": 8}
"""Bits of precision: rounding moves a number by at most 2^(−bits) of itself."""


@dataclass(frozen=True)
class NamedComparison:
    """The comparison of the layers of this number in both checkpoints."""

    layer: int
    name: str
    comparison: LayerComparison


def compare_checkpoints(
    first: Checkpoint,
    second: Checkpoint,
    within: fmpq | None = None,
    layers: Sequence[int] | None = None,
) -> Iterator[NamedComparison]:
    """Compares the attention layers of equal number, one at a time.

    ``within``: the share of its size that a form may be off; None for what rounding to the coarser stored
    type explains (:func:`~exactattn.checkpoint.compare.rounding_share`). Rules for angles with the same
    name count as the same: see :func:`check_angles`. Raises InputError if the numbers of
    layers differ or a layer cannot be read.
    """
    if len(first.layers) != len(second.layers):
        raise InputError(
            f"has {len(second.layers)} attention layers, but {first.files.path} has {len(first.layers)}; "
            "compare checkpoints of one depth",
            file=second.files.path,
        )
    for layer in layers if layers is not None else first.layers:
        one, other = stored_layer(first, layer), stored_layer(second, layer)
        share = within
        if share is None:
            bits = min(_bits(checkpoint, layer) for checkpoint in (first, second))
            share = rounding_share(fmpq(1, 1 << bits))
        yield NamedComparison(layer, first.name(layer), compare_layers(one, other, share))


def stored_layer(checkpoint: Checkpoint, layer: int) -> tuple[AttentionSpec, Mapping[str, Array]]:
    """Architecture and parameters of a layer; scales that are stored less 1 have it added.

    Raises InputError where that sum does not fit in float64.
    """
    weights = checkpoint.attention(layer)
    whole = {name: weights.parameters[name] + 1 for name in weights.shifted}
    for name, array in whole.items():
        if (array - 1 != weights.parameters[name]).any():
            raise InputError(
                f"the {name} of {weights.name} lies too close to 1 for float64; store it in fewer bits",
                file=checkpoint.files.path,
            )
    return weights.spec, {**weights.parameters, **whole}


def check_angles(first: Checkpoint, second: Checkpoint, configs: tuple[Path | None, Path | None]) -> None:
    """Raise InputError if a layer rotates by a rule whose numbers differ in the two configs (None: the one
    beside the weights): an architecture knows rules by name only.
    """
    rotary = [checkpoint.spec(i).rotary for checkpoint in (first, second) for i in checkpoint.layers]
    if all(each is None or each.rule is None for each in rotary):
        return
    paths = [
        config if config is not None else checkpoint.files.directory / "config.json"
        for config, checkpoint in zip(configs, (first, second), strict=True)
    ]
    one, other = (load_object(path) for path in paths)
    for field in ANGLE_FIELDS:
        if one.get(field) != other.get(field):
            raise InputError(
                f"differs from that of {paths[0]}, and changes the angles of rotary positions; compare "
                "checkpoints with the same angles",
                file=paths[1],
                field=field,
            )


def _bits(checkpoint: Checkpoint, layer: int) -> int:
    """The coarsest precision among the tensors of a layer."""
    stored = checkpoint.stored[layer]
    tensors = {place.tensor for name in parameter_shapes(stored.spec) for place in stored.places[name]}
    files = checkpoint.files
    if any(not files.home(name).safetensors for name in tensors):
        return min(np.finfo(files.tensor(name).dtype).nmant + 1 for name in tensors)
    return min(UNITS[files.home(name).stored_type(name)] for name in tensors)


def overall(comparisons: Sequence[LayerComparison]) -> Sameness:
    """The verdict on all layers: one that differs decides, then one that is unknown, then one within.

    >>> overall([LayerComparison(fmpq(0))]).value
    'equal modulo gauge'
    """
    verdicts = {comparison.verdict for comparison in comparisons}
    for verdict in (Sameness.DIFFERENT, Sameness.UNKNOWN, Sameness.WITHIN):
        if verdict in verdicts:
            return verdict
    return Sameness.EQUAL


def unlike_tensors(first: Checkpoint, second: Checkpoint) -> list[str]:
    """Names of tensors outside the attention layers that are not the same, byte for byte, in both; those
    that stand in one only are among them.
    """
    inside = {
        place.tensor
        for checkpoint in (first, second)
        for stored in checkpoint.stored
        for places in stored.places.values()
        for place in places
    }
    names = [first.files.names, second.files.names]
    found = []
    for name in dict.fromkeys([*names[0], *names[1]]):
        if name in inside:
            continue
        if name not in first.files or name not in second.files or _bytes(first, name) != _bytes(second, name):
            found.append(name)
    return found


def _bytes(checkpoint: Checkpoint, name: str) -> bytes:
    file = checkpoint.files.home(name)
    if not file.safetensors:
        return file.tensor(name).tobytes()
    begin, end = file.place(name)
    with file.path.open("rb") as stream:
        stream.seek(begin)
        return stream.read(end - begin)
