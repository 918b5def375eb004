"""Random elements of every symmetry group leave the function as it is; other changes do not."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from rank_variants import CASES, VARIANTS

from exactattn.identify import AttentionSpec
from exactattn.identify.array_numbers import RationalArrays
from exactattn.identify.layer import Constants, LayerRun
from exactattn.identify.parameters import Array, Parameters, parameter_shapes
from exactattn.identify.real_point import RealPoint
from exactattn.identify.symmetries import Symmetry, symmetries

Outputs = Callable[[Parameters], Array]
NAMES = [name for name, _ in CASES]
SPECS = [spec for _, spec in CASES]
RATIONAL = [
    (name, spec)
    for name, spec in CASES
    if spec.soft_cap is None
    and spec.rotary is None
    and spec.query_key_norm is None
    and all(norm is None for norm in (spec.norm_before, spec.norm_after))
    and all(part is None or part.norm is None for part in (spec.query_latent, spec.key_value_latent))
    and not (spec.head_size > spec.width and spec.key_bias and spec.sinks is None)
]
"""Rational variants; of those with inert constants in scores, the ones where these stay multiples of 1/5."""


def with_elements(spec: AttentionSpec, parameters: Parameters) -> list[Symmetry]:
    """The symmetries that have rational elements."""
    return [each for each in symmetries(spec, parameters) if hasattr(each, "transformed")]


def moved(each: Symmetry, parameters: Parameters, seed: int) -> Parameters:
    result: Parameters = each.transformed(parameters, random.Random(seed), lambda x: x)
    return result


def power_of_two(_: str, exponents: Array) -> Array:
    """exp(x) as 2^(5x): shifts of scores are fifths."""
    scaled = [5 * x for x in exponents.flat]
    assert all(x.q == 1 for x in scaled)
    values = [fmpq(2) ** int(x.p) for x in scaled]
    return np.array(values, dtype=object).reshape(exponents.shape)


def rational_outputs(spec: AttentionSpec) -> tuple[Parameters, Outputs]:
    """Integral parameters, and the layer over Q with exp(x) replaced by 2^(5x) (theory, section 2)."""
    source = random.Random(1)

    def drawn(shape: tuple[int, ...]) -> Array:
        entries = [fmpq(source.choice([-2, -1, 1, 2])) for _ in range(int(np.prod(shape)))]
        return np.array(entries, dtype=object).reshape(shape)

    none = np.zeros((3, 0), dtype=object)
    slopes = np.array([fmpq(h + 1) for h in range(spec.heads)], dtype=object)
    constants = Constants(none, none, slopes, fmpq(1))
    tokens, other = drawn((3, spec.width)), drawn((2, spec.key_width)) if spec.cross else None

    def outputs(parameters: Parameters) -> Array:
        run = LayerRun(spec, RationalArrays(), parameters, constants, power_of_two)
        return run.outputs(tokens, other, [0, 1, 2]).value

    return {name: drawn(shape) for name, shape in parameter_shapes(spec).items()}, outputs


@pytest.mark.parametrize("spec", [spec for _, spec in RATIONAL], ids=[name for name, _ in RATIONAL])
def test_function_is_exactly_unchanged(spec: AttentionSpec) -> None:
    """An element that changes the function would make the upper bound of every certificate too small."""
    parameters, outputs = rational_outputs(spec)
    before = outputs(parameters)
    found = with_elements(spec, parameters)
    assert found
    for each in found:
        after = moved(each, parameters, 1)
        assert any((after[name] != parameters[name]).any() for name in parameters), each.name
        assert (outputs(after) == before).all(), each.name


def ball_outputs(spec: AttentionSpec) -> tuple[Parameters, Outputs]:
    point = RealPoint(spec, ((4, 3 if spec.cross else 0),))
    return point.parameters, lambda parameters: point.outputs(0, [0, 1, 2, 3], parameters)[1].value


def difference(a: Array, b: Array) -> list[Any]:
    return list((a - b).flat)


@pytest.mark.parametrize("spec", SPECS, ids=NAMES)
def test_function_is_unchanged_in_balls(spec: AttentionSpec) -> None:
    """The same with true exponentials, roots, angles and caps: enclosures of the change are 0 ± 10^-40."""
    with ctx.workprec(256):
        parameters, outputs = ball_outputs(spec)
        before = outputs(parameters)
        for each in with_elements(spec, parameters):
            change = difference(outputs(moved(each, parameters, 2)), before)
            assert all(x.contains(0) and x.rad() < arb(10) ** -40 for x in change), each.name


@pytest.mark.parametrize("row", sorted(VARIANTS))
def test_other_changes_are_seen(row: str) -> None:
    """A random change of all parameters that no symmetry makes must certainly change an output."""
    spec = VARIANTS[row][0]
    with ctx.workprec(128):
        parameters, outputs = ball_outputs(spec)
        source = random.Random(3)
        changed = {
            name: x
            + np.array([fmpq(source.randint(1, 9), 64) for _ in x.flat], dtype=object).reshape(x.shape)
            for name, x in parameters.items()
        }
        change = difference(outputs(changed), outputs(parameters))
    assert any(not x.contains(0) for x in change)
