"""Reader of DeepSeek V2 and V3: latent attention with a decoupled rotary key."""

from __future__ import annotations

from flint import fmpq

from exactattn.identify.config_fields import Fields
from exactattn.identify.features import Latent, Norm, NormKind, Pairing
from exactattn.identify.readers.common import depth, fold, rms_norm, rotation
from exactattn.identify.spec import AttentionSpec, ModelSpec

__all__ = ["deepseek"]


def deepseek(fields: Fields, name: str) -> ModelSpec:
    """DeepSeek V2, V3: a normed key/value latent, a query latent unless q_lora_rank is null.

    ``attention_bias`` is for the down-projections and the output only; the layer for predicting further
    tokens is not among the layers counted.
    """
    fields.ignore("num_key_value_heads", "head_dim")
    latent_norm = Norm(kind=NormKind.RMS, eps=fmpq(1, 10**6))
    bias = fields.flag("attention_bias", default=False)
    ranks = {}
    for field, required in (("q_lora_rank", not fields.given("q_lora_rank")), ("kv_lora_rank", True)):
        ranks[field] = fields.size(field) if required else fields.optional_size(field)
    latents = {
        field: None if rank is None else Latent(rank=rank, norm=latent_norm, bias=bias)
        for field, rank in ranks.items()
    }
    rotated = fields.size("qk_rope_head_dim")
    interleaved = fields.flag("rope_interleave", default=True)
    heads = fields.size("num_attention_heads")
    spec = AttentionSpec.of(
        fields.size("hidden_size"),
        heads,
        heads,
        fields.size("qk_nope_head_dim") + rotated,
        fields.size("v_head_dim"),
        output_bias=bias,
        query_latent=latents["q_lora_rank"],
        key_value_latent=latents["kv_lora_rank"],
        rotary=rotation(
            fields,
            rotated,
            Pairing.INTERLEAVED if interleaved else Pairing.HALF_SPLIT,
            size_field="qk_rope_head_dim",
            shared_key=True,
        ),
        norm_before=rms_norm(fields, "rms_norm_eps", fmpq(1, 10**6)),
    )
    return ModelSpec(name=name, family=fields.text("model_type"), layers=fold([spec] * depth(fields)))
