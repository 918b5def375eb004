"""Reading layers: files, shards, layouts, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stored_models as models

from exactattn.checkpoint import open_checkpoint
from exactattn.exceptions import InputError


def test_one_file_shards_index_and_directory_read_alike(tmp_path: Path) -> None:
    """Breaks: sharded checkpoints; a directory without an index."""
    single = models.checkpoint(tmp_path / "single", models.LLAMA)
    sharded = models.checkpoint(tmp_path / "sharded", models.LLAMA, shards=3)
    loose = models.checkpoint(tmp_path / "loose", models.LLAMA, shards=2)
    (loose / "model.safetensors.index.json").unlink()
    opened = [
        open_checkpoint(single),
        open_checkpoint(single / "model.safetensors"),
        open_checkpoint(sharded),
        open_checkpoint(sharded / "model.safetensors.index.json"),
        open_checkpoint(loose),
    ]
    first = opened[0].attention(1).parameters
    for checkpoint in opened:
        assert list(checkpoint.layers) == [0, 1]
        for name, array in checkpoint.attention(1).parameters.items():
            np.testing.assert_array_equal(array, first[name])


@pytest.mark.parametrize("kind", ["F64", "F32", "F16", "BF16"])
def test_numbers_are_the_stored_ones(tmp_path: Path, kind: str) -> None:
    """Breaks: exactness of what is read: each array is rows of its tensor, heads below each other."""
    place = models.checkpoint(tmp_path / "m", models.QWEN2, kind=kind)
    stored = models.tensors(models.QWEN2)
    weights = open_checkpoint(place).attention(0)
    head = weights.head(3)
    raw = stored["model.layers.0.self_attn.k_proj.weight"]
    bits = {"F64": 52, "F32": 23, "F16": 10, "BF16": 7}[kind]
    np.testing.assert_allclose(head.key, raw[4:8], rtol=2.0 ** -(bits + 1), atol=1e-7)
    query = stored["model.layers.0.self_attn.q_proj.bias"]
    assert head.query_bias is not None
    np.testing.assert_allclose(head.query_bias, query[12:16], rtol=2.0 ** -(bits + 1), atol=1e-7)
    assert all(Fraction(float(x)).denominator <= 2 ** (bits + 30) for x in head.key.flat)


def test_exact_products_of_a_head(tmp_path: Path) -> None:
    """Breaks: the products that other tools decide with, bias row and column included."""
    place = models.checkpoint(tmp_path / "m", models.OPT)
    weights = open_checkpoint(place).attention(1)
    head, products = weights.head(2), weights.exact_products(2)
    assert head.query_bias is not None
    assert head.value_bias is not None

    def entry(i: int, j: int) -> Fraction:
        column = head.query[:, i] if i < models.WIDTH else head.query_bias
        return sum(
            (Fraction(float(a)) * Fraction(float(b)) for a, b in zip(column, head.key[:, j], strict=True)),
            Fraction(0),
        )

    for i, j in ((0, 1), (5, 11), (12, 4)):
        assert Fraction(str(products.query_key_affine.entry(i, j))) == entry(i, j)
    assert products.query_key_affine.shape == (13, 12)
    assert products.value_output_affine.shape == (12, 13)
    assert (products.query_key_affine.rows(0, 12) - products.query_key).frobenius_squared() == 0


def test_products_of_rotated_heads_are_refused(tmp_path: Path) -> None:
    """Breaks: one bilinear form given for scores that depend on positions."""
    place = models.checkpoint(tmp_path / "m", models.LLAMA)
    with pytest.raises(InputError, match="no bilinear form"):
        open_checkpoint(place).attention(0).exact_products(0)


def test_fused_projections_are_taken_apart(tmp_path: Path) -> None:
    """Breaks: layouts with one tensor for queries, keys and values, head by head (BLOOM)."""
    place = models.checkpoint(tmp_path / "m", models.BLOOM)
    (tmp_path / "m" / "config.json").write_text(json.dumps(models.BLOOM))
    joint = models.tensors(models.BLOOM)["model.h.0.self_attention.query_key_value.weight"]
    head = open_checkpoint(place).attention(0).head(1)
    for k, part in enumerate((head.query, head.key, head.value)):
        np.testing.assert_array_equal(part, joint[12 + 4 * k : 16 + 4 * k].astype(np.float32))


def test_scales_stored_less_one_are_marked(tmp_path: Path) -> None:
    """Breaks: Gemma's norms, whose scale is 1 plus what is stored."""
    weights = open_checkpoint(models.checkpoint(tmp_path / "m", models.GEMMA2)).attention(0)
    assert weights.shifted == {"before scale", "after scale"}


def refused(path: Path, sentence: str, layer: int | None = None) -> None:
    def read() -> None:
        checkpoint = open_checkpoint(path)
        if layer is not None:
            checkpoint.attention(layer)

    with pytest.raises(InputError, match=sentence) as error:
        read()
    assert "\n" not in str(error.value)


def test_bad_checkpoints_are_refused_in_one_sentence(tmp_path: Path) -> None:
    """Breaks: errors that name file, field and mend."""
    place = models.checkpoint(tmp_path / "m", models.LLAMA, shards=2)
    (place / "config.json").rename(place / "kept.json")
    refused(place, "no config.json beside it")
    models.config(place, models.BLOOM)
    refused(place, "has no tensor named h.0.self_attention.query_key_value.weight")
    models.config(place, {**models.LLAMA, "num_hidden_layers": 3})
    refused(place, "is missing; the checkpoint is not complete", layer=2)
    models.config(place, {**models.LLAMA, "head_dim": 2})
    refused(place, "has shape .16, 12., but the config gives .8, 12.", layer=0)
    models.config(place, models.LLAMA)
    (place / "model-00002-of-00002.safetensors").unlink()
    refused(place, "there is no such file")
    index = place / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "../elsewhere.safetensors"}}))
    refused(place, "which is not beside the index")
    index.write_text(json.dumps({"weight_map": ["a"]}))
    refused(place, "must be an object from tensors to files")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "has no .safetensors files")


def test_a_bias_that_the_config_denies_is_refused(tmp_path: Path) -> None:
    """Breaks: silently dropping a bias, so that every later statement is about another function."""
    place = models.checkpoint(tmp_path / "m", models.QWEN2)
    models.config(place, models.LLAMA)
    refused(place, "_proj.bias: is in the file, but the config says", layer=0)


def test_a_tensor_in_two_files_is_refused(tmp_path: Path) -> None:
    """Breaks: taking one of two tensors of one name."""
    place = models.checkpoint(tmp_path / "m", models.LLAMA, shards=2)
    (place / "model.safetensors.index.json").unlink()
    one = place / "model-00001-of-00002.safetensors"
    (place / "again.safetensors").write_bytes(one.read_bytes())
    refused(place, "stands in again.safetensors too")


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    """Breaks: safety: a pickle named as weights is no checkpoint."""
    models.config(tmp_path, models.LLAMA)
    bad = tmp_path / "model.safetensors"
    bad.write_bytes(b"\x80\x04cposix\nsystem\n(S'true'\ntR.")
    refused(bad, "is not a .safetensors file")
    other = tmp_path / "pytorch_model.bin"
    other.write_bytes(bad.read_bytes())
    refused(other, "is no weights file")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 2e30])
def test_numbers_that_are_not_finite_are_refused(tmp_path: Path, number: float) -> None:
    """Breaks: exact values of NaN."""
    found: dict[str, Any] = models.tensors(models.LLAMA)
    models.config(tmp_path, models.LLAMA)
    found["model.layers.1.self_attn.v_proj.weight"][2, 3] = 0
    path = models.save(found, tmp_path / "model.safetensors")
    data = bytearray(path.read_bytes())
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    begin = header["model.layers.1.self_attn.v_proj.weight"]["data_offsets"][0]
    at = 8 + int.from_bytes(data[:8], "little") + begin
    data[at : at + 4] = np.float32(number).tobytes()
    path.write_bytes(data)
    open_checkpoint(tmp_path).attention(0)
    refused(tmp_path, "holds NaN or infinities|holds numbers beyond", layer=1)


def test_a_norm_that_also_feeds_the_residual_is_refused(tmp_path: Path) -> None:
    """Breaks: folding a norm into the layer although the sum behind the layer reads the norm as well."""
    place = models.checkpoint(tmp_path / "m", models.BLOOM)
    models.config(place, {**models.BLOOM, "apply_residual_connection_post_layernorm": True})
    refused(place, "apply_residual_connection_post_layernorm: True is not supported, only False")
