"""Biases that nobody sees: a key bias that adds the same to a row of scores, value biases in the output's."""

from __future__ import annotations

import numpy as np

from exactattn.checkpoint.moved import Moved
from exactattn.checkpoint.weights import AttentionWeights
from exactattn.exceptions import InputError
from exactattn.identify.features import Tie
from exactattn.identify.gauge_changes import Changes
from exactattn.identify.spec import AttentionSpec

__all__ = ["inert_key_rows", "key_bias_reason", "move_value_bias", "value_bias_reason", "zero_key_bias"]


def inert_key_rows(spec: AttentionSpec) -> list[int]:
    """The rows of the keys at which a bias adds the same to a whole row of scores that softmax sees."""
    return Changes(spec, {}).inert_rows()


def key_bias_reason(spec: AttentionSpec) -> str:
    """Why no part of the key bias may be set to 0; empty if some part may."""
    if not spec.key_bias:
        return "there is no key bias"
    if spec.sinks is not None:
        return "attention sinks see a constant added to a row of scores"
    if spec.soft_cap is not None:
        return "soft-capping turns a constant added to a row of scores into something else"
    if spec.query_key_norm is not None:
        return "the norm of the keys mixes their bias with the rest"
    if Tie.QUERY_KEY in spec.ties or Tie.KEY_VALUE in spec.ties:
        return "the keys share their bias with queries or values"
    if not inert_key_rows(spec):
        return "rotation makes what the key bias adds depend on the position"
    return ""


def zero_key_bias(weights: AttentionWeights) -> Moved:
    """The layer with the inert part of its key bias set to 0: all of it, or with partial rotation the
    unrotated part.

    Its part of a score is (W_Q x + b_Q)·b_K, the same for all keys. Raises InputError, with the reason, where
    no part is inert.
    """
    spec = weights.spec
    if reason := key_bias_reason(spec):
        raise InputError(f"the key bias cannot be set to 0: {reason}", field=weights.name)
    rows = inert_key_rows(spec)
    bias = np.array(weights.parameters["key bias"])
    bias[rows] = 0
    note = f"key bias of the {spec.rotated} rotated dimensions of each head: seen through rotation, kept"
    return Moved(weights.with_parameters({"key bias": bias}), notes=(note,) if spec.rotated else ())


def value_bias_reason(spec: AttentionSpec) -> str:
    """Why the value bias may not be moved into the output bias; empty if it may."""
    if not spec.value_bias:
        return "there is no value bias"
    if spec.sinks is not None:
        return "with attention sinks rows of weights do not sum to 1, so the value bias is no constant"
    if not spec.output_bias:
        return "there is no output bias that could take it"
    if Tie.KEY_VALUE in spec.ties:
        return "the values share their bias with the keys"
    return ""


def move_value_bias(weights: AttentionWeights) -> Moved:
    """The layer with its value bias 0 and Σ W_O b_V in its output bias: rows of weights sum to 1.

    Raises InputError, with the reason, where this is not the same function.
    """
    spec = weights.spec
    if reason := value_bias_reason(spec):
        raise InputError(f"the value bias cannot be moved: {reason}", field=weights.name)
    parameters = weights.parameters
    by_head = parameters["value bias"].reshape(spec.groups, -1).repeat(spec.heads_per_group, axis=0)
    output = parameters["output bias"] + parameters["output"] @ by_head.reshape(-1)
    zero = np.zeros_like(parameters["value bias"])
    return Moved(weights.with_parameters({"value bias": zero, "output bias": output}))
