"""Layout of latent attention (DeepSeek V2 and V3): down- and up-projections, a shared rotated key.

A stored head lists its unrotated dimensions first; parameters list the rotated ones first.
"""

from __future__ import annotations

import numpy as np

from exactattn.checkpoint.layouts.layout import LayerPlaces, Layout, norm, projection
from exactattn.identify.spec import AttentionSpec

__all__ = ["DEEPSEEK"]


def _deepseek(spec: AttentionSpec, prefix: str, i: int) -> LayerPlaces:
    own = f"{prefix}layers.{i}"
    inner = f"{own}.self_attn"
    latent = spec.key_value_latent
    assert latent is not None
    found: LayerPlaces = {}
    query = f"{inner}.q_proj"
    if spec.query_latent is not None:
        found |= projection("query down", f"{inner}.q_a_proj", spec.query_latent.bias)
        found |= norm("query latent", f"{inner}.q_a_layernorm", spec.query_latent.norm)
        query = f"{inner}.q_b_proj"
    heads = np.arange(spec.heads * spec.head_size).reshape(spec.heads, -1)
    rows = np.concatenate([heads[:, spec.unrotated :], heads[:, : spec.unrotated]], axis=1).reshape(-1)
    found |= projection("query", query, spec.query_bias, rows)
    down = f"{inner}.kv_a_proj_with_mqa"
    rank = latent.rank
    found |= projection("key/value down", down, latent.bias, np.arange(rank))
    found |= projection("rotated key", down, latent.bias, np.arange(rank, rank + spec.rotated))
    found |= norm("key/value latent", f"{inner}.kv_a_layernorm", latent.norm)
    both = np.arange(spec.heads * (spec.unrotated + spec.value_size)).reshape(spec.heads, -1)
    up = f"{inner}.kv_b_proj"
    found |= projection("key", up, spec.key_bias, both[:, : spec.unrotated].reshape(-1))
    found |= projection("value", up, spec.value_bias, both[:, spec.unrotated :].reshape(-1))
    found |= projection("output", f"{inner}.o_proj", spec.output_bias)
    return found | norm("before", f"{own}.input_layernorm", spec.norm_before)


DEEPSEEK = Layout(anchor="layers.{i}.self_attn.kv_a_proj_with_mqa.weight", places=_deepseek)
