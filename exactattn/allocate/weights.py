"""Attention weights of published checkpoints: which tensor is what, layer by layer.

Each layout says by name where the projections are and which layer norm makes the layer's tokens: the one
before it (GPT-2, BLOOM, ViT) or the one after the layer below (BERT, DistilBERT).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from exactattn.allocate.truncation import HeadWeights, LayerNorm
from exactattn.checkpoint.tensor_file import TensorFile
from exactattn.exceptions import InputError

__all__ = ["LayerWeights", "ModelWeights", "load_weights"]

Array = NDArray[Any]
NORM_NAMES = (("weight", "bias"), ("gamma", "beta"))


@dataclass(frozen=True)
class Layout:
    """Names of tensors, with {i} for the layer and {j} for the one below.

    ``projections``: of queries, keys and values; or a single fused one, whose rows are all queries, all keys,
    all values, or (``by_head``) these three head by head. ``transposed``: weights are
    stored as inputs × outputs. ``first_norm``: the norm of layer 0 where it has another name.
    """

    name: str
    projections: tuple[str, ...]
    output: str
    norm: str
    first_norm: str = ""
    transposed: bool = False
    by_head: bool = False


LAYOUTS = (
    Layout(
        "BERT",
        tuple(f"encoder.layer.{{i}}.attention.self.{part}" for part in ("query", "key", "value")),
        output="encoder.layer.{i}.attention.output.dense",
        norm="encoder.layer.{j}.output.LayerNorm",
        first_norm="embeddings.LayerNorm",
    ),
    Layout(
        "DistilBERT",
        tuple(f"transformer.layer.{{i}}.attention.{part}_lin" for part in ("q", "k", "v")),
        output="transformer.layer.{i}.attention.out_lin",
        norm="transformer.layer.{j}.output_layer_norm",
        first_norm="embeddings.LayerNorm",
    ),
    Layout(
        "ViT",
        tuple(f"encoder.layer.{{i}}.attention.attention.{part}" for part in ("query", "key", "value")),
        output="encoder.layer.{i}.attention.output.dense",
        norm="encoder.layer.{i}.layernorm_before",
    ),
    Layout(
        "GPT-2",
        ("h.{i}.attn.c_attn",),
        output="h.{i}.attn.c_proj",
        norm="h.{i}.ln_1",
        transposed=True,
    ),
    Layout(
        "BLOOM",
        ("h.{i}.self_attention.query_key_value",),
        output="h.{i}.self_attention.dense",
        norm="h.{i}.input_layernorm",
        by_head=True,
    ),
)


@dataclass(frozen=True)
class LayerWeights:
    """One attention layer: its heads, and the layer norm that makes its tokens if the file has it."""

    index: int
    heads: tuple[HeadWeights, ...]
    norm: LayerNorm | None


@dataclass(frozen=True)
class ModelWeights:
    """The attention layers of a checkpoint, read one at a time."""

    file: TensorFile
    layout: Layout
    prefix: str
    depth: int
    heads: int
    scale_squared: fmpq | None = None

    def layer(self, index: int) -> LayerWeights:
        """Layer ``index``, from 0. Raises InputError, with the tensor, for missing or misshapen ones."""
        query, key, value = self._projections(index)
        output = self._matrix(self._name(self.layout.output, index))
        width = query[0].shape[1]
        size = query[0].shape[0] // self.heads
        if size == 0 or query[0].shape[0] % self.heads or output.shape != (width, query[0].shape[0]):
            raise InputError(
                f"layer {index} has projections {query[0].shape} and {output.shape}, which are not "
                f"{self.heads} heads of one size; check the number of heads",
                file=self.file.path,
            )
        scale = fmpq(1, size) if self.scale_squared is None else self.scale_squared
        parts = [slice(h * size, (h + 1) * size) for h in range(self.heads)]
        heads = tuple(
            HeadWeights(query[0][s], query[1][s], key[0][s], value[0][s], output[:, s], scale) for s in parts
        )
        return LayerWeights(index, heads, self._norm(index, width))

    def _name(self, pattern: str, index: int) -> str:
        return self.prefix + pattern.format(i=index, j=index - 1)

    def _matrix(self, name: str) -> Array:
        weight = self.file.tensor(f"{name}.weight")
        if weight.ndim != 2:
            raise InputError(
                f"has shape {weight.shape}; it must be a matrix", file=self.file.path, field=name
            )
        return weight.T if self.layout.transposed else weight

    def _projections(self, index: int) -> list[tuple[Array, Array]]:
        """Query, key and value weights with rows for outputs, and their biases (0 where there is none)."""
        names = [self._name(part, index) for part in self.layout.projections]
        found = [self._with_bias(name) for name in names]
        if len(names) == 1:
            found = self._split(*found[0], names[0])
        shapes = {weight.shape for weight, _ in found}
        if len(shapes) > 1:
            raise InputError(
                f"layer {index} has projections of shapes {sorted(shapes)}; layers with fewer key heads than "
                "query heads are not supported",
                file=self.file.path,
            )
        return found

    def _with_bias(self, name: str) -> tuple[Array, Array]:
        weight = self._matrix(name)
        bias = (
            self.file.tensor(f"{name}.bias")
            if f"{name}.bias" in self.file
            else np.zeros(weight.shape[0], dtype=weight.dtype)
        )
        if bias.shape != weight.shape[:1]:
            raise InputError(
                f"has shape {bias.shape}, but the weight gives {weight.shape[0]} numbers",
                file=self.file.path,
                field=f"{name}.bias",
            )
        return weight, bias

    def _split(self, weight: Array, bias: Array, name: str) -> list[tuple[Array, Array]]:
        width = weight.shape[1]
        groups = self.heads if self.layout.by_head else 1
        if weight.shape[0] != 3 * width or width % groups:
            raise InputError(
                f"has {weight.shape[0]} rows, but queries, keys and values of {self.heads} heads and width "
                f"{width} need {3 * width}",
                file=self.file.path,
                field=name,
            )
        weights, biases = weight.reshape(groups, 3, -1, width), bias.reshape(groups, 3, -1)
        return [(weights[:, k].reshape(-1, width), biases[:, k].reshape(-1)) for k in range(3)]

    def _norm(self, index: int, width: int) -> LayerNorm | None:
        pattern = self.layout.first_norm if index == 0 and self.layout.first_norm else self.layout.norm
        name = self._name(pattern, index)
        for scale, shift in NORM_NAMES:
            if f"{name}.{scale}" in self.file and f"{name}.{shift}" in self.file:
                norm = LayerNorm(self.file.tensor(f"{name}.{scale}"), self.file.tensor(f"{name}.{shift}"))
                return norm if norm.scale.shape == norm.shift.shape == (width,) else None
        return None


def load_weights(path: str | Path, heads: int, scale_squared: fmpq | None = None) -> ModelWeights:
    """The attention layers of a .safetensors or .npz file in the layout of BERT, DistilBERT, ViT, GPT-2 or
    BLOOM; ``scale_squared``: the square of the factor on scores if it is not 1/D.

    Raises InputError for files that are not in one of these layouts.
    """
    if heads < 1:
        raise InputError(f"must be at least 1, not {heads}", field="heads")
    file = TensorFile(Path(path))
    for layout, prefix, depth in _matches(file):
        return ModelWeights(file, layout, prefix, depth, heads, scale_squared)
    names = ", ".join(layout.name for layout in LAYOUTS)
    raise InputError(f"has no attention layers under the names of {names}", file=path)


def _matches(file: TensorFile) -> Iterator[tuple[Layout, str, int]]:
    """Layouts whose query projections of layers 0, 1, … are there, with the prefix of their names."""
    for layout in LAYOUTS:
        pattern = re.escape(layout.projections[0] + ".weight").replace(re.escape("{i}"), "([0-9]+)")
        matches = [m for name in file.names if (m := re.fullmatch(f"(|.*\\.){pattern}", name))]
        for prefix in sorted({m[1] for m in matches}, key=len):
            indices = {int(m[2]) for m in matches if m[1] == prefix}
            if indices == set(range(len(indices))):
                yield layout, prefix, len(indices)
