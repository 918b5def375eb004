"""Tiny models of every family with random weights, built by transformers without any download."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "intermediate_size": 24,
    "vocab_size": 33,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "max_position_embeddings": 64,
}
GROUPED = {**SIZES, "num_key_value_heads": 2}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
LATENT = {
    **SIZES,
    "num_key_value_heads": 4,
    "kv_lora_rank": 8,
    "qk_nope_head_dim": 4,
    "qk_rope_head_dim": 2,
    "v_head_dim": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "moe_intermediate_size": 8,
}

FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("bert", SIZES),
    "bloom": ("bloom", {"hidden_size": 16, "n_head": 4, "n_layer": 2, "vocab_size": 33}),
    "cohere": ("cohere", GROUPED),
    "cohere-normed": ("cohere", {**GROUPED, "use_qk_norm": True}),
    "deepseek_v2": ("deepseek_v2", {**LATENT, "q_lora_rank": 6}),
    "deepseek_v2-lite": ("deepseek_v2", {**LATENT, "q_lora_rank": None}),
    "deepseek_v3": ("deepseek_v3", {**LATENT, "q_lora_rank": 6}),
    "distilbert": (
        "distilbert",
        {"dim": 16, "n_heads": 4, "n_layers": 2, "hidden_dim": 24, "vocab_size": 33},
    ),
    "falcon": ("falcon", {**SIZES, "bias": True, "alibi": False}),
    "falcon-new": ("falcon", {**SIZES, "new_decoder_architecture": True, "num_kv_heads": 2}),
    "gemma2": ("gemma2", {**GROUPED, "head_dim": 4}),
    "gemma3_text": ("gemma3_text", {**GROUPED, "head_dim": 4}),
    "gpt2": ("gpt2", {"n_embd": 16, "n_head": 4, "n_layer": 2, "vocab_size": 33, "n_positions": 64}),
    "gpt_neox": ("gpt_neox", {**SIZES, "rotary_pct": 0.5}),
    "gpt_oss": ("gpt_oss", {**GROUPED, **EXPERTS, "head_dim": 4}),
    "gptj": (
        "gptj",
        {"n_embd": 16, "n_head": 4, "n_layer": 2, "rotary_dim": 2, "vocab_size": 33, "n_positions": 64},
    ),
    "llama": ("llama", GROUPED),
    "llama-biased": ("llama", {**GROUPED, "attention_bias": True}),
    "mistral": ("mistral", {**GROUPED, "sliding_window": 4}),
    "mixtral": ("mixtral", {**GROUPED, **EXPERTS}),
    "mpt": (
        "mpt",
        {"d_model": 16, "n_heads": 4, "n_layers": 2, "vocab_size": 33, "expansion_ratio": 2},
    ),
    "olmo2": ("olmo2", GROUPED),
    "opt": ("opt", {**SIZES, "ffn_dim": 24, "word_embed_proj_dim": 16}),
    "phi": ("phi", {**SIZES, "partial_rotary_factor": 0.5}),
    "phi-normed": ("phi", {**SIZES, "qk_layernorm": True}),
    "phi3": ("phi3", GROUPED),
    "qwen2": ("qwen2", GROUPED),
    "qwen3": ("qwen3", {**GROUPED, "head_dim": 4}),
    "roberta": ("roberta", SIZES),
    "stablelm": ("stablelm", {**GROUPED, "use_qkv_bias": True, "partial_rotary_factor": 0.5}),
    "stablelm-normed": ("stablelm", {**GROUPED, "qk_layernorm": True, "partial_rotary_factor": 0.5}),
    "starcoder2": ("starcoder2", GROUPED),
    "t5": ("t5", {"d_model": 16, "d_kv": 4, "num_heads": 4, "num_layers": 2, "d_ff": 24, "vocab_size": 33}),
    "vit": ("vit", {**SIZES, "image_size": 8, "patch_size": 4, "qkv_bias": True}),
    "whisper": (
        "whisper",
        {
            "d_model": 16,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 24,
            "decoder_ffn_dim": 24,
            "vocab_size": 33,
            "num_mel_bins": 8,
            "max_source_positions": 6,
            "max_target_positions": 16,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "decoder_start_token_id": 1,
        },
    ),
}


def build(name: str) -> Any:
    """The model, in float64, with all numbers random (norms and biases too), in evaluation mode."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    family, sizes = FAMILIES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = transformers.AutoConfig.for_model(family, **sizes)
        config._attn_implementation = "eager"
        for field in ("experts_implementation", "_experts_implementation"):
            setattr(config, field, "eager")
        kind = {
            "vit": transformers.AutoModel,
            **dict.fromkeys(("bert", "distilbert", "roberta"), transformers.AutoModelForMaskedLM),
            "t5": transformers.AutoModelForSeq2SeqLM,
            "whisper": transformers.WhisperForConditionalGeneration,
        }.get(family, transformers.AutoModelForCausalLM)
        torch.manual_seed(5)
        constructor = getattr(kind, "from_config", None) or kind
        model = constructor(config)
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.add_(0.3 * noise)
    return model.double().eval()


def inputs(name: str) -> dict[str, Any]:
    """Some input the model reads."""
    import torch

    generator = torch.Generator().manual_seed(11)
    family = FAMILIES[name][0]
    words = torch.randint(3, 33, (2, 9), generator=generator)
    if family == "vit":
        return {"pixel_values": torch.randn((2, 3, 8, 8), generator=generator, dtype=torch.float64)}
    if family == "whisper":
        sound = torch.randn((2, 8, 12), generator=generator, dtype=torch.float64)
        return {"input_features": sound, "decoder_input_ids": words}
    if family == "t5":
        return {"input_ids": words, "decoder_input_ids": words.flip(1)}
    return {"input_ids": words}


def logits(model: Any, name: str) -> Any:
    """What the model says to that input, as an array."""
    import torch

    with torch.no_grad():
        result = model(**inputs(name))
    found = result.last_hidden_state if name == "vit" else result.logits
    return found.numpy()


def save(model: Any, directory: Path) -> Path:
    """The checkpoint as transformers writes it."""
    model.save_pretrained(directory, safe_serialization=True)
    return directory
