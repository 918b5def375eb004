"""Tiny models of the families of transformers, with weights drawn from a seed."""

from __future__ import annotations

import logging
import os
from typing import Any

SIZES = {
    "hidden_size": 8,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "vocab_size": 11,
    "max_position_embeddings": 16,
}
GROUPED = SIZES | {"num_key_value_heads": 1, "rms_norm_eps": 2.0**-20}
ENDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}

FAMILIES: dict[str, dict[str, Any]] = {
    "gpt2": {"n_embd": 8, "n_head": 2, "n_inner": 12, "vocab_size": 11, "n_positions": 16},
    "bert": SIZES,
    "llama": GROUPED | {"attention_bias": True},
    "mistral": GROUPED,
    "qwen2": GROUPED,
    "qwen3": GROUPED | {"head_dim": 4},
    "gemma2": GROUPED | {"head_dim": 4, "query_pre_attn_scalar": 16, "attn_logit_softcapping": 5.0},
    "olmo2": GROUPED,
    "phi3": GROUPED,
    "gpt_neox": SIZES | {"rotary_pct": 0.5},
    "opt": {
        "hidden_size": 8, "num_attention_heads": 2, "ffn_dim": 12, "vocab_size": 11,
        "max_position_embeddings": 16, "word_embed_proj_dim": 8,
    },
}  # fmt: skip


def tiny_model(torch: Any, family: str, *, layers: int = 1, seed: int = 1, kind: str = "float64") -> Any:
    """A model of a family, ready to be run, with eager attention."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import transformers

    logging.getLogger("transformers").setLevel(logging.ERROR)
    depth = {"n_layer" if family == "gpt2" else "num_hidden_layers": layers}
    fields = FAMILIES[family] | ENDS | depth
    config = transformers.AutoConfig.for_model(family, attn_implementation="eager", **fields)
    made = transformers.AutoModelForMaskedLM if family == "bert" else transformers.AutoModelForCausalLM
    model = made.from_config(config).to(getattr(torch, kind)).eval()
    source = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=source, dtype=torch.float64)
            if parameter.ndim == 1:
                parameter.add_(noise.to(parameter.dtype) * 0.1)
            else:
                size = 1.0 if any(word in name for word in ("emb", "wte", "wpe")) else 0.2
                parameter.copy_(noise.to(parameter.dtype) * size)
    return model
