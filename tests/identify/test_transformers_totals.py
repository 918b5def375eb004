"""Totals of the attention part against the models that transformers builds from the same configs.

Needs the extra ``transformers``; models are built on the meta device, so without memory for their weights.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from published_configs import CONFIGS, config

from exactattn.identify import count_model, read_config

torch = pytest.importorskip("torch")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
transformers = pytest.importorskip("transformers")

pytestmark = [pytest.mark.crosscheck, pytest.mark.filterwarnings("ignore")]


def attention_parameters(fields: dict[str, Any]) -> int:
    """Parameters of all attention modules, the norms that stand around them left out."""
    settings = transformers.AutoConfig.for_model(fields.pop("model_type"), **fields)
    with torch.device("meta"):
        model = transformers.AutoModel.from_config(settings)
    seen: dict[int, int] = {}
    for _, module in model.named_modules():
        if "Attention" not in type(module).__name__:
            continue
        for name, parameter in module.named_parameters():
            # BERT and T5 hold the norm of the block inside a module of that name
            around = "LayerNorm" in name or (
                name.endswith("layer_norm.weight") and "Layer" in type(module).__name__
            )
            if not around:
                seen[id(parameter)] = parameter.numel()
    tables = [m for n, m in model.named_modules() if n.endswith("relative_attention_bias")]
    assert all(id(table.weight) in seen for table in tables)
    return sum(seen.values())


def total(path: Path) -> int:
    return count_model(read_config(path)).parameters


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_published(path: Path) -> None:
    """A projection, bias, norm or sink of a published model would be missing from its count, or too much."""
    assert total(path) == attention_parameters(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_saved_again(path: Path, tmp_path: Path) -> None:
    """A config saved by the library, with all its defaults and newer field names, would be read otherwise."""
    fields = json.loads(path.read_text(encoding="utf-8"))
    transformers.AutoConfig.for_model(fields.pop("model_type"), **fields).save_pretrained(tmp_path)
    again, published = read_config(tmp_path / "config.json"), read_config(path)
    assert count_model(again, norms=True).unidentified == count_model(published, norms=True).unidentified
    assert count_model(again, norms=True).parameters == count_model(published, norms=True).parameters
    assert [group.attention.rotated for group in again.layers] == [
        group.attention.rotated for group in published.layers
    ]


VARIATIONS = [
    ("llama-3-8b", {"attention_bias": True, "head_dim": 96}),
    ("qwen3-8b", {"attention_bias": True}),
    ("olmo-2-7b", {"attention_bias": True, "num_key_value_heads": 8}),
    ("command-r", {"use_qk_norm": True, "num_key_value_heads": 8, "attention_bias": True}),
    ("stablelm-2-1.6b", {"qk_layernorm": True, "use_qkv_bias": False, "num_key_value_heads": 8}),
    ("phi-2", {"qk_layernorm": True, "num_key_value_heads": 8}),
    ("deepseek-v3", {"attention_bias": True}),
    ("deepseek-v2-lite", {"attention_bias": True, "q_lora_rank": 128}),
    ("falcon-7b", {"bias": True, "multi_query": False}),
    ("falcon-7b", {"new_decoder_architecture": True, "num_kv_heads": 71, "alibi": True}),
    ("opt-1.3b", {"enable_bias": False}),
    ("pythia-160m", {"attention_bias": False}),
    ("gpt-oss-20b", {"attention_bias": False}),
    ("starcoder2-3b", {"use_bias": False}),
    ("vit-base-patch16-224", {"qkv_bias": False}),
    ("t5-small", {"num_decoder_layers": 3, "d_kv": 40, "relative_attention_num_buckets": 16}),
    ("whisper-tiny", {"decoder_layers": 2, "encoder_attention_heads": 4}),
    ("gemma-2-9b", {"attention_bias": True}),
]


@pytest.mark.parametrize(("name", "changes"), VARIATIONS)
def test_varied(tmp_path: Path, name: str, changes: dict[str, Any]) -> None:
    """A flag of a family would be read otherwise than the library reads it."""
    fields = json.loads(config(name).read_text(encoding="utf-8")) | changes
    path = tmp_path / "config.json"
    path.write_text(json.dumps(fields))
    assert total(path) == attention_parameters(fields)
