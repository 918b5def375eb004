"""Opening a checkpoint: its files, its config, and its attention layers one at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from flint import arb, fmpq

from exactattn.checkpoint.dyadic import Dyadic
from exactattn.checkpoint.layouts import LAYOUTS, Layout
from exactattn.checkpoint.layouts.layout import LayerPlaces
from exactattn.checkpoint.place import gather
from exactattn.checkpoint.tensor_files import TensorFiles
from exactattn.checkpoint.weights import AttentionWeights
from exactattn.exceptions import InputError
from exactattn.identify.config import read_config
from exactattn.identify.parameters import parameter_shapes
from exactattn.identify.spec import AttentionSpec, ModelSpec

__all__ = ["Checkpoint", "StoredLayer", "open_checkpoint"]


@dataclass(frozen=True)
class StoredLayer:
    """One attention layer: a name such as "layers 3", its architecture, and where it is stored."""

    name: str
    number: int
    spec: AttentionSpec
    layout: Layout
    prefix: str

    @property
    def places(self) -> LayerPlaces:
        """Where its parameters are."""
        return self.layout.places(self.spec, self.prefix, self.number)


class Checkpoint:
    """The attention layers of a checkpoint; nothing but tables is in memory until a layer is asked for."""

    def __init__(self, files: TensorFiles, model: ModelSpec, stored: list[StoredLayer]) -> None:
        self.files = files
        self.model = model
        self.stored = stored

    @property
    def layers(self) -> range:
        """The numbers of the layers: stacks one after the other."""
        return range(len(self.stored))

    def name(self, layer: int) -> str:
        """What layer ``layer`` is called: "layers 3", "decoder 0 cross"."""
        return self._layer(layer).name

    def spec(self, layer: int) -> AttentionSpec:
        """The architecture of layer ``layer``."""
        return self._layer(layer).spec

    def attention(self, layer: int) -> AttentionWeights:
        """The parameters of layer ``layer``. Raises InputError, with the tensor, for missing or misshapen
        ones, for numbers that are not finite, and for a bias the config does not know."""
        stored = self._layer(layer)
        shapes = parameter_shapes(stored.spec)
        places = stored.places
        self._refuse_unknown_biases(places)
        try:
            arrays = {name: gather(places[name], shape, self.files.tensor) for name, shape in shapes.items()}
        except InputError as error:
            raise error if error.file else error.in_file(self.files.path) from None
        shifted = (
            {name for name in arrays if name.endswith(" scale")} if stored.layout.norms_are_shifted else ()
        )
        return AttentionWeights(
            layer, stored.name, stored.spec, arrays, frozenset(shifted), stored.layout.norm_is_shared
        )

    def token_norm(self, layer: int) -> fmpq | None:
        """A bound on the norm of the tokens, where a norm of the layer below makes them (BERT); else None.

        Such a token is γ n + β with |n| ≤ √E, so its norm is at most √E max |γ| + |β|, rounded up.
        """
        stored = self._layer(layer)
        if stored.layout.norm_below is None:
            return None
        below, first = stored.layout.norm_below
        name = stored.prefix + (first if stored.number == 0 else below.format(i=stored.number - 1))
        for scale, shift in (("weight", "bias"), ("gamma", "beta")):
            if f"{name}.{scale}" in self.files and f"{name}.{shift}" in self.files:
                gamma, beta = (self.files.tensor(f"{name}.{each}") for each in (scale, shift))
                largest = arb(float(np.abs(gamma).max()))
                length = arb(Dyadic.of(beta).frobenius_squared()).sqrt()
                bound = (arb(len(gamma)).sqrt() * largest + length).upper()
                return bound.mid().fmpq()
        return None

    def _layer(self, layer: int) -> StoredLayer:
        if not 0 <= layer < len(self.stored):
            raise InputError(f"must be from 0 to {len(self.stored) - 1}, not {layer}", field="layer")
        return self.stored[layer]

    def _refuse_unknown_biases(self, places: LayerPlaces) -> None:
        known = {place.tensor for parts in places.values() for place in parts}
        for name in known:
            bias = name.removesuffix("weight") + "bias"
            if name.endswith(".weight") and bias in self.files and bias not in known:
                raise InputError(
                    "is in the file, but the config says there is no such bias; check the config",
                    file=self.files.path,
                    field=bias,
                )


def open_checkpoint(path: str | Path, config: str | Path | None = None) -> Checkpoint:
    """The attention layers of a .safetensors file, an index of shards, or a directory with one of these.

    ``config``: the model's config.json; None for the one beside the weights. Raises InputError, one sentence
    with file, field and mend, if there is none, if the model type is unknown or its layout is, or if tensors
    that every such model has are not there.
    """
    files = TensorFiles(Path(path))
    place = Path(config) if config is not None else files.directory / "config.json"
    if config is None and not place.is_file():
        raise InputError("has no config.json beside it; name one with --config", file=path)
    model = read_config(place)
    if model.family not in LAYOUTS:
        raise InputError(
            f"weights of {model.family} have names that are not known here; convert them to the layout of a "
            "known family",
            file=path,
        )
    return Checkpoint(files, model, list(_layers(files, model)))


def _layers(files: TensorFiles, model: ModelSpec) -> Iterator[StoredLayer]:
    """All layers, stack by stack, each stack in order."""
    found: dict[tuple[str, bool], dict[int, AttentionSpec]] = {}
    for group in model.layers:
        numbers = found.setdefault((group.stack, group.attention.cross), {})
        numbers.update(dict.fromkeys(group.numbers, group.attention))
    for key, specs in found.items():
        stack, cross = key
        layout, prefix = _find(files, LAYOUTS[model.family][key])
        for number in sorted(specs):
            name = f"{stack} {number} cross" if cross else f"{stack} {number}"
            yield StoredLayer(name, number, specs[number], layout, prefix)


def _find(files: TensorFiles, layouts: tuple[Layout, ...]) -> tuple[Layout, str]:
    """The first layout whose anchor is there, and what stands before its names."""
    for layout in layouts:
        anchor = re.escape(layout.anchor.format(i=0))
        prefixes = [m[1] for name in files.names if (m := re.fullmatch(rf"(|.*\.){anchor}", name))]
        fitting = [
            prefix
            for prefix in prefixes
            if layout.within in prefix and not (layout.not_within and layout.not_within in prefix)
        ]
        if fitting:
            return layout, min(fitting, key=len)
    raise InputError(
        f"has no tensor named {layouts[0].anchor.format(i=0)}; check the model_type in the config",
        file=files.path,
    )
