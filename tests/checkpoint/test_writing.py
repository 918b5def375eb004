"""Writing a transformed checkpoint: whole or not at all, everything else byte for byte."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stored_models as models
from flint import arb

from exactattn.checkpoint import (
    AttentionWeights,
    Moved,
    canonicalize,
    layer_change,
    open_checkpoint,
    rebalance,
    transform_checkpoint,
)
from exactattn.checkpoint.rebalance import balanced_symmetries
from exactattn.exceptions import InputError


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def stored_tensors(path: Path) -> dict[str, Any]:
    """Bytes of every tensor, and the whole table."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    found: dict[str, Any] = {"table": data[: 8 + length]}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            found[name] = data[8 + length + begin : 8 + length + end]
    return found


@pytest.mark.parametrize("kind", ["F64", "F32", "F16", "BF16"])
@pytest.mark.parametrize(
    "fields", [models.LLAMA, models.BLOOM, models.OPT, models.GPT_OSS], ids=lambda f: f["model_type"]
)
def test_only_the_projections_change(tmp_path: Path, fields: dict[str, Any], kind: str) -> None:
    """Breaks: tables, metadata and other tensors byte for byte; certified change small for each type."""
    source = models.checkpoint(tmp_path / "in", fields, kind=kind)
    before = files(source)
    target = tmp_path / "out.safetensors"
    checkpoint = open_checkpoint(source / "model.safetensors")
    written = list(transform_checkpoint(checkpoint, rebalance, target, config=source / "config.json"))
    assert len(written) == 2
    assert files(source) == before
    old, new = stored_tensors(source / "model.safetensors"), stored_tensors(target)
    assert old.keys() == new.keys()
    moved = {name for name in old if old[name] != new[name]}
    assert moved
    assert all("attn" in name or "attention" in name for name in moved)
    assert old["table"] == new["table"]
    unit = {"F64": 2.0**-47, "F32": 2.0**-19, "F16": 2.0**-8, "BF16": 2.0**-5}[kind]
    for layer in written:
        assert layer.imbalance_after < unit
        for head in layer.change.heads:
            assert head.value_squared > 0
            assert float(arb(head.value_squared / head.value_size_squared)) < unit**2


def test_shards_and_neighbours_are_copied(tmp_path: Path) -> None:
    """Breaks: sharded output: index, config and tokenizer beside it, stale weights of other formats not."""
    source = models.checkpoint(tmp_path / "in", models.LLAMA, shards=3, kind="BF16")
    (source / "tokenizer.json").write_text("{}")
    (source / "pytorch_model.bin").write_bytes(b"old weights")
    for folder in ("1_Pooling", ".cache"):
        (source / folder).mkdir()
        (source / folder / "config.json").write_text("{}")
    target = tmp_path / "out"
    list(transform_checkpoint(open_checkpoint(source), rebalance, target))
    old, new = files(source), files(target)
    assert set(new) == set(old) - {"pytorch_model.bin"}
    assert all(new[name] == old[name] for name in new if not name.endswith("safetensors"))
    assert [path.name for path in target.iterdir() if path.is_dir()] == ["1_Pooling"]
    assert (target / "1_Pooling" / "config.json").read_text() == "{}"
    for layer in range(2):
        change = layer_change(*(open_checkpoint(p).attention(layer) for p in (source, target)))
        assert change.output_bound is not None


def fail(weights: AttentionWeights) -> Moved:
    if weights.layer == 1:
        raise InputError("stop here")
    return rebalance(weights)


@pytest.mark.parametrize("shards", [0, 2])
def test_a_run_that_ends_early_leaves_nothing(tmp_path: Path, shards: int) -> None:
    """Breaks: half-written output, or temporary files left behind."""
    source = models.checkpoint(tmp_path / "in", models.LLAMA, shards=shards)
    target = tmp_path / ("out" if shards else "out.safetensors")
    place = source if shards else source / "model.safetensors"
    run = transform_checkpoint(open_checkpoint(place), fail, target)
    next(run)
    with pytest.raises(InputError, match="stop here"):
        next(run)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]
    run = transform_checkpoint(open_checkpoint(place), rebalance, target)
    next(run)
    run.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]


def test_the_input_is_never_written_to(tmp_path: Path) -> None:
    """Breaks: overwriting a checkpoint, directly, through a link, or a directory that exists."""
    source = models.checkpoint(tmp_path / "in", models.LLAMA)
    sharded = models.checkpoint(tmp_path / "shards", models.LLAMA, shards=2)
    file = source / "model.safetensors"
    link = tmp_path / "link.safetensors"
    link.symlink_to(file)
    (tmp_path / "other").mkdir()
    for place, target, reason in (
        (file, file, "is the input"),
        (file, link, "is the input"),
        (sharded, sharded, "is the input"),
        (sharded, tmp_path / "other", "exists"),
        (file, tmp_path / "out.bin", "ends in .safetensors"),
        (file, tmp_path / "no" / "out.safetensors", "does not exist"),
    ):
        before = files(source), files(sharded)
        with pytest.raises(InputError, match=reason):
            list(transform_checkpoint(open_checkpoint(place), rebalance, target))
        assert (files(source), files(sharded)) == before


def test_an_existing_file_is_replaced_whole(tmp_path: Path) -> None:
    """Breaks: the second run over an old result."""
    source = models.checkpoint(tmp_path / "in", models.LLAMA)
    target = tmp_path / "out.safetensors"
    target.write_bytes(b"old")
    list(transform_checkpoint(open_checkpoint(source / "model.safetensors"), rebalance, target))
    assert len(target.read_bytes()) == len((source / "model.safetensors").read_bytes())


def test_numbers_too_large_for_the_type_are_refused(tmp_path: Path) -> None:
    """Breaks: infinities written in float16 where balancing makes one side larger."""
    found = models.tensors(models.LLAMA)
    found["model.layers.0.self_attn.q_proj.weight"] *= 1e4
    found["model.layers.0.self_attn.k_proj.weight"] *= 0.01
    models.config(tmp_path, models.LLAMA)
    models.save(found, tmp_path / "model.safetensors", "F16")

    def larger(weights: AttentionWeights) -> Moved:
        return Moved(weights.with_parameters({"query": weights.parameters["query"] * 1e3}))

    with pytest.raises(InputError, match=r"q_proj\.weight: holds numbers too large for F16"):
        list(transform_checkpoint(open_checkpoint(tmp_path), larger, tmp_path.with_name("out")))


def test_stored_layers_equal_up_to_symmetry_are_written_alike(tmp_path: Path) -> None:
    """Breaks: the canonical form in files: a random change of basis leaves only rounding."""
    source = models.checkpoint(tmp_path / "in", models.QWEN2)
    number = random.Random(4)

    def turned(weights: AttentionWeights) -> Moved:
        parameters = dict(weights.parameters)
        for symmetry, _ in balanced_symmetries(weights.spec):
            moved = symmetry.transformed(parameters, number, lambda x: float(x.p) / float(x.q))
            parameters = {name: np.asarray(array, dtype=float) for name, array in moved.items()}
        return Moved(weights.with_parameters(parameters))

    list(transform_checkpoint(open_checkpoint(source), turned, tmp_path / "turned"))
    for name in ("in", "turned"):
        list(transform_checkpoint(open_checkpoint(tmp_path / name), canonicalize, tmp_path / f"{name}-form"))
    first, second = (open_checkpoint(tmp_path / f"{name}-form").attention(1) for name in ("in", "turned"))
    for name, array in first.parameters.items():
        np.testing.assert_allclose(second.parameters[name], array, atol=2e-4)
    assert np.abs(open_checkpoint(tmp_path / "turned").attention(1).parameters["query"]).max() > 0
