"""Small BERT-like checkpoints with random float32 weights."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import safetensors.numpy


def save_bert(folder: Path, *, width: int = 12, heads: int = 3, layers: int = 1, seed: int = 0) -> Path:
    """A checkpoint with its config.json; weights as a trained model has them, of spread exponents."""
    rng = np.random.default_rng(seed)
    tensors = {}
    for i in range(layers):
        stem = f"encoder.layer.{i}.attention"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            tensors[f"{stem}.{part}.weight"] = (0.05 * rng.standard_normal((width, width))).astype(np.float32)
            tensors[f"{stem}.{part}.bias"] = (0.1 * rng.standard_normal(width)).astype(np.float32)
        for part in ("weight", "bias"):
            tensors[f"{stem}.output.LayerNorm.{part}"] = rng.standard_normal(width).astype(np.float32)
    fields = {
        "model_type": "bert",
        "hidden_size": width,
        "num_attention_heads": heads,
        "num_hidden_layers": layers,
    }
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(fields))
    path = folder / "model.safetensors"
    safetensors.numpy.save_file(tensors, path)
    return path
