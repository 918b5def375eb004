"""Combinations whose count is not derived, refused by name.

A count is printed only where the fibre was worked out. The conditions below are those under which the
derivations in :mod:`~exactattn.identify.scores` and :mod:`~exactattn.identify.values` hold.
"""

from __future__ import annotations

from exactattn.exceptions import InputError
from exactattn.identify.effective import Effective
from exactattn.identify.features import NormKind, Scope, Tie
from exactattn.identify.spec import AttentionSpec

__all__ = ["check_supported"]


def check_supported(layer: Effective) -> None:
    """Raise InputError, naming the field, unless the count of this layer is derived."""
    spec = layer.spec
    _check_window(spec)
    _check_latents(layer)
    _check_query_key_norm(layer)
    _check_ties(layer)
    _check_norms_around(spec)


def _refuse(message: str, field: str) -> None:
    raise InputError(f"{message}: no count is derived for this; change the field", field=field)


def _check_window(spec: AttentionSpec) -> None:
    # within a window of w tokens w distances occur, and R/2 planes and a constant need R + 1 of them
    if spec.window is not None and spec.window < max(spec.rotated + 1, 2):
        _refuse(f"a window of {spec.window} tokens is shorter than R + 1 = {spec.rotated + 1}", "window")
    if spec.window is not None and spec.relative_bias is not None:
        _refuse("a window together with a relative bias", "window")


def _check_latents(layer: Effective) -> None:
    spec = layer.spec
    if spec.key_value_latent is None and spec.query_latent is None:
        return
    for field in ("query_bias", "key_bias", "value_bias"):
        if getattr(spec, field):
            _refuse("biases of the up-projections of latents", field)
    if layer.mean_subtracted:
        _refuse("layer norm before latents", "norm_before")
    for field, latent, width in (
        ("key_value_latent", spec.key_value_latent, spec.key_width),
        ("query_latent", spec.query_latent, spec.width),
    ):
        if latent is None:
            continue
        if latent.rank > width:
            _refuse(f"a latent of rank {latent.rank} over the width {width}", field)
        if latent.norm is not None and (latent.norm.kind is NormKind.LAYER or latent.rank < 2):
            _refuse("a latent with layer norm, or of rank 1 with a norm", field)
        if latent.norm is not None and spec.norm_before is not None and latent.rank == width:
            _refuse(f"a norm before a normed latent as wide as the layer, {width}", field)
        if latent.norm is None and latent.bias:
            _refuse("a latent with a bias and no norm", field)
    _check_latents_are_read(spec)


def _check_latents_are_read(spec: AttentionSpec) -> None:
    """Each latent must have no more numbers than the heads together read from it."""
    keys = spec.key_value_latent.rank if spec.key_value_latent else spec.key_width
    queries = spec.query_latent.rank if spec.query_latent else spec.width
    shared = spec.rotary is not None and spec.rotary.shared_key
    unrotated = min(spec.unrotated, queries, keys)
    if spec.key_value_latent and keys > spec.heads * (
        unrotated + (0 if shared else spec.rotated) + min(spec.value_size, spec.width, keys)
    ):
        _refuse(f"a key/value latent of rank {keys}, more than the heads read", "key_value_latent")
    if spec.query_latent and queries > spec.heads * (unrotated + spec.rotated):
        _refuse(f"a query latent of rank {queries}, more than the heads read", "query_latent")


def _check_query_key_norm(layer: Effective) -> None:
    spec, number = layer.spec, layer.letters.number
    if spec.query_key_norm is None:
        return
    norm, scope = spec.query_key_norm.norm, spec.query_key_norm.scope
    width = min(number(layer.query_width), number(layer.key_width))
    # with a norm before, |x|² is fixed, and a form of full rank could move along it
    room = width - 1 if spec.norm_before is not None else width
    size = spec.heads * spec.head_size if scope is Scope.WIDTH else spec.head_size
    if size > room:
        _refuse(f"a query/key norm over {size} numbers made from {room}", "query_key_norm")
    centred = norm.kind is NormKind.LAYER
    if centred and scope is Scope.WIDTH:
        _refuse("layer norm of queries and keys over the full width", "query_key_norm")
    least = 4 if centred else 2
    if spec.head_size < least:
        _refuse(f"a query/key norm on heads of size {spec.head_size} < {least}", "query_key_norm")
    if norm.shift and layer.row_constants_visible:
        _refuse("shifts of query/key norms with sinks or soft-capping", "query_key_norm")


def _check_ties(layer: Effective) -> None:
    spec = layer.spec
    if not spec.ties:
        return
    for field in ("sinks", "soft_cap", "alibi", "relative_bias"):
        if getattr(spec, field):
            _refuse("tied projections with this feature", field)
    if spec.head_size > min(spec.width, spec.key_width) or spec.value_size > min(spec.width, spec.key_width):
        _refuse("tied projections with heads larger than the width", "ties")
    if layer.mean_subtracted:
        _refuse("tied projections after layer norm", "norm_before")
    if spec.cross:
        _refuse("tied projections in cross-attention", "ties")


def _check_norms_around(spec: AttentionSpec) -> None:
    for field, norm in (("norm_before", spec.norm_before), ("norm_after", spec.norm_after)):
        if norm is not None and spec.width < (3 if norm.kind is NormKind.LAYER else 2):
            _refuse(f"a norm on a width of {spec.width}", field)
    if spec.norm_after is None:
        return
    read = spec.key_value_latent.rank if spec.key_value_latent else spec.key_width
    patterns = spec.groups if Tie.QUERY_HEADS in spec.ties else spec.heads
    seen = min(patterns * min(spec.value_size, read), spec.width)
    if seen * (seen + 1) // 2 < spec.width:
        _refuse("a norm after heads that span too little of the width", "norm_after")
    if spec.sinks is not None and spec.heads == 1:
        _refuse("a norm after a single head with sinks, which can hide its row sums", "norm_after")
