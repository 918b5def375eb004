"""Norm scales and shifts in the projections that read them, and means that a later norm subtracts."""

from __future__ import annotations

import numpy as np

from exactattn.checkpoint.biases import inert_key_rows
from exactattn.checkpoint.moved import Moved, stored_parameters, true_parameters
from exactattn.checkpoint.place import Array
from exactattn.checkpoint.weights import AttentionWeights
from exactattn.exceptions import InputError
from exactattn.identify.features import Latent, NormKind
from exactattn.identify.gauge_around import input_readers
from exactattn.identify.spec import AttentionSpec

__all__ = ["centre_output", "centre_reason", "fold_norms", "fold_reason"]


def fold_reason(weights: AttentionWeights) -> str:
    """Why the norm before the layer may not be folded into its projections; empty if it may."""
    spec = weights.spec
    if spec.norm_before is None or not spec.norm_before.scale:
        return "no norm with scales stands right before the layer"
    if weights.norm_is_shared:
        return weights.norm_is_shared
    if "before shift" in weights.parameters:
        for name in input_readers(spec):
            if f"{name} bias" not in weights.parameters and not _constant_is_taken(spec, name):
                return f"the shift of the norm needs a bias in the {name} projection, which has none"
    return ""


def _constant_is_taken(spec: AttentionSpec, name: str) -> bool:
    """Whether a constant in a projection without bias is inert, or can go to the output bias."""
    if name == "key":
        return len(inert_key_rows(spec)) == spec.groups * spec.head_size
    return name == "value" and spec.sinks is None and spec.output_bias


def fold_norms(weights: AttentionWeights) -> Moved:
    """The layer with the scales (and shifts) of the norm before it in its projections and biases, and the
    scales of norms on latents in the up-projections: W(γ n + β) = (W Γ) n + W β.

    Raises InputError, with the reason, where something else reads the norm, or a bias for its shift is
    missing.
    """
    spec = weights.spec
    if reason := fold_reason(weights):
        raise InputError(f"the norm cannot be folded: {reason}", field=weights.name)
    true = true_parameters(weights)
    scale, shift = true["before scale"], true.get("before shift")
    for name in input_readers(spec):
        if shift is not None:
            _add_constant(true, spec, name, true[name] @ shift)
        true[name] = true[name] * scale
    true["before scale"] = np.ones_like(scale)
    if shift is not None:
        true["before shift"] = np.zeros_like(shift)
    _fold_latent(true, "query", spec.query_latent, ["query"])
    _fold_latent(true, "key/value", spec.key_value_latent, ["key", "value"])
    return Moved(stored_parameters(weights, true))


def _add_constant(true: dict[str, Array], spec: AttentionSpec, name: str, constant: Array) -> None:
    """Add a constant to what a projection makes, where it has a bias; else it is inert, or the output's."""
    if f"{name} bias" in true:
        true[f"{name} bias"] = true[f"{name} bias"] + constant
    elif name == "value":
        by_head = constant.reshape(spec.groups, -1).repeat(spec.heads_per_group, axis=0)
        true["output bias"] = true["output bias"] + true["output"] @ by_head.reshape(-1)


def _fold_latent(true: dict[str, Array], side: str, latent: Latent | None, readers: list[str]) -> None:
    scale = true.get(f"{side} latent scale")
    if latent is None or scale is None:
        return
    for name in readers:
        if name in true:
            true[name] = true[name] * scale
    true[f"{side} latent scale"] = np.ones_like(scale)


def centre_reason(spec: AttentionSpec) -> str:
    """Why the mean of the layer's outputs may not be subtracted; empty if it may."""
    if spec.norm_after is not None:
        return "" if spec.norm_after.kind is NormKind.LAYER else "the RMS norm after it sees the mean"
    if spec.norm_before is None:
        return "what reads the sum that the output joins is not known to subtract its mean"
    if spec.norm_before.kind is not NormKind.LAYER:
        return "RMS norms, which read the sum that the output joins, see its mean"
    return ""


def centre_output(weights: AttentionWeights) -> Moved:
    """The layer with outputs of mean 0: columns of W_O, and b_O, less their means.

    The same model where every reader of the sum that outputs join is a layer norm, which subtracts the mean.
    Raises InputError, with the reason, where a reader does not.
    """
    if reason := centre_reason(weights.spec):
        raise InputError(f"outputs cannot be centred: {reason}", field=weights.name)
    changed = {
        name: weights.parameters[name] - weights.parameters[name].mean(axis=0)
        for name in ("output", "output bias")
        if name in weights.parameters
    }
    return Moved(weights.with_parameters(changed))
