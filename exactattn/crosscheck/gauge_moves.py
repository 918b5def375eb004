"""Symmetries applied to all attention layers of a model in memory.

Every element is exact; only the stored weights are rounded, and the exact ones are returned beside them.
"""

from __future__ import annotations

import random
from typing import Any

from flint import arb, fmpq

from exactattn.crosscheck.model_layers import ModelLayer
from exactattn.crosscheck.rounding import each
from exactattn.identify.gauge import TangentsOnly
from exactattn.identify.gauge_isospectral import IsospectralScales
from exactattn.identify.parameters import Array, Parameters
from exactattn.identify.symmetries import symmetries

DRAWS = 8

__all__ = ["move_along_symmetries", "random_element"]


def random_element(
    layer: ModelLayer, parameters: Parameters, source: random.Random
) -> tuple[Parameters, list[str]]:
    """The parameters of a layer moved by a random element of every symmetry in turn, and the names of these.

    Of some draws of each element the one that leaves the smallest weights is taken: roundings grow with them.
    """
    names = []
    for number in range(len(list(symmetries(layer.spec, parameters)))):
        symmetry = list(symmetries(layer.spec, parameters))[number]  # shifts depend on the point
        if not isinstance(symmetry, TangentsOnly | IsospectralScales):
            drawn = [symmetry.transformed(parameters, source, lambda x: x) for _ in range(DRAWS)]
            parameters = min((x for x in drawn if not _equal(x, parameters)), key=_weight)
            names.append(symmetry.name)
    return parameters, names


def _equal(a: Parameters, b: Parameters) -> bool:
    return all(bool((a[name] == b[name]).all()) for name in a)


def _weight(parameters: Parameters) -> float:
    return sum(float(int(x.p) / int(x.q)) ** 2 for array in parameters.values() for x in array.flat)


def move_along_symmetries(
    model: Any, layers: list[ModelLayer], seed: int
) -> tuple[dict[str, Array], list[str]]:
    """Moves every layer of a model by random elements of all its symmetries and stores rounded weights.

    Returns the exact weights by parameter (for :func:`~exactattn.crosscheck.enclosed_run`), and the names of
    the symmetries used.
    """
    source = random.Random(seed)
    exact: dict[str, Array] = {}
    used: dict[str, None] = {}
    for layer in layers:
        moved, names = random_element(layer, layer.read(model), source)
        used.update(dict.fromkeys(names))
        exact.update(layer.write(model, moved))
    return {name: each(lambda x: x if isinstance(x, fmpq) else arb(x), a) for name, a in exact.items()}, list(
        used
    )
