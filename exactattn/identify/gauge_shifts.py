"""The symmetries that add something: biases nobody sees, means that a norm subtracts, directions no other
projection has (theory, section 8).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from exactattn.identify.gauge import ShiftSymmetry, Tangent, TangentsOnly
from exactattn.identify.gauge_around import input_readers
from exactattn.identify.gauge_output_shifts import OutputShifts
from exactattn.identify.gauge_score_shifts import ScoreShifts
from exactattn.identify.parameters import Parameters
from exactattn.identify.spec import AttentionSpec

__all__ = ["AgainstMean", "shift_symmetries"]


@dataclass(frozen=True)
class AgainstMean:
    """Shifts β of a layer norm before the layer, undone in the direction of the mean.

    β + v with every W that reads it replaced by W(1 − v (1/γ)^T / (κ + v·(1/γ))), κ = Σ β_i/γ_i: on n with
    Σ n_i = 0 both give W(γ n + β).
    """

    readers: tuple[str, ...]
    name: str = "shifts of the norm before"

    def tangents(self, parameters: Parameters) -> Iterator[Tangent]:
        """One a coordinate of β."""
        inverses = 1 / parameters["before scale"]
        mean = (parameters["before shift"] * inverses).sum()
        for i in range(len(inverses)):
            tangent: Tangent = {"before shift": {(i,): parameters["before shift"][i] ** 0}}
            for array in self.readers:
                into = tangent.setdefault(array, {})
                for row, x in enumerate(parameters[array][:, i]):
                    for j, y in enumerate(inverses):
                        into[row, j] = -x / mean * y
            yield tangent

    def transformed(
        self, parameters: Parameters, source: random.Random, number: Callable[[fmpq], Any]
    ) -> Parameters:
        """The parameters moved by a random v."""
        moved = dict(parameters)
        inverses = 1 / parameters["before scale"]
        shift = np.array([number(fmpq(source.randint(1, 9), 7)) for _ in inverses], dtype=object)
        mean = ((parameters["before shift"] + shift) * inverses).sum()
        moved["before shift"] = parameters["before shift"] + shift
        for array in self.readers:
            images = parameters[array] @ shift / mean
            moved[array] = parameters[array] - images[:, None] * inverses[None, :]
        return moved


def shift_symmetries(
    spec: AttentionSpec, parameters: Parameters
) -> Iterator[ShiftSymmetry | TangentsOnly | AgainstMean]:
    """All of them at a point, in a fixed order; parts that are empty are left out."""
    for name, vectors in _all(ScoreShifts(spec, parameters), OutputShifts(spec, parameters)):
        found = tuple(vectors)
        # values and outputs that change together add a product of both changes
        together = any("output" in v for v in found) and any("output" not in v or len(v) > 1 for v in found)
        if found and name == "constants of the output" and together:
            yield TangentsOnly(name, found)
        elif found:
            yield ShiftSymmetry(name, found)
    if spec.norm_before is not None and spec.norm_before.shift:
        yield AgainstMean(tuple(input_readers(spec)))


def _all(scores: ScoreShifts, outputs: OutputShifts) -> Iterator[tuple[str, Iterator[Tangent]]]:
    """Name and vectors of each."""
    yield "key bias", scores.inert_key_bias()
    yield "shifts of query and key norms", scores.norm_shifts()
    yield "mean of queries and keys", scores.query_key_means()
    yield "queries outside the keys", scores.outside_queries()
    yield "keys outside the queries", scores.outside_keys()
    yield "constants of scores by queries", scores.score_constants_by_queries()
    yield "constants of scores by keys", scores.score_constants_by_keys()
    yield "values outside the outputs", outputs.outside_values()
    yield "outputs outside the values", outputs.outside_outputs()
    yield "heads with equal patterns", outputs.equal_patterns()
    yield "mean behind the norm before", outputs.means_before()
    yield "constants of the output", outputs.output_constants()
    yield "relative bias", scores.relative_bias()
    yield "mean in front of the norm after", outputs.means_after()
