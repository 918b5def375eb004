"""Other orders of heads, and of the dimensions of a head."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exactattn.checkpoint.moved import Moved
from exactattn.checkpoint.place import Array
from exactattn.checkpoint.weights import AttentionWeights
from exactattn.exceptions import InputError
from exactattn.identify.features import Scope
from exactattn.identify.spec import AttentionSpec

__all__ = ["permute_heads", "reorder_dimensions", "reorder_reason"]


def permute_heads(weights: AttentionWeights, order: Sequence[int]) -> Moved:
    """The layer whose head i is the old head ``order``[i]; groups may change places, and heads in them.

    Raises InputError where heads of one group would end in two, where ALiBi gives each head a slope by its
    number, where layers share the relative biases of heads, or if ``order`` is no permutation.
    """
    spec = weights.spec
    if sorted(order) != list(range(spec.heads)):
        raise InputError(f"must list the heads 0 to {spec.heads - 1}, each once", field="order")
    if spec.alibi:
        raise InputError("heads cannot be permuted: ALiBi slopes go by the number of the head")
    if spec.relative_bias is not None:
        raise InputError("heads cannot be permuted: all layers share the relative biases of heads")
    m = spec.heads_per_group
    groups = [{h // m for h in order[g * m : (g + 1) * m]} for g in range(spec.groups)]
    if any(len(group) > 1 for group in groups):
        raise InputError(
            "heads cannot be permuted across groups: each reads the keys and values of its own group"
        )
    group_order = [group.pop() for group in groups]
    normed = spec.query_key_norm is not None and spec.query_key_norm.scope is not Scope.SHARED
    moved = {}
    for name, array in weights.parameters.items():
        owner = name.removesuffix(" bias")
        if owner == "query" or name == "sinks" or (normed and name.startswith("query norm")):
            moved[name] = _blocks(array, order)
        elif owner in ("key", "value") or (normed and name.startswith("key norm")):
            moved[name] = _blocks(array, group_order)
        elif name == "output":
            moved[name] = _blocks(array.T, order).T
    return Moved(weights.with_parameters(moved))


def _blocks(array: Array, order: Sequence[int]) -> Array:
    """Blocks of rows in another order."""
    return array.reshape(len(order), -1, *array.shape[1:])[list(order)].reshape(array.shape)


def reorder_reason(spec: AttentionSpec, order: Sequence[int]) -> str:
    """Why the dimensions of queries and keys may not be reordered so; empty if they may."""
    if spec.query_key_norm is not None or spec.key_value_latent is not None:
        return "normed or latent queries and keys are not reordered here"
    if any(order[i] != i for i in range(spec.rotated)):
        return "each rotated dimension has its partner and its angle; only unrotated ones may be reordered"
    return ""


def reorder_dimensions(weights: AttentionWeights, order: Sequence[int]) -> Moved:
    """The layer whose dimension i of every query and key is the old dimension ``order``[i].

    Raises InputError, with the reason, where rotated dimensions would move (another pairing is another
    function), or if ``order`` is no permutation.
    """
    spec = weights.spec
    if sorted(order) != list(range(spec.head_size)):
        raise InputError(f"must list the dimensions 0 to {spec.head_size - 1}, each once", field="order")
    if reason := reorder_reason(spec, order):
        raise InputError(f"dimensions cannot be reordered: {reason}", field=weights.name)
    moved = {}
    for name, array in weights.parameters.items():
        if name.removesuffix(" bias") in ("query", "key"):
            heads = array.reshape(-1, spec.head_size, *array.shape[1:])
            moved[name] = np.ascontiguousarray(heads[:, list(order)]).reshape(array.shape)
    return Moved(weights.with_parameters(moved))
