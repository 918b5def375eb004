"""A layer after a transformation: its new parameters, the gauge elements, and what was left alone and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from exactattn.checkpoint.elements import GaugeElement
from exactattn.checkpoint.place import Array
from exactattn.checkpoint.weights import AttentionWeights

__all__ = ["Moved", "stored_parameters", "true_parameters"]


@dataclass(frozen=True)
class Moved:
    """``weights``: the layer with new parameters, in float64, not yet rounded to what is stored;
    ``elements``: the gauge elements applied, in order; ``notes``: what was left alone, and why."""

    weights: AttentionWeights
    elements: tuple[GaugeElement, ...] = ()
    notes: tuple[str, ...] = ()

    def then(self, other: Moved) -> Moved:
        """This, followed by a transformation of what it gave."""
        return Moved(other.weights, self.elements + other.elements, self.notes + other.notes)


def true_parameters(weights: AttentionWeights) -> dict[str, Array]:
    """The parameters, with 1 added to scales that are stored less 1 (rounded to float64); arrays that are
    not such scales are the layer's own, to be replaced and not written to."""
    return {
        name: array + 1 if name in weights.shifted else array for name, array in weights.parameters.items()
    }


def stored_parameters(weights: AttentionWeights, true: Mapping[str, Array]) -> AttentionWeights:
    """The layer with these true parameters."""
    return weights.with_parameters(
        {name: array - 1 if name in weights.shifted else array for name, array in true.items()}
    )
