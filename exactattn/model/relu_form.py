"""The canonical form of attention followed by a ReLU network without biases.

ReLU(s) = (s + |s|)/2 and |c·s| = |c||s| turn ℓ·Z + Σ_k a_k ReLU(β_k·Z) into

    F = ½ (v·Z + Σ_k σ_k |D_k·Z|),     v = 2ℓ + Σ_k a_k β_k,   D_k = |a_k| β_k,   σ_k = sign of a_k,

where parallel D_k (of either sign) merge into one, and a sum of 0 vanishes. Blocks of heads with equal W add
up, and a head whose block vanishes in v and every D_k is dead. What is left is unique for the function: the
outputs of heads with different W (and the last token) are linearly independent functions of the input.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from exactattn.numbers import Matrix, NumberSystem, Vector

__all__ = ["Blocks", "Kink", "ReluForm", "flat", "oriented", "relu_form"]

Blocks = tuple[Vector, ...]
Kink = tuple[int, Blocks]


@dataclass(frozen=True)
class ReluForm:
    """F = ½(v·Z + Σ_k σ_k|D_k·Z|): ``matrices`` are the W_h of live heads, sorted; ``linear`` is v by blocks;
    ``kinks`` are the sorted pairs (σ_k, D_k), the first non-zero entry of D_k positive. ``residual`` says
    whether the last block belongs to the last token (it is dropped if it is 0 everywhere)."""

    matrices: tuple[Matrix, ...]
    linear: Blocks
    kinks: tuple[Kink, ...]
    dim: int
    residual: bool

    def value(self, blocks: Sequence[Sequence[Any]], system: NumberSystem[Any, Any]) -> Any:
        """F for given stacked outputs Z, by blocks in the order of ``matrices``."""
        z = [x for block in blocks for x in block]

        def along(direction: Blocks) -> Any:
            return system.sum(
                [system.value(c) * x for c, x in zip(flat(direction), z, strict=True)]
                or [system.value(fmpq(0))]
            )

        terms = [along(self.linear)]
        terms += [abs(along(D)) if sign > 0 else -abs(along(D)) for sign, D in self.kinks]
        return system.sum(terms) / 2


def flat(blocks: Blocks) -> list[fmpq]:
    """The entries of all blocks in a row."""
    return [x for block in blocks for x in block]


def oriented(blocks: Blocks) -> Blocks:
    """The blocks or minus the blocks, with the first non-zero entry positive.

    >>> oriented(((fmpq(0), fmpq(-2)), (fmpq(3), fmpq(0))))
    ((0, 2), (-3, 0))
    """
    lead = next((x for x in flat(blocks) if x != 0), fmpq(0))
    return tuple(tuple(-x for x in block) for block in blocks) if lead < 0 else blocks


def relu_form(
    matrices: Sequence[Matrix],
    dim: int,
    residual: bool,
    bypass: Blocks,
    neurons: Iterable[tuple[fmpq, Blocks]],
) -> ReluForm:
    """The canonical form of ℓ·Z + Σ a_k ReLU(β_k·Z), from ℓ and pairs (a_k, β_k).

    >>> unit = ((fmpq(1),),)
    >>> minus = ((fmpq(-1),),)
    >>> form = relu_form([((fmpq(2),),)], 1, False, ((fmpq(0),),), [(fmpq(1), unit), (fmpq(-1), minus)])
    >>> form.linear, form.kinks      # ReLU(z) − ReLU(−z) = z
    (((2,),), ())
    """
    merged = sorted(set(matrices))
    place = [merged.index(W) for W in matrices] + ([len(merged)] if residual else [])
    count = len(merged) + residual

    def gathered(blocks: Blocks, factor: fmpq) -> list[fmpq]:
        total = [fmpq(0)] * (count * dim)
        for target, block in zip(place, blocks, strict=True):
            for i, x in enumerate(block):
                total[target * dim + i] += factor * x
        return total

    linear = gathered(bypass, fmpq(2))
    weights: dict[tuple[fmpq, ...], fmpq] = {}
    for a, beta in neurons:
        scaled = gathered(beta, a)
        linear = [x + y for x, y in zip(linear, scaled, strict=True)]
        lead = next((x for x in scaled if x != 0), None)
        if lead is not None:
            direction = tuple(x / lead for x in scaled)
            size = abs(lead) if a > 0 else -abs(lead)
            weights[direction] = weights.get(direction, fmpq(0)) + size
    kinks = [
        (1 if size > 0 else -1, [abs(size) * x for x in direction])
        for direction, size in weights.items()
        if size != 0
    ]
    live = [
        h for h in range(count)
        if any(x != 0 for row in [linear, *(D for _, D in kinks)] for x in row[h * dim : (h + 1) * dim])
    ]  # fmt: skip

    def blocks_of(row: Sequence[fmpq]) -> Blocks:
        return tuple(tuple(row[h * dim : (h + 1) * dim]) for h in live)

    return ReluForm(
        tuple(merged[h] for h in live if h < len(merged)),
        blocks_of(linear),
        tuple(sorted((sign, blocks_of(D)) for sign, D in kinks)),
        dim,
        residual and len(merged) in live,
    )
