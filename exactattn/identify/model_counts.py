"""Counts of whole models: the attention part, equal layers folded, shared tables counted once."""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.identify.counts import Count, count_block, count_layer
from exactattn.identify.spec import ModelSpec

__all__ = ["CountedLayers", "ModelCount", "count_model"]


@dataclass(frozen=True, kw_only=True)
class CountedLayers:
    """Equal layers, or one shared table, with the count of one of them and how many there are."""

    name: str
    count: Count
    repeat: int

    @property
    def parameters(self) -> int:
        """Of all of them."""
        return self.repeat * self.count.parameters

    @property
    def unidentified(self) -> int:
        """Of all of them, for the ε of the layers."""
        return self.repeat * self.count.unidentified

    @property
    def unidentified_at_zero(self) -> int:
        """Of all of them, with every ε = 0."""
        return self.repeat * self.count.unidentified_at_zero


@dataclass(frozen=True, kw_only=True)
class ModelCount:
    """The count of a model's attention part; ``layers`` are its groups of equal layers and shared tables."""

    model: ModelSpec
    layers: tuple[CountedLayers, ...]

    @property
    def parameters(self) -> int:
        """All learned numbers."""
        return sum(group.parameters for group in self.layers)

    @property
    def unidentified(self) -> int:
        """Directions that change no layer's function, for the ε of the layers."""
        return sum(group.unidentified for group in self.layers)

    @property
    def unidentified_at_zero(self) -> int:
        """The same with every ε = 0."""
        return sum(group.unidentified_at_zero for group in self.layers)

    @property
    def identified(self) -> int:
        """parameters − unidentified."""
        return self.parameters - self.unidentified

    @property
    def ratio(self) -> fmpq:
        """identified / parameters."""
        return fmpq(self.identified, self.parameters)


def count_model(model: ModelSpec, *, norms: bool = False) -> ModelCount:
    """Count the attention layers of a model, each as a function of its own inputs.

    ``norms``: count each layer with the norms around it. A relative-bias table that several layers share is
    one group of its own: a constant a head added to it changes none of them. Raises InputError where no
    count of a layer is derived.

    >>> from exactattn.identify import AttentionSpec, Layers
    >>> layer = AttentionSpec.of(768, 12)
    >>> layers = (Layers(name="layers 0–3", attention=layer, repeat=4),)
    >>> model = ModelSpec(name="toy", family="toy", layers=layers)
    >>> count_model(model).unidentified
    393216
    """
    shared = {name for names in model.shared_relative_bias for name in names}
    counted, tables = [], []
    for group in model.layers:
        try:
            count = count_block(group.attention) if norms else count_layer(group.attention)
        except InputError as error:
            raise InputError(f"in {group.name}: {error}") from None
        if group.name in shared:
            rest = tuple(part for part in count.parts if part.name != "relative bias")
            table = tuple(part for part in count.parts if part.name == "relative bias")
            if any(group.name == sorted(names)[0] for names in model.shared_relative_bias):
                tables.append(
                    CountedLayers(
                        name=f"relative-bias table of {group.name}", count=Count(count.spec, table), repeat=1
                    )
                )
            count = Count(count.spec, rest)
        counted.append(CountedLayers(name=group.name, count=count, repeat=group.repeat))
    return ModelCount(model=model, layers=(*counted, *tables))
