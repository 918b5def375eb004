"""Bounds of every parameter: first-order constants plus what the boxes leave of higher order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from exactattn.errors.box import Box
from exactattn.errors.first_order import FirstOrder, largest

__all__ = ["Bounds", "Limit", "assembled_bounds"]


@dataclass(frozen=True)
class Limit:
    """A condition that fails, and the probe where it does."""

    condition: str
    probe: str


@dataclass(frozen=True)
class Bounds:
    """Bounds at one ε, divided by ε: ``matrix[h][i][j]`` for W_h (natural units), ``vector[h][k]`` for v_h,
    and ``constant`` for the constant output (0 without biases)."""

    epsilon: fmpq
    matrix: tuple[tuple[tuple[arb, ...], ...], ...]
    vector: tuple[tuple[arb, ...], ...]
    constant: arb

    @cached_property
    def of_matrices(self) -> arb:
        """The largest bound of an entry of a W_h."""
        top: arb = largest([x for rows in self.matrix for row in rows for x in row])
        return top

    @cached_property
    def of_vectors(self) -> arb:
        """The largest bound of an entry of a v_h."""
        top: arb = largest([x for row in self.vector for x in row])
        return top

    @cached_property
    def largest(self) -> arb:
        """C(ε)."""
        top: arb = self.of_matrices.max(self.of_vectors).max(self.constant)
        return top


def assembled_bounds(first: FirstOrder, boxes: Sequence[Box], epsilon: fmpq) -> Bounds:
    """First-order constants of parameters, plus the rests of the boxes of the base families, in order."""
    design, d = first.centre.design, first.centre.design.dim
    G = [[abs(arb(x)) for x in row] for row in design.b_inverse]
    K = [[abs(arb(x)) for x in row] for row in design.u_inverse]
    matrix, vector = [], []
    for h in range(first.centre.heads):
        rests = [box.log_pole_rest[h] for box in boxes]
        half = [
            [sum((g * rests[i * d + j] for i, g in enumerate(row)), arb(0)) for j in range(d)] for row in G
        ]
        matrix.append(
            tuple(
                tuple(
                    (arb(c) + sum((x * y for x, y in zip(K[j], half[i], strict=True)), arb(0))).upper()
                    for j, c in enumerate(row)
                )
                for i, row in enumerate(first.matrix_constants[h])
            )
        )
        rests = [box.residue_rest[h] for box in boxes[:d]]
        vector.append(
            tuple(
                (arb(c) + sum((x * y for x, y in zip(row, rests, strict=True)), arb(0))).upper()
                for c, row in zip(first.vector_constants[h], K, strict=True)
            )
        )
    constant = arb(first.constant_constant)
    if design.bias:
        weights = [abs(arb(x)) for x in first.on_sums(design.b[0])]
        rests = [box.total_rest for box in boxes[:d]]
        constant = (constant + sum((x * y for x, y in zip(weights, rests, strict=True)), arb(0))).upper()
    return Bounds(epsilon, tuple(matrix), tuple(vector), constant)
