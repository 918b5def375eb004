"""Small checkpoints in the layouts of published models, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

Arrays = dict[str, np.ndarray[Any, Any]]

WIDTH, HEADS, DEPTH = 8, 2, 2
SIZE = WIDTH // HEADS


def parts(seed: int, rank: int = SIZE) -> list[Arrays]:
    """Per layer: q, k, v, o (WIDTH×WIDTH, rows are outputs) with biases, and the scales and shifts of norms.
    Query rows of a head beyond ``rank`` are 0, with their biases."""
    rng = np.random.default_rng(seed)
    layers = []
    for _ in range(DEPTH):
        layer: Arrays = {}
        for name in "qkvo":
            layer[name] = rng.standard_normal((WIDTH, WIDTH)).astype(np.float32)
            layer[name + "_bias"] = rng.standard_normal(WIDTH).astype(np.float32)
        for head in range(HEADS):
            layer["q"][head * SIZE + rank : (head + 1) * SIZE] = 0
            layer["q_bias"][head * SIZE + rank : (head + 1) * SIZE] = 0
        layer["scale"] = (1 + 0.1 * rng.standard_normal(WIDTH)).astype(np.float32)
        layer["shift"] = rng.standard_normal(WIDTH).astype(np.float32)
        layers.append(layer)
    return layers


def bert(layers: list[Arrays], prefix: str = "", norm_names: tuple[str, str] = ("weight", "bias")) -> Arrays:
    """Separate projections; the norm of layer i is that after layer i − 1."""
    tensors: Arrays = {f"{prefix}embeddings.word_embeddings.weight": np.zeros((3, WIDTH), np.float32)}
    for i, layer in enumerate(layers):
        own = f"{prefix}encoder.layer.{i}"
        for part, name in zip("qkv", ("query", "key", "value"), strict=True):
            tensors[f"{own}.attention.self.{name}.weight"] = layer[part]
            tensors[f"{own}.attention.self.{name}.bias"] = layer[part + "_bias"]
        tensors[f"{own}.attention.output.dense.weight"] = layer["o"]
        tensors[f"{own}.attention.output.dense.bias"] = layer["o_bias"]
        norm = f"{prefix}embeddings" if i == 0 else f"{prefix}encoder.layer.{i - 1}.output"
        tensors[f"{norm}.LayerNorm.{norm_names[0]}"] = layer["scale"]
        tensors[f"{norm}.LayerNorm.{norm_names[1]}"] = layer["shift"]
    return tensors


def distilbert(layers: list[Arrays]) -> Arrays:
    """Separate projections under short names."""
    tensors: Arrays = {}
    for i, layer in enumerate(layers):
        for part, name in zip("qkvo", ("q_lin", "k_lin", "v_lin", "out_lin"), strict=True):
            tensors[f"distilbert.transformer.layer.{i}.attention.{name}.weight"] = layer[part]
            tensors[f"distilbert.transformer.layer.{i}.attention.{name}.bias"] = layer[part + "_bias"]
        norm = "embeddings.LayerNorm" if i == 0 else f"transformer.layer.{i - 1}.output_layer_norm"
        tensors[f"distilbert.{norm}.weight"] = layer["scale"]
        tensors[f"distilbert.{norm}.bias"] = layer["shift"]
    return tensors


def vit(layers: list[Arrays]) -> Arrays:
    """Separate projections; the norm stands before the layer."""
    tensors: Arrays = {}
    for i, layer in enumerate(layers):
        own = f"vit.encoder.layer.{i}"
        for part, name in zip("qkv", ("query", "key", "value"), strict=True):
            tensors[f"{own}.attention.attention.{name}.weight"] = layer[part]
            tensors[f"{own}.attention.attention.{name}.bias"] = layer[part + "_bias"]
        tensors[f"{own}.attention.output.dense.weight"] = layer["o"]
        tensors[f"{own}.layernorm_before.weight"] = layer["scale"]
        tensors[f"{own}.layernorm_before.bias"] = layer["shift"]
    return tensors


def gpt2(layers: list[Arrays], prefix: str = "transformer.") -> Arrays:
    """One fused projection, stored as inputs × outputs."""
    tensors: Arrays = {}
    for i, layer in enumerate(layers):
        own = f"{prefix}h.{i}"
        tensors[f"{own}.attn.c_attn.weight"] = np.concatenate([layer[p] for p in "qkv"]).T.copy()
        tensors[f"{own}.attn.c_attn.bias"] = np.concatenate([layer[f"{p}_bias"] for p in "qkv"])
        tensors[f"{own}.attn.c_proj.weight"] = layer["o"].T.copy()
        tensors[f"{own}.ln_1.weight"] = layer["scale"]
        tensors[f"{own}.ln_1.bias"] = layer["shift"]
    return tensors


def bloom(layers: list[Arrays]) -> Arrays:
    """One fused projection, head by head."""
    tensors: Arrays = {}
    for i, layer in enumerate(layers):
        own = f"transformer.h.{i}"
        rows = [slice(h * SIZE, (h + 1) * SIZE) for h in range(HEADS)]
        tensors[f"{own}.self_attention.query_key_value.weight"] = np.concatenate(
            [layer[p][s] for s in rows for p in "qkv"]
        )
        tensors[f"{own}.self_attention.query_key_value.bias"] = np.concatenate(
            [layer[f"{p}_bias"][s] for s in rows for p in "qkv"]
        )
        tensors[f"{own}.self_attention.dense.weight"] = layer["o"]
        tensors[f"{own}.input_layernorm.weight"] = layer["scale"]
        tensors[f"{own}.input_layernorm.bias"] = layer["shift"]
    return tensors


LAYOUTS = {"BERT": bert, "DistilBERT": distilbert, "ViT": vit, "GPT-2": gpt2, "BLOOM": bloom}


def write(tensors: Arrays, path: Path) -> Path:
    """A .safetensors or .npz file."""
    if path.suffix == ".npz":
        np.savez(path, **tensors)  # type: ignore[arg-type]
    else:
        save_file(tensors, path)
    return path
