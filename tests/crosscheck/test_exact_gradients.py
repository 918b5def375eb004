"""Gradients of any function of a layer's outputs are orthogonal to every free direction, exactly (theory,
section 9): over the rationals, with exp(x) replaced by 2^(Dx), D the common denominator of the scores.
"""

from __future__ import annotations

import random
from math import lcm
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from exactattn.identify import AttentionSpec, Rotary, Sinks
from exactattn.identify.array_numbers import RationalArrays
from exactattn.identify.features import Pairing
from exactattn.identify.layer import Constants, LayerRun
from exactattn.identify.parameters import Array, join, parameter_shapes
from exactattn.identify.symmetries import gauge_tangents

TURN = ((fmpq(1), fmpq(0)), (fmpq(3, 5), fmpq(4, 5)), (fmpq(-7, 25), fmpq(24, 25)))
"""Cosine and sine of 0, 1 and 2 times the angle of the triangle (3, 4, 5)."""

BIASES = {"query_bias": True, "key_bias": True, "value_bias": True, "output_bias": True}
LAYERS = {
    "plain": AttentionSpec.of(4, 2),
    "biases": AttentionSpec.of(4, 2, **BIASES),
    "groups": AttentionSpec.of(4, 4, 2, **BIASES),
    "rotations": AttentionSpec.of(4, 2, rotary=Rotary(size=2, pairing=Pairing.HALF_SPLIT), **BIASES),
    "partial rotations": AttentionSpec.of(8, 2, rotary=Rotary(size=2, pairing=Pairing.INTERLEAVED)),
    "sinks": AttentionSpec.of(4, 2, sinks=Sinks.ONE, **BIASES),
}


def power(_: str, exponents: Array) -> Array:
    """2^(Dx), and so the derivative up to one factor that all derivatives by scores share."""
    D = lcm(*(int(x.q) for x in exponents.flat))
    return np.array([fmpq(2) ** int((D * x).p) for x in exponents.flat], dtype=object).reshape(
        exponents.shape
    )


def gradient(spec: AttentionSpec, seed: int) -> tuple[dict[str, Array], Array]:
    """Drawn parameters, and the gradient by them of a drawn function of the outputs."""
    source = random.Random(seed)

    def drawn(shape: tuple[int, ...]) -> Array:
        numbers = [fmpq(source.choice([-2, -1, 1, 2])) for _ in range(int(np.prod(shape)))]
        return np.array(numbers, dtype=object).reshape(shape)

    parameters = {name: drawn(shape) for name, shape in parameter_shapes(spec).items()}
    planes = spec.rotated // 2
    tables = [
        np.array([[pair[k]] * planes for pair in TURN], dtype=object).reshape(3, planes) for k in (0, 1)
    ]
    constants = Constants(tables[0], tables[1], np.full((spec.heads,), fmpq(0)), fmpq(1))
    run = LayerRun(spec, RationalArrays(), parameters, constants, power)
    outputs = run.outputs(drawn((3, spec.width)), None, [0, 1, 2])
    parts = run.tape.pull_back(outputs, drawn((1, *outputs.shape)), list(run.leaves.values()))
    return parameters, join(dict(zip(run.leaves, parts, strict=True)), parameter_shapes(spec), lead=1)[0]


def products(spec: AttentionSpec, seed: int) -> list[Any]:
    """Products of the gradient with all tangents of symmetries."""
    parameters, slope = gradient(spec, seed)
    tangents = list(gauge_tangents(spec, parameters))
    return [sum((slope[k] * x for k, x in t.entries.items()), fmpq(0)) for t in tangents]


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_are_orthogonal_to_free_directions(name: str) -> None:
    """A product other than 0 would move a conserved quantity under gradient flow (I-5.1)."""
    for seed in range(3):
        found = products(LAYERS[name], seed)
        assert len(found) >= 4
        assert found == [0] * len(found)


@pytest.mark.parametrize("name", ["biases", "groups"])
def test_key_bias_gradients_are_exactly_zero(name: str) -> None:
    """I-5.3-key-bias on a whole layer; the query bias shows that the gradient is not 0 altogether."""
    spec = LAYERS[name]
    parameters, slope = gradient(spec, 1)
    places, start = {}, 0
    for array, values in parameters.items():
        places[array] = slope[start : start + values.size]
        start += values.size
    assert all(x == 0 for x in places["key bias"])
    assert any(x != 0 for x in places["query bias"])


def test_gradients_see_key_biases_of_rotated_layers() -> None:
    """There they matter (I-4.7.1-rope): a test that found 0 here would find it anywhere."""
    parameters, slope = gradient(LAYERS["rotations"], 1)
    start = sum(parameters[name].size for name in ("query", "query bias", "key"))
    assert list(parameters)[:4] == ["query", "query bias", "key", "key bias"]
    assert any(x != 0 for x in slope[start : start + parameters["key bias"].size])
