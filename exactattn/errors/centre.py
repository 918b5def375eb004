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

from exactattn.errors.design import Design
from exactattn.exceptions import CannotTell
from exactattn.model import Attention
from exactattn.numbers import LogLattice, NumberSystem, dot

__all__ = ["Centre", "NotGeneric", "centre_of_layer", "natural_unit"]


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


def centre_of_layer(design: Design, layer: Attention, system: NumberSystem[Any, Any]) -> Centre:
    """The poles and residues of the canonical heads of a layer, exact on the log-lattice.

    Raises NotGeneric if poles coincide or a residue is 0 in some family, or the layer does not have exactly
    ``design.heads`` canonical heads.
    """
    heads = layer.canonical().heads
    if len(heads) != design.heads:
        raise NotGeneric(f"the layer has {len(heads)} canonical heads and the queries are for {design.heads}")
    all_poles, all_residues, failing = [], [], []
    with system.context():
        for n, family in enumerate(design.families):
            lifted = (fmpq(1), *family.last) if design.bias else family.last
            poles, residues = [], []
            for head in heads:
                row = tuple(dot(lifted, column) for column in zip(*head.W, strict=True))
                poles.append(system.exp(dot(row, family.difference)))
                residues.append(system.value(dot(head.v, family.difference)))
            distinct = all(not _may_meet(x, y) for k, x in enumerate(poles) for y in poles[:k])
            if not distinct or any(c == 0 for c in residues):
                failing.append(n)
            all_poles.append(tuple(poles))
            all_residues.append(tuple(residues))
    if failing:
        raise NotGeneric(
            f"{design.families[failing[0]]}: poles coincide or a residue vanishes", families=failing
        )
    return Centre(design, tuple(all_poles), tuple(all_residues))


def _may_meet(x: Any, y: Any) -> bool:
    return bool(x.overlaps(y)) if isinstance(x, arb) else bool(x == y)
