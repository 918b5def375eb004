"""Random Transformers from a seed, with planted coincidences."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations
from typing import Literal, get_args

from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.model.transformer import Neuron, Transformer

__all__ = ["PLANTS", "Plant", "random_transformer"]

Plant = Literal[
    "duplicate neuron",
    "opposite neuron",
    "linear pair",
    "duplicate head",
    "cancelling heads",
    "hidden head",
    "wedge head",
    "zero block sum",
    "parallel block sums",
    "dependent block sums",
    "near-parallel pair",
]
PLANTS: tuple[Plant, ...] = get_args(Plant)

Block = list[fmpq]
TRIES = 1000
# Blocks of neurons are wider than the rest: signed sums of many short ones often vanish.
WIDENED = 4


class _Draft:
    """Parameters while they are being drawn; ``betas[k][h]`` is a block."""

    def __init__(
        self, heads: int, dim: int, neurons: int, blocks: int, size: int, rng: random.Random
    ) -> None:
        self.rng, self.size, self.dim, self.heads = rng, size, dim, heads
        self.matrices: list[list[list[fmpq]]] = []
        for _ in range(heads):
            self.matrices.append(self.new_matrix())
        self.weights = [fmpq(rng.choice([-3, -2, -1, 1, 2, 3])) for _ in range(neurons)]
        self.betas: list[list[Block]] = []
        for _ in range(neurons):
            self.betas.append(self.generic_blocks(blocks))
        self.around: list[Block] | None = None

    def block(self, widened: int = 1) -> Block:
        radius = widened * self.size
        while True:
            entries = [fmpq(self.rng.randint(-radius, radius)) for _ in range(self.dim)]
            if any(x != 0 for x in entries):
                return entries

    def new_matrix(self) -> list[Block]:
        for _ in range(TRIES):
            W = [self.block() for _ in range(self.dim)]
            if W not in self.matrices:
                return W
        raise InputError("is too small for so many different heads; use larger numbers", field="size")

    def generic_blocks(self, count: int) -> list[Block]:
        """Blocks whose sum is not 0 and, for d ≥ 2, not parallel to earlier ones."""
        for _ in range(TRIES):
            blocks = [self.block(WIDENED) for _ in range(count)]
            total = _sum(blocks)
            earlier = [_sum(beta) for beta in self.betas] if self.dim > 1 else []
            if any(total) and not any(_parallel(total, other) for other in earlier):
                return blocks
        raise InputError("is too small for so many different neurons; use larger numbers", field="size")

    def block_sum(self, k: int) -> Block:
        return _sum(self.betas[k])


def _sum(blocks: list[Block]) -> Block:
    return [sum(column, fmpq(0)) for column in zip(*blocks, strict=True)]


def _parallel(x: Block, y: Block) -> bool:
    """Whether two vectors are linearly dependent."""
    return all(a * d == b * c for (a, b), (c, d) in combinations(zip(x, y, strict=True), 2))


def _times(factor: fmpq | int, block: Block) -> Block:
    return [factor * x for x in block]


def _plus(x: Block, y: Block) -> Block:
    return [a + b for a, b in zip(x, y, strict=True)]


def _duplicate(draft: _Draft, gap: int) -> None:
    draft.betas[1] = [_times(2, block) for block in draft.betas[0]]
    draft.weights[1] = draft.weights[0]


def _opposite(draft: _Draft, gap: int) -> None:
    draft.betas[1] = [_times(-2, block) for block in draft.betas[0]]
    draft.weights[1] = draft.weights[0]


def _linear(draft: _Draft, gap: int) -> None:
    draft.betas[1] = [_times(-1, block) for block in draft.betas[0]]
    draft.weights[1] = -draft.weights[0]


def _duplicate_head(draft: _Draft, gap: int) -> None:
    draft.matrices[1] = draft.matrices[0]


def _cancelling_heads(draft: _Draft, gap: int) -> None:
    draft.matrices[1] = draft.matrices[0]
    for beta in draft.betas:
        beta[1] = _times(-1, beta[0])
    if draft.around is not None:
        draft.around[1] = _times(-1, draft.around[0])


def _hidden_head(draft: _Draft, gap: int) -> None:
    """v_1 = 2ℓ_1 + Σ a_k β_k1 = 0, by the block of the last neuron."""
    total = [fmpq(0)] * draft.dim if draft.around is None else _times(2, draft.around[0])
    for a, beta in zip(draft.weights[:-1], draft.betas[:-1], strict=True):
        total = _plus(total, _times(a, beta[0]))
    draft.betas[-1][0] = _times(-1 / draft.weights[-1], total)


def _wedge_head(draft: _Draft, gap: int) -> None:
    """Head 1 enters two neurons of opposite sign equally: it shows only where just one of them is active."""
    zero = [fmpq(0)] * draft.dim
    for beta in draft.betas:
        beta[0] = zero
    draft.weights[0], draft.weights[1] = fmpq(1), fmpq(-1)
    draft.betas[0][0] = draft.betas[1][0] = draft.block()
    if draft.around is not None:
        draft.around[0] = zero


def _zero_block_sum(draft: _Draft, gap: int) -> None:
    draft.betas[0][0] = _plus(draft.betas[0][0], _times(-1, draft.block_sum(0)))


def _parallel_block_sums(draft: _Draft, gap: int) -> None:
    wanted = _times(draft.rng.choice([-2, 2, 3]), draft.block_sum(0))
    draft.betas[1][0] = _plus(draft.betas[1][0], _plus(wanted, _times(-1, draft.block_sum(1))))


def _dependent_block_sums(draft: _Draft, gap: int) -> None:
    """Σ a_k β̄_k = 0 over the first three neurons."""
    total = [fmpq(0)] * draft.dim
    for k in range(3):
        total = _plus(total, _times(draft.weights[k], draft.block_sum(k)))
    draft.betas[2][0] = _plus(draft.betas[2][0], _times(-1 / draft.weights[2], total))


def _near_parallel(draft: _Draft, gap: int) -> None:
    """An opposite kink of another size puts the meeting point of the outer pieces inside one of them."""
    small = fmpq(1, 1 << gap)
    draft.betas[1] = [_plus(block, _times(small, draft.block())) for block in draft.betas[0]]
    draft.weights[1] = draft.rng.choice([fmpq(1), fmpq(-1), fmpq(-1, 8), fmpq(-1, 8)]) * draft.weights[0]


# What to do, and the least numbers of heads and neurons.
_RULES: dict[Plant, tuple[Callable[[_Draft, int], None], int, int]] = {
    "duplicate neuron": (_duplicate, 1, 2),
    "opposite neuron": (_opposite, 1, 2),
    "linear pair": (_linear, 1, 2),
    "duplicate head": (_duplicate_head, 2, 1),
    "cancelling heads": (_cancelling_heads, 2, 1),
    "hidden head": (_hidden_head, 1, 2),
    "wedge head": (_wedge_head, 2, 3),
    "zero block sum": (_zero_block_sum, 2, 1),
    "parallel block sums": (_parallel_block_sums, 2, 2),
    "dependent block sums": (_dependent_block_sums, 1, 3),
    "near-parallel pair": (_near_parallel, 1, 2),
}


def random_transformer(
    heads: int,
    dim: int,
    neurons: int,
    *,
    seed: int,
    residual: bool = False,
    bypass: bool = False,
    plant: Plant | None = None,
    gap: int = 8,
    size: int = 5,
) -> Transformer:
    """A Transformer with integral entries of at most ``size`` (4·``size`` in neurons), with at most one
    planted coincidence:

    - "duplicate neuron", "opposite neuron", "linear pair": β_2 parallel to β_1 (same sign; opposite sign;
      ReLU(s) − ReLU(−s) = s, no kink at all);
    - "duplicate head", "cancelling heads": W_2 = W_1, with blocks of their own, or opposite ones;
    - "hidden head": v_1 = 0, so antisymmetric queries miss it; "wedge head": it shows in a wedge only;
    - "zero block sum": the blocks of β_1 add up to 0, so no single token shows the neuron; "parallel block
      sums": single tokens show two neurons as one; "dependent block sums": Σ a_k β̄_k = 0 for three neurons;
    - "near-parallel pair": β_2 = β_1 + 2^-gap·(small integers), a_2 one of ±a_1 and −a_1/8.

    Raises InputError on sizes below 1, or too small for the plant.

    >>> model = random_transformer(2, 3, 4, seed=1, plant="linear pair")
    >>> len(model.neurons), len(model.canonical().kinks)
    (4, 2)
    """
    for name, number in (("heads", heads), ("dim", dim), ("neurons", neurons), ("size", size)):
        if number < 1:
            raise InputError(f"must be at least 1, not {number}", field=name)
    if plant is not None and plant not in _RULES:
        raise InputError(f"must be one of {', '.join(PLANTS)}", field="plant")
    change, least_heads, least_neurons = _RULES[plant] if plant else (None, 1, 1)
    if heads < least_heads or neurons < least_neurons:
        raise InputError(
            f"a {plant} needs at least {least_heads} heads and {least_neurons} neurons", field="plant"
        )
    rng = random.Random(
        f"transformer {heads} {dim} {neurons} {seed} {residual} {bypass} {plant} {gap} {size}"
    )
    draft = _Draft(heads, dim, neurons, heads + residual, size, rng)
    if bypass:
        draft.around = [draft.block() for _ in range(heads + residual)]
    if change is not None:
        change(draft, gap)
    return Transformer.of(
        draft.matrices,
        [Neuron.of(a, beta) for a, beta in zip(draft.weights, draft.betas, strict=True)],
        dim=dim,
        residual=residual,
        bypass=draft.around,
        name=f"random heads={heads} dim={dim} neurons={neurons} seed={seed}",
    )
