"""Reading attention weights of checkpoints: every layout gives the same heads; bad files, one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import checkpoint_files as files
import numpy as np
import pytest
from flint import fmpq

from exactattn.allocate import load_weights, open_model
from exactattn.exceptions import InputError


@pytest.mark.parametrize("suffix", [".safetensors", ".npz"])
@pytest.mark.parametrize("layout", list(files.LAYOUTS))
def test_every_layout_gives_the_same_heads(layout: str, suffix: str, tmp_path: Path) -> None:
    """Breaks: a tensor taken for another, a transposition, or heads cut out of the wrong rows."""
    layers = files.parts(seed=1)
    path = files.write(files.LAYOUTS[layout](layers), tmp_path / f"model{suffix}")
    model = load_weights(path, files.HEADS)
    assert (model.layout.name, model.depth) == (layout, files.DEPTH)
    for index, expected in enumerate(layers):
        layer = model.layer(index)
        assert layer.norm is not None
        np.testing.assert_array_equal(layer.norm.scale, expected["scale"])
        np.testing.assert_array_equal(layer.norm.shift, expected["shift"])
        for h, head in enumerate(layer.heads):
            rows = slice(h * files.SIZE, (h + 1) * files.SIZE)
            np.testing.assert_array_equal(head.query, expected["q"][rows])
            np.testing.assert_array_equal(head.query_bias, expected["q_bias"][rows])
            np.testing.assert_array_equal(head.key, expected["k"][rows])
            np.testing.assert_array_equal(head.value, expected["v"][rows])
            np.testing.assert_array_equal(head.output, expected["o"][:, rows])
            assert head.scale_squared == fmpq(1, files.SIZE)


def test_prefixes_and_old_names_of_norms(tmp_path: Path) -> None:
    """Breaks: models saved inside another one, and checkpoints that say gamma and beta."""
    layers = files.parts(seed=2)
    path = files.write(files.bert(layers, "model.bert.", ("gamma", "beta")), tmp_path / "m.safetensors")
    model = load_weights(path, 2)
    assert model.prefix == "model.bert."
    norm = model.layer(1).norm
    assert norm is not None
    np.testing.assert_array_equal(norm.scale, layers[1]["scale"])


def test_a_missing_bias_is_zero_and_a_missing_norm_is_none(tmp_path: Path) -> None:
    """Breaks: models without biases, and the request for --token-norm where nothing is known."""
    tensors = {
        name: array
        for name, array in files.gpt2(files.parts(seed=3)).items()
        if not name.endswith("c_attn.bias") and "ln_1" not in name
    }
    layer = load_weights(files.write(tensors, tmp_path / "m.npz"), 2).layer(0)
    assert layer.norm is None
    assert not layer.heads[0].query_bias.any()


def test_short_floats_are_read_exactly(tmp_path: Path) -> None:
    """Breaks: bfloat16, whose numbers are the upper halves of float32, and float16."""
    layers = files.parts(seed=4)
    tensors = files.bert(layers)
    half = {name: array.astype(np.float16) for name, array in tensors.items()}
    path = files.write(half, tmp_path / "half.safetensors")
    expected = layers[0]["q"].astype(np.float16)[: files.SIZE]
    np.testing.assert_array_equal(load_weights(path, 2).layer(0).heads[0].query, expected)

    upper = {name: (a.view(np.uint32) >> 16).astype("<u2") for name, a in tensors.items()}
    table: dict[str, Any] = {}
    data = b""
    for name, array in upper.items():
        table[name] = {
            "dtype": "BF16",
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + 2 * array.size],
        }
        data += array.tobytes()
    header = json.dumps(table).encode()
    path = tmp_path / "brain.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)
    cut = (layers[0]["q"].view(np.uint32) >> 16 << 16).view(np.float32)[: files.SIZE]
    np.testing.assert_array_equal(load_weights(path, 2).layer(0).heads[0].query, cut)


def changed(change: Callable[[files.Arrays], object]) -> files.Arrays:
    tensors = files.bert(files.parts(seed=5))
    change(tensors)
    return tensors


QUERY = "encoder.layer.1.attention.self.query.weight"
NAN = np.full((8, 8), np.nan, np.float32)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (changed(lambda t: t.update({QUERY: NAN})), f"{QUERY}: holds NaN"),
        (changed(lambda t: t.update({QUERY: np.full((8, 8), 1e35)})), r"holds numbers beyond 1e\+30"),
        (changed(lambda t: t.update({QUERY: np.zeros((8, 8), np.int32)})), f"{QUERY}: has type (int32|I32)"),
        (changed(lambda t: t.update({QUERY: np.zeros((4, 8), np.float32)})), r"bias: has shape \(8,\)"),
        (changed(lambda t: t.update({QUERY: np.zeros(8, np.float32)})), "it must be a matrix"),
        (changed(lambda t: t.pop(QUERY.replace("query", "key"))), "key.weight: is missing"),
        ({"W": NAN}, "has no attention layers under the names of BERT, DistilBERT, ViT, GPT-2, BLOOM"),
    ],
)
@pytest.mark.parametrize("suffix", [".safetensors", ".npz"])
def test_bad_tensors(tensors: files.Arrays, message: str, suffix: str, tmp_path: Path) -> None:
    """Breaks: file, tensor and mend in one sentence."""
    path = files.write(tensors, tmp_path / f"bad{suffix}")
    with pytest.raises(InputError, match=message) as caught:
        load_weights(path, 2).layer(1)
    assert path.name in str(caught.value)


def test_bad_files(tmp_path: Path) -> None:
    """Breaks: files that are missing, of another kind, or damaged."""
    good = files.write(files.bert(files.parts(seed=6)), tmp_path / "good.safetensors")
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(good.read_bytes()[:-5])
    text = tmp_path / "text.npz"
    text.write_text("no archive")
    other = tmp_path / "weights.bin"
    other.write_bytes(b"\x80\x02")
    for path, message in (
        (tmp_path / "absent.safetensors", "there is no such file"),
        (cut, "is not a .safetensors file"),
        (text, "cannot be read"),
        (other, "is no weights file"),
    ):
        with pytest.raises(InputError, match=message):
            load_weights(path, 2)
    with pytest.raises(InputError, match="heads: must be at least 1"):
        load_weights(good, 0)
    for heads in (3, 16):
        with pytest.raises(InputError, match=f"which are not {heads} heads of one size"):
            load_weights(good, heads).layer(0)


CONFIG = {"model_type": "bert", "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2}
LLAMA = {
    "model_type": "llama",
    "hidden_size": 8,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
}


def test_heads_from_a_config(tmp_path: Path) -> None:
    """Breaks: the config beside the weights, an explicit one, and refusal where no bound is known."""
    path = files.write(files.bert(files.parts(seed=7)), tmp_path / "model.safetensors")
    with pytest.raises(InputError, match="the number of heads is not known; give --heads or --config"):
        open_model(path)
    assert open_model(path, heads=4).heads == 4
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(json.dumps(CONFIG))
    assert open_model(path, config=elsewhere).heads == 2
    with pytest.raises(InputError, match="give one of --heads and --config"):
        open_model(path, heads=2, config=elsewhere)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    assert open_model(path).layer(0).heads[0].scale_squared == fmpq(1, 4)
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    with pytest.raises(InputError, match="describes rotated queries and keys, for which no bound is known"):
        open_model(path)
