"""Small checkpoints for tests, written without torch: Llama-like with any architecture's switches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from exactattn.checkpoint.rounding import stored_bytes

Arrays = dict[str, np.ndarray[Any, Any]]


def save(tensors: Arrays, path: Path, kind: str = "F32", metadata: dict[str, str] | None = None) -> Path:
    """A .safetensors file with all tensors of one type."""
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    content, start = [], 0
    for name, array in tensors.items():
        data = stored_bytes(array, kind)
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [start, start + len(data)]}
        content.append(data)
        start += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(content))
    return path


def save_shards(tensors: Arrays, directory: Path, count: int, kind: str = "F32") -> Path:
    """A directory of shards with their index."""
    directory.mkdir(exist_ok=True)
    names, places = list(tensors), {}
    for i in range(count):
        shard = f"model-{i + 1:05}-of-{count:05}.safetensors"
        part = {name: tensors[name] for name in names[i::count]}
        save(part, directory / shard, kind, {"format": "pt"})
        places |= dict.fromkeys(part, shard)
    index = {"metadata": {"total_size": 0}, "weight_map": places}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    return directory


WIDTH, HEADS, GROUPS, SIZE = 12, 4, 2, 4

LLAMA = {
    "model_type": "llama",
    "hidden_size": WIDTH,
    "num_attention_heads": HEADS,
    "num_key_value_heads": GROUPS,
    "head_dim": SIZE,
    "num_hidden_layers": 2,
}
QWEN2 = {**LLAMA, "model_type": "qwen2"}
GPT_OSS = {**LLAMA, "model_type": "gpt_oss", "attention_bias": True, "sliding_window": 4}
GEMMA2 = {**LLAMA, "model_type": "gemma2", "query_pre_attn_scalar": 4, "attention_bias": True}
QWEN3 = {**LLAMA, "model_type": "qwen3"}
OPT = {
    "model_type": "opt",
    "hidden_size": WIDTH,
    "num_attention_heads": HEADS,
    "num_hidden_layers": 2,
}
OLMO2 = {**LLAMA, "model_type": "olmo2"}
PHI = {
    **LLAMA,
    "hidden_size": HEADS * SIZE,
    "model_type": "phi",
    "partial_rotary_factor": 0.5,
}
BLOOM = {"model_type": "bloom", "hidden_size": HEADS * SIZE, "n_head": HEADS, "n_layer": 2}


def config(directory: Path, fields: dict[str, Any]) -> Path:
    """A config.json in a directory."""
    directory.mkdir(exist_ok=True)
    path = directory / "config.json"
    path.write_text(json.dumps(fields))
    return path


def tensors(fields: dict[str, Any], seed: int = 0) -> Arrays:
    """Random tensors for a config of this module, by the names its family uses."""
    from exactattn.checkpoint.layouts import LAYOUTS
    from exactattn.identify import read_config
    from exactattn.identify.parameters import parameter_shapes

    rng = np.random.default_rng(seed)
    found: Arrays = {"model.embed_tokens.weight": rng.standard_normal((5, WIDTH))}
    import tempfile

    model = read_config(config(Path(tempfile.mkdtemp()), fields))
    layout = LAYOUTS[model.family]["layers", False][0]
    for group in model.layers:
        for i in group.numbers:
            places = layout.places(group.attention, "model.", i)
            fused: dict[str, int] = {}
            for name, shape in parameter_shapes(group.attention).items():
                (place,) = places[name]
                if place.rows is None:
                    found[place.tensor] = rng.standard_normal(shape[::-1] if place.transposed else shape)
                    continue
                fused[place.tensor] = max(fused.get(place.tensor, 0), int(place.rows.max()) + 1)
                rest = shape[1:]
                found[place.tensor] = rng.standard_normal((fused[place.tensor], *rest))
    return found


def checkpoint(
    directory: Path, fields: dict[str, Any], *, kind: str = "F32", seed: int = 0, shards: int = 0
) -> Path:
    """A directory with config and weights."""
    config(directory, fields)
    found = tensors(fields, seed)
    if shards:
        return save_shards(found, directory, shards, kind)
    save(found, directory / "model.safetensors", kind, {"format": "pt"})
    return directory
