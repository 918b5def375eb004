"""The canonical representative of a layer: biases nobody sees gone, norms folded where asked, one basis."""

from __future__ import annotations

from collections.abc import Callable

from exactattn.checkpoint.biases import key_bias_reason, move_value_bias, value_bias_reason, zero_key_bias
from exactattn.checkpoint.moved import Moved
from exactattn.checkpoint.norms import fold_norms, fold_reason
from exactattn.checkpoint.rebalance import Which, canonical_basis
from exactattn.checkpoint.weights import AttentionWeights

__all__ = ["canonicalize"]


def canonicalize(
    weights: AttentionWeights, which: Which = Which.ALL, *, biases: bool = True, norms: bool = False
) -> Moved:
    """The layer with its inert key bias 0, its value bias in the output bias, and the canonical basis.

    ``norms``: also fold the norm before the layer into its projections, first. What the architecture does
    not allow is left alone and noted, with the reason. Two layers that differ by these transformations and
    by changes of basis come out equal up to rounding, where bases are unique (a note says where they are
    not). Heads keep their order.
    """
    moved = Moved(weights)
    if norms:
        moved = _allowed(moved, fold_reason(weights), "norm kept", fold_norms)
    if biases and weights.spec.key_bias:
        moved = _allowed(moved, key_bias_reason(weights.spec), "key bias kept", zero_key_bias)
    if biases and weights.spec.value_bias:
        moved = _allowed(moved, value_bias_reason(weights.spec), "value bias kept", move_value_bias)
    return moved.then(canonical_basis(moved.weights, which))


def _allowed(
    moved: Moved, reason: str, kept: str, transformation: Callable[[AttentionWeights], Moved]
) -> Moved:
    """One transformation more, or a note with the reason against it."""
    if reason:
        return moved.then(Moved(moved.weights, notes=(f"{kept}: {reason}",)))
    return moved.then(transformation(moved.weights))
