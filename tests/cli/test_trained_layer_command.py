"""recover --layer, and options that go together, as a user of the command line meets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from typer.testing import CliRunner

from exactattn.certificate.report import check_files
from exactattn.cli import command_line
from exactattn.exceptions import InputError
from exactattn.model import random_layer
from exactattn.model.files import layer_json
from exactattn.prime.kernels import kernels

WIDTH = 6


def save_bert(folder: Path, seed: int) -> None:
    """Two layers of two heads, as float32."""
    rng = np.random.default_rng(seed)
    tensors = {}
    for i in range(2):
        stem = f"encoder.layer.{i}.attention"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            tensors[f"{stem}.{part}.weight"] = rng.standard_normal((WIDTH, WIDTH)).astype(np.float32)
            tensors[f"{stem}.{part}.bias"] = rng.standard_normal(WIDTH).astype(np.float32)
        for part in ("weight", "bias"):
            tensors[f"{stem}.output.LayerNorm.{part}"] = np.ones(WIDTH, dtype=np.float32)
    sizes = {"hidden_size": WIDTH, "num_attention_heads": 2, "num_hidden_layers": 2}
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", **sizes}))
    safetensors.numpy.save_file(tensors, folder / "model.safetensors")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two checkpoints m and n, a layer and broken files, in the working directory."""
    save_bert(tmp_path / "m", 0)
    save_bert(tmp_path / "n", 1)
    whole = (tmp_path / "m/model.safetensors").read_bytes()
    (tmp_path / "cut.safetensors").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "layer.json").write_text(json.dumps(layer_json(random_layer(1, 2, seed=0))))
    (tmp_path / "lone.safetensors").write_bytes(whole)
    (tmp_path / "text").write_text("hello")
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments: object) -> Any:
    return CliRunner().invoke(command_line(["recover"]), ["recover", *map(str, arguments)])


def test_a_layer_is_recovered(folder: Path) -> None:
    """Breaks: the command on a checkpoint, its file of integers, and blocks that are not done again."""
    options = ["m/model.safetensors", "--layer", 1, "--output-coordinate", 2, "--blocks", "b", "--json"]
    first = json.loads(call(*options, "--heads-file", "h.json").stdout)
    assert first["equals_weights"] is True
    assert first["proved"] is True
    assert (first["heads"], first["dim"]) == (2, WIDTH)
    assert len(json.loads((folder / "h.json").read_text())["heads"]) == 2
    again = json.loads(call(*options).stdout)
    assert {**again, "seconds": 0} == {**first, "seconds": 0}
    shown = call(*options[:-1]).stdout
    assert "yes, exactly" in shown
    assert max(map(len, shown.splitlines())) <= 80


M = ["m/model.safetensors", "--layer", "0"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["absent.safetensors", "--layer", "0"], ["absent.safetensors"]),
        (["empty", "--layer", "0"], ["empty"]),
        (["cut.safetensors", "--layer", "0", "--config", "m/config.json"], ["cut.safetensors"]),
        (["lone.safetensors", "--layer", "0"], ["lone.safetensors", "--config"]),
        (["text", "--layer", "0"], ["text"]),
        (["layer.json", "--layer", "0"], ["layer.json"]),
        ([*M, "--config", "list.json"], ["list.json", "object"]),
        ([*M, "--config", "empty"], ["empty", "directory"]),
        (["m/model.safetensors", "--layer", "2"], ["--layer", "from 0 to 1"]),
        (["m/model.safetensors", "--layer", "-1"], ["--layer", "from 0 to 1"]),
        (["m/model.safetensors"], ["--layer N"]),
        ([*M, "--output-coordinate", "6"], ["--output-coordinate", "from 0 to 5"]),
        ([*M, "--heads-bound", "0"], ["--heads-bound", "at least 1"]),
        ([*M, "--rank", "3"], ["--rank", "published"]),
        ([*M, "--digits", "9"], ["--digits does not go with --layer"]),
        ([*M, "--digits", "9", "--bias"], ["--bias and --digits do not go with --layer"]),
        ([*M, "--neurons", "3"], ["--neurons does not go with --layer"]),
        ([*M, "--dask", "tcp://127.0.0.1:9", "--workers", "2"], ["--workers", "--dask"]),
        ([*M, "--dask", "nowhere"], ["--dask", "nowhere"]),
        ([*M, "--blocks", "text"], ["text", "folder"]),
        ([*M, "--heads-file", "m/model.safetensors"], ["--heads-file", "is FILE too"]),
        ([*M, "--heads-file", "empty"], ["--heads-file", "directory"]),
        ([*M, "--heads-file", "no/such/h.json"], ["--heads-file", "does not exist"]),
        ([*M, "--heads-file", "h.json", "--certificate", "h.json"], ["is --certificate too"]),
        ([*M, "--certificate", "empty"], ["--certificate", "directory"]),
        (["layer.json", "--workers", "2"], ["--workers goes only with --layer"]),
        (["layer.json", "--blocks", "b", "--compiled"], ["--blocks and --compiled go only with --layer"]),
        (["--layer", "0", "--oracle-command", "cat", "--dim", "2"], ["--layer", "FILE"]),
        (["layer.json", "--oracle-timeout", "3"], ["--oracle-timeout goes only with --oracle-command"]),
        (["layer.json", "--missing", "x"], ["--missing goes only with --answers"]),
        (["layer.json", "--digits", "9"], ["--digits does not go with --numbers lattice"]),
        (["layer.json", "--numbers", "balls", "--denominator", "3"], ["--denominator", "balls"]),
        (["layer.json", "--output-error", "1e-9", "--longest", "9"], ["--longest goes only with --robust"]),
        (["layer.json", "--certificate", "layer.json"], ["layer.json", "is FILE too"]),
        (["layer.json", "--transcript", "layer.json"], ["layer.json", "is FILE too"]),
    ],
)
def test_bad_input_ends_in_one_sentence(folder: Path, arguments: list[str], words: list[str]) -> None:
    """Breaks: a sentence that names what to mend, before the work, with nothing written or changed."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    error = call(*arguments).exception
    assert isinstance(error, InputError)
    assert "\n" not in str(error)
    assert all(word in str(error) for word in words), error
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_blocks_of_another_run_are_refused(folder: Path) -> None:
    """Breaks: blocks of other weights, another seed or another output must not be mixed."""
    assert call(*M, "--blocks", "b").exit_code == 0
    for options in (
        ["n/model.safetensors", "--layer", "0"],
        [*M, "--seed", 1],
        [*M, "--output-coordinate", 1],
    ):
        error = call(*options, "--blocks", "b").exception
        assert isinstance(error, InputError)
        assert "another run" in str(error)


def test_a_rank_that_is_too_small_is_noticed(folder: Path) -> None:
    """Breaks: the mend, where fresh queries disagree."""
    error = call(*M, "--method", "optimal", "--rank", 1).exception
    assert "raise the bound" in str(error)


def test_compiled_kernels_that_are_missing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks: --compiled without numba."""
    kernels.cache_clear()
    monkeypatch.setattr("exactattn.prime.kernels.find_spec", lambda name: None)
    error = call(*M, "--compiled").exception
    assert isinstance(error, InputError)
    assert "exactattn[compiled]" in str(error)


def test_a_report_reads_the_companion_file(folder: Path) -> None:
    """Breaks: report must accept what check accepts, and refuse when the companion file is gone."""
    assert call(*M, "--certificate", "c.json").exit_code == 0
    (checked,) = check_files([folder / "c.json"])
    assert checked.valid, checked.verdict.reason
    (folder / "c.json.heads").unlink()
    assert not check_files([folder / "c.json"])[0].valid
