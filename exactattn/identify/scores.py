"""Counts for what scores are made of: queries, keys, their norms, rotation, sinks, relative biases.

Queries and keys act through the bilinear forms of each group, one for each rotation plane and one for the
unrotated dimensions. With H/G heads in a group, the forms of the unrotated part are blocks of one product
of a matrix of H/G·(width) rows with W_K: :func:`~exactattn.identify.symbols.product_fibre`. A query bias
adds a row to each block, a key bias a column where constants in a row of scores can be seen; elsewhere it
is inert, except under a norm or a rotation. A rotation plane is a complex dimension of its own: C^× per
group (theory, section 8).
"""

from __future__ import annotations

import sympy

from exactattn.identify.effective import Effective
from exactattn.identify.features import NormKind, Scope, Sinks, Tie
from exactattn.identify.parts import Part

__all__ = ["score_parts"]

ZERO = sympy.Integer(0)


def score_parts(layer: Effective) -> list[Part]:
    """The parts of a layer that act through its scores."""
    spec, s = layer.spec, layer.letters
    query_heads = s.G if Tie.QUERY_HEADS in spec.ties else s.H
    keys = ZERO if Tie.QUERY_KEY in spec.ties else s.G
    shared = spec.rotary is not None and spec.rotary.shared_key
    query_in = s.r_q if spec.query_latent else s.E
    key_in = s.r if spec.key_value_latent else s.F
    matrices = query_heads * s.D * query_in + keys * (s.D - (s.R if shared else 0)) * key_in
    if shared:
        matrices += s.R * s.F
    if spec.query_key_norm is not None:
        parts = _normed(layer, matrices)
    else:
        free, reason = _tied(layer) if Tie.QUERY_KEY in spec.ties else _plain(layer)
        parts = [Part(name="query/key", parameters=sympy.expand(matrices), unidentified=free, reason=reason)]
    if spec.query_bias:
        parts.append(Part(name="query bias", parameters=query_heads * s.D, reason="seen through the keys"))
    if spec.key_bias and Tie.QUERY_KEY not in spec.ties and Tie.KEY_VALUE not in spec.ties:
        parts.append(_key_bias(layer))
    return parts + _offsets(layer)


def _plain(layer: Effective) -> tuple[sympy.Expr, str]:
    """Free directions of W_Q and W_K without query/key norms."""
    spec, s = layer.spec, layer.letters
    unrotated = s.D - s.R
    free, reasons = ZERO, []
    if spec.unrotated:
        heads = sympy.Integer(1) if Tie.QUERY_HEADS in spec.ties else s.H / s.G
        left = heads * (layer.query_width + int(layer.query_bias))
        right = layer.key_width + int(layer.key_bias and layer.row_constants_visible)
        free += sympy.expand(s.G * s.fibre(unrotated, left, right), deep=False)
        small = s.minimum(unrotated, left, right) == unrotated
        reasons.append(f"GL({unrotated}) a group" if small else "products W_Q^T W_K of full rank")
    if spec.rotated:
        free += (sympy.Integer(1) if spec.rotary and spec.rotary.shared_key else s.G) * s.R
        reasons.append("one complex number a rotation plane")
    return free, ", ".join(reasons)


def _tied(layer: Effective) -> tuple[sympy.Expr, str]:
    """Free directions of W_Q = W_K: only orthogonal changes of basis keep the two equal."""
    spec, s = layer.spec, layer.letters
    size = s.D - s.R
    free = s.G * size * (size - 1) / 2 if spec.unrotated else ZERO
    return free + s.G * s.R / 2, f"O({size}) a head, one angle a rotation plane"


def _normed(layer: Effective, matrices: sympy.Expr) -> list[Part]:
    """W_Q, W_K and the scales and shifts of the query/key norms.

    W_Q matters up to its size (at ε = 0) and up to what the norm removes; changes of basis must keep the
    norm, so they are orthogonal, and learned scales leave only those that also keep a diagonal form.
    """
    spec, s = layer.spec, layer.letters
    assert spec.query_key_norm is not None
    norm, scope = spec.query_key_norm.norm, spec.query_key_norm.scope
    planes, unrotated = s.R / 2, s.D - s.R
    centred = norm.kind is NormKind.LAYER
    groups = sympy.Integer(1) if scope is Scope.SHARED else s.G
    sizes = sympy.Integer(2) if scope is Scope.WIDTH else s.H + s.G
    free, reasons = ZERO, []
    if centred:
        queries = s.H * (layer.query_width + int(layer.query_bias))
        free += queries + s.G * (layer.key_width + int(layer.key_bias))
        reasons.append("the subtracted mean of each query and key")
    if not norm.scale:
        # orthogonal changes of basis that commute with the rotations and, for layer norm, keep a head's sum
        turning = unrotated - 1 if centred else unrotated
        if spec.unrotated > centred:
            free += s.G * turning * (turning - 1) / 2
            reasons.append(f"O({turning}) a group")
        if spec.rotated and not centred:
            free += s.G * planes
            reasons.append("one angle a rotation plane")
    at_zero = ZERO if norm.eps else sizes
    reasons += ["the size of each W_Q and W_K"] if norm.eps == 0 else []
    parts = [
        Part(
            name="query/key",
            parameters=sympy.expand(matrices),
            unidentified=free + at_zero,
            only_at_zero=sizes - at_zero,
            reason=", ".join(reasons) or "none at this ε",
        )
    ]
    scales = 2 * s.D if scope is Scope.SHARED else (s.H + s.G) * s.D
    if norm.scale:
        pairs, why = groups * (planes + unrotated), "pairs of a query and a key scale"
        if centred and not spec.rotated and (scope is Scope.SHARED or spec.heads_per_group == 1):
            # P Γ P acts through its D − 1 singular values, Γ diagonal has D entries
            pairs, why = pairs + groups, why + ", one more behind the subtracted mean"
        parts.append(Part(name="query/key norm scales", parameters=scales, unidentified=pairs, reason=why))
    if norm.shift:
        inert, why = groups * unrotated, "key shifts are constant in a row of scores (unrotated part)"
        if not spec.rotated:
            inert += sympy.Integer(1) if scope is Scope.SHARED else s.H
            why += ", one direction of each query shift"
        parts.append(Part(name="query/key norm shifts", parameters=scales, unidentified=inert, reason=why))
    return parts


def _key_bias(layer: Effective) -> Part:
    spec, s = layer.spec, layer.letters
    if spec.query_key_norm is not None:
        free, reason = ZERO, "seen through the key norm"
    elif layer.row_constants_visible:
        free, reason = ZERO, "seen, as constants in a row of scores are"
    elif not spec.unrotated:
        free, reason = ZERO, "seen through the rotation"
    else:
        free, reason = (
            s.G * (s.D - s.R),
            "constant in a row of scores" + (" (unrotated part)" if spec.rotated else ""),
        )
    return Part(name="key bias", parameters=s.G * s.D, unidentified=free, reason=reason)


def _free_constants(layer: Effective) -> sympy.Expr:
    """How many of the constants b_Q·b_K of the heads are not fixed by the rest of their bilinear forms.

    The constant is the corner of the head's block in a product of rank k: it is free where the product has
    full column rank, or where the rows of corners exceed the relations among rows.
    """
    spec, s = layer.spec, layer.letters
    constant = layer.query_bias and layer.key_bias and spec.unrotated and spec.query_key_norm is None
    if not constant or spec.sinks is None or spec.soft_cap is not None:
        return ZERO
    heads = s.H / s.G
    left, right, size = heads * (layer.query_width + 1), layer.key_width + 1, s.D - s.R
    rank = s.minimum(size, left, right)
    if s.number(rank) == s.number(right):
        return s.H
    beyond = rank - heads * layer.query_width
    return s.G * beyond if s.number(beyond) > 0 else ZERO


def _offsets(layer: Effective) -> list[Part]:
    """Sinks and relative biases: numbers added to scores, free up to what one softmax row forgets."""
    spec, s = layer.spec, layer.letters
    constants = _free_constants(layer)
    parts = []
    if spec.sinks is Sinks.LEARNED:
        parts.append(
            Part(
                name="sinks",
                parameters=s.H,
                unidentified=constants,
                reason="a sink and b_Q·b_K of a head move together" if constants else "seen in each row sum",
            )
        )
    if spec.relative_bias is not None:
        fixed = spec.sinks is Sinks.ONE
        parts.append(
            Part(
                name="relative bias",
                parameters=s.H * s.B,
                unidentified=(constants if fixed else s.H) + s.H * s.U,
                reason="one constant a head" + (", buckets never reached" if s.number(s.U) else ""),
            )
        )
    return parts
