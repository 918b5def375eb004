"""Counts for what is read: values, outputs, their biases, latents, and the norms around the layer.

Values and outputs act through the products W_O^h W_V^g, those of a group being one product with W_V. Where
rows of weights sum to 1, value biases add the constant Σ_h W_O^h b_V^g to the output bias; where they do
not, a value bias is one more column of W_V (theory, section 8).
"""

from __future__ import annotations

import sympy

from exactattn.identify.effective import Effective
from exactattn.identify.features import Latent, NormKind, Tie
from exactattn.identify.parts import Part

__all__ = ["latent_parts", "norm_parts", "value_parts"]

ZERO = sympy.Integer(0)


def value_parts(layer: Effective) -> list[Part]:
    """The parts of a layer that act through what its heads read."""
    spec, s = layer.spec, layer.letters
    one_value = Tie.KEY_VALUE in spec.ties
    matrices = s.H * s.C * s.E + (ZERO if one_value else s.G * s.C * (s.r if spec.key_value_latent else s.F))
    if one_value:
        free, reason = ZERO, "moved with the keys"
    else:
        free, reason = _products(layer)
    if Tie.QUERY_HEADS in spec.ties and spec.heads_per_group > 1:
        free += (s.H - s.G) * layer.output_width * s.C
        reason += ", only the sum of W_O over a group"
    parts = [Part(name="value/output", parameters=matrices, unidentified=free, reason=reason)]
    if spec.value_bias and not one_value:
        free, reason = _value_bias(layer, s.G * s.C)
        parts.append(Part(name="value bias", parameters=s.G * s.C, unidentified=free, reason=reason))
    if spec.value_bias and one_value and Tie.QUERY_KEY not in spec.ties:
        free, reason = _value_bias(layer, s.G * (s.D - s.R)) if spec.unrotated else (ZERO, "seen as key bias")
        parts.append(Part(name="key and value bias", parameters=s.G * s.C, unidentified=free, reason=reason))
    if spec.output_bias:
        parts.append(Part(name="output bias", parameters=s.E, reason="the constant of the output"))
    return parts


def _products(layer: Effective) -> tuple[sympy.Expr, str]:
    """Free directions of W_V and W_O."""
    spec, s = layer.spec, layer.letters
    heads = sympy.Integer(1) if Tie.QUERY_HEADS in spec.ties else s.H / s.G
    left = heads * layer.output_width
    right = layer.key_width + int(layer.value_bias and spec.sinks is not None)
    free = sympy.expand(s.G * s.fibre(s.C, left, right), deep=False)
    if s.minimum(s.C, left, right) == s.C:
        return free, f"GL({s.C}) a group"
    constant_only = layer.value_bias and spec.sinks is None and not spec.output_bias
    if constant_only and s.number(s.C) > s.number(right):
        # value biases outside the range of W_V let W_O make any constant, even if they are fewer
        free -= layer.output_width - s.minimum(layer.output_width, s.G * s.C)
    return free, "products W_O W_V of full rank"


def _value_bias(layer: Effective, size: sympy.Expr) -> tuple[sympy.Expr, str]:
    """How much of ``size`` numbers that only add a constant to the output is free."""
    if layer.spec.sinks is not None:
        return ZERO, "seen, as rows of weights do not sum to 1"
    if layer.spec.output_bias:
        return size, "added to the output bias"
    seen = layer.letters.minimum(size, layer.output_width)
    return sympy.expand(size - seen), f"seen in the constant of the output, of size {seen}"


def latent_parts(layer: Effective) -> list[Part]:
    """The down-projections of latents: GL(rank); with a norm O(rank), the scales, at ε = 0 the size."""
    spec, s = layer.spec, layer.letters
    parts = []
    for name, latent, rank, width in (
        ("key/value latent", spec.key_value_latent, s.r, s.F),
        ("query latent", spec.query_latent, s.r_q, s.E),
    ):
        if latent is not None:
            parts += _latent(name, latent, rank, width)
    latent, rotary = spec.key_value_latent, spec.rotary
    if latent is not None and latent.bias and rotary is not None and rotary.shared_key:
        parts.append(Part(name="rotated key bias", parameters=s.R, reason="seen through the rotation"))
    return parts


def _latent(name: str, latent: Latent, rank: sympy.Expr, width: sympy.Expr) -> list[Part]:
    matrix = rank * width + (rank if latent.bias else ZERO)
    if latent.norm is None:
        return [Part(name=name, parameters=matrix, unidentified=rank**2, reason=f"GL({rank})")]
    size = ZERO if latent.norm.eps else sympy.Integer(1)
    parts = [
        Part(
            name=name,
            parameters=matrix,
            unidentified=rank * (rank - 1) / 2 + size,
            only_at_zero=1 - size,
            reason=f"O({rank})" + (" and the size" if size else ""),
        )
    ]
    if latent.norm.scale:
        parts.append(
            Part(
                name=f"{name} scales",
                parameters=rank,
                unidentified=rank,
                reason="absorbed by the up-projections",
            )
        )
    return parts


def norm_parts(layer: Effective) -> list[Part]:
    """The norms before and after the layer, and what they make free in it."""
    return _before(layer) + _after(layer)


def _before(layer: Effective) -> list[Part]:
    spec, s = layer.spec, layer.letters
    if spec.norm_before is None:
        return []
    parts = []
    if spec.norm_before.scale:
        parts.append(
            Part(name="norm before: scales", parameters=s.E, unidentified=s.E, reason="absorbed by the layer")
        )
    if spec.norm_before.shift:
        parts.append(
            Part(
                name="norm before: shifts",
                parameters=s.E,
                unidentified=s.E,
                reason="absorbed by biases, or by the direction of the mean",
            )
        )
    if layer.mean_subtracted:
        free = layer.lost_directions
        inert = _inert_images(layer)
        images = ", images of the shift" if inert else ""
        parts.append(
            Part(
                name="norm before: subtracted mean",
                parameters=ZERO,
                unidentified=free + inert,
                reason="one direction of each row of W_Q, W_K, W_V" + images,
            )
        )
    return parts


def _inert_images(layer: Effective) -> sympy.Expr:
    """The directions that the shift gives W_K and W_V in place of a bias, where a bias would be inert."""
    spec, s = layer.spec, layer.letters
    inert = ZERO
    if layer.key_bias and not spec.key_bias and not layer.row_constants_visible and not spec.query_key_norm:
        inert += s.G * (s.D - s.R)
    if layer.value_bias and not spec.value_bias:
        inert += _value_bias(layer, s.G * s.C)[0]
    return inert


def _after(layer: Effective) -> list[Part]:
    spec, s = layer.spec, layer.letters
    if spec.norm_after is None:
        return []
    norm = spec.norm_after
    free, reason = ZERO, "seen"
    if norm.kind is NormKind.LAYER:
        free = s.H * s.C + (sympy.Integer(1) if spec.output_bias else ZERO)
        reason = "the mean of each column of W_O"
    size = ZERO if norm.eps else sympy.Integer(1)
    return [
        Part(
            name="norm after",
            parameters=s.E * (norm.scale + norm.shift),
            unidentified=free + size,
            only_at_zero=1 - size,
            reason=reason + (", the size of W_O" if size else ""),
        )
    ]
