"""The poles and residues of every family, with heads in one common order.

They come from a layer (to bound errors before any answer), or from noisy answers (to enclose what made
them). Scores are natural logarithms throughout: on the log-lattice, where exp(s) is replaced by 2^{D s}, the
layer is the base-e layer with the matrices D·log 2·W_h, and all errors of matrices are those of D·log 2·W_h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, fmpq

from exactattn.errors.design import Design, Family
from exactattn.exceptions import CannotTell, InputError
from exactattn.model import Attention
from exactattn.model.affine import AffineAttention
from exactattn.numbers import LogLattice, NumberSystem, dot

__all__ = ["AnyLayer", "Centre", "NotGeneric", "centre_of_layer", "family_poles", "natural_unit"]


AnyLayer = Attention | AffineAttention
"""A layer, or one with query biases and a constant output (theory, section 5)."""


class NotGeneric(CannotTell):
    """The queries do not separate the heads of this layer: other query vectors are needed.

    ``families`` are the indices of the families that fail.
    """

    def __init__(self, message: str, families: Sequence[int] = ()) -> None:
        self.families = tuple(families)
        super().__init__(message)


@dataclass(frozen=True)
class Centre:
    """``poles[f][h]`` = r_h and ``residues[f][h]`` = c_h of family f, rationals or balls."""

    design: Design
    poles: tuple[tuple[Any, ...], ...]
    residues: tuple[tuple[Any, ...], ...]

    @property
    def heads(self) -> int:
        """The number of heads."""
        return len(self.poles[0])


def natural_unit(system: NumberSystem[Any, Any]) -> arb:
    """The natural logarithm of exp(1) in the system: D·log 2 on the log-lattice, 1 over balls.

    >>> from exactattn.numbers import Balls
    >>> natural_unit(LogLattice(3)).str(5), natural_unit(Balls()).str(5)
    ('[2.0794 +/- 4.16e-5]', '1.0000')
    """
    return arb.const_log2() * system.denominator if isinstance(system, LogLattice) else arb(1)


def centre_of_layer(design: Design, layer: AnyLayer, system: NumberSystem[Any, Any]) -> Centre:
    """The poles and residues of the canonical heads of a layer, exact on the log-lattice.

    Raises NotGeneric if poles coincide or a residue is 0 in some family, or the layer does not have exactly
    ``design.heads`` canonical heads; InputError if only one of design and layer has biases.
    """
    if design.bias != isinstance(layer, AffineAttention):
        raise InputError("a design with a bias belongs to a layer with biases, and only to such a layer")
    heads = len(layer.canonical().heads)
    if heads != design.heads:
        raise NotGeneric(f"the layer has {heads} canonical heads and the queries are for {design.heads}")
    with system.context():
        found = [family_poles(layer, family, design.bias, system) for family in design.families]
    failing = [n for n, pair in enumerate(found) if pair is None]
    if failing:
        raise NotGeneric(
            f"{design.families[failing[0]]}: poles coincide or a residue vanishes", families=failing
        )
    pairs = [pair for pair in found if pair is not None]
    return Centre(design, tuple(poles for poles, _ in pairs), tuple(residues for _, residues in pairs))


def family_poles(
    layer: AnyLayer, family: Family, bias: bool, system: NumberSystem[Any, Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """Poles r_h and residues c_h of the canonical heads in one family, at the working precision; None if
    poles
    coincide (or, over balls, may) or a residue is 0."""
    lifted = (fmpq(1), *family.last) if bias else family.last
    poles, residues = [], []
    for head in layer.canonical().heads:
        row = tuple(dot(lifted, column) for column in zip(*head.W, strict=True))
        poles.append(system.exp(dot(row, family.difference)))
        residues.append(system.value(dot(head.v, family.difference)))
    distinct = all(not _may_meet(x, y) for k, x in enumerate(poles) for y in poles[:k])
    return (tuple(poles), tuple(residues)) if distinct and all(c != 0 for c in residues) else None


def _may_meet(x: Any, y: Any) -> bool:
    return bool(x.overlaps(y)) if isinstance(x, arb) else bool(x == y)
