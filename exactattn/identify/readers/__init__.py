"""Readers of published configs, one function a family, found by model_type."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from exactattn.identify.config_fields import Fields
from exactattn.identify.readers.encoders import bert, distilbert, gemma3, t5, vit, whisper
from exactattn.identify.readers.gpt_like import (
    bloom,
    cohere,
    falcon,
    gpt2,
    gpt_neox,
    gptj,
    mpt,
    opt,
    phi,
    stablelm,
    starcoder2,
)
from exactattn.identify.readers.latent import deepseek
from exactattn.identify.readers.llama_like import (
    gemma2,
    gemma3_text,
    gpt_oss,
    llama,
    mistral,
    olmo2,
    phi3,
    qwen2,
    qwen3,
)
from exactattn.identify.spec import ModelSpec

__all__ = ["READERS"]

READERS: Mapping[str, Callable[[Fields, str], ModelSpec]] = {
    "bert": bert,
    "bloom": bloom,
    "cohere": cohere,
    "deepseek_v2": deepseek,
    "deepseek_v3": deepseek,
    "distilbert": distilbert,
    "falcon": falcon,
    "gemma2": gemma2,
    "gemma3": gemma3,
    "gemma3_text": gemma3_text,
    "gpt2": gpt2,
    "gpt_neox": gpt_neox,
    "gpt_oss": gpt_oss,
    "gptj": gptj,
    "llama": llama,
    "mistral": mistral,
    "mixtral": mistral,
    "mpt": mpt,
    "olmo2": olmo2,
    "opt": opt,
    "phi": phi,
    "phi3": phi3,
    "qwen2": qwen2,
    "qwen3": qwen3,
    "roberta": bert,
    "stablelm": stablelm,
    "starcoder2": starcoder2,
    "t5": t5,
    "vit": vit,
    "whisper": whisper,
}
