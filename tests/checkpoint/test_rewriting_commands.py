"""exactattn rebalance and canonicalize, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stored_models as models
from typer.testing import CliRunner

from exactattn.checkpoint import open_checkpoint
from exactattn.cli import command_line, main


def run(*arguments: object) -> str:
    done = CliRunner().invoke(command_line(), [str(a) for a in arguments])
    assert done.exit_code == 0, done.output
    return done.output if "--json" in arguments else " ".join(done.output.split())


def test_rebalance_shows_a_line_for_each_layer(tmp_path: Path) -> None:
    """Breaks: the table: β before and after, certified bounds, where it was written."""
    source = models.checkpoint(tmp_path / "in", models.QWEN2)
    text = run("rebalance", source, "-o", tmp_path / "out", "--which", "qk")
    assert "qwen2, 2 layers rebalanced" in text
    assert text.count("layers 0") == text.count("layers 1") == 1
    old, new = (open_checkpoint(tmp_path / name).attention(1).parameters for name in ("in", "out"))
    assert not np.array_equal(old["query"], new["query"])
    assert np.array_equal(old["value"], new["value"])


def test_json_says_what_rounding_did(tmp_path: Path) -> None:
    """Breaks: the machine-readable certificate, head by head."""
    source = models.checkpoint(tmp_path / "in", models.GPT_OSS)
    found: Any = json.loads(run("canonicalize", source, "-o", tmp_path / "out", "--json"))
    assert found["output"] == str(tmp_path / "out")
    for layer in found["layers"]:
        assert float(layer["output_bound"]) > 0
        assert len(layer["heads"]) == 4
        assert all(0 < float(head["score_bound"]) < 1 for head in layer["heads"])
        assert [note.split(":")[0] for note in layer["notes"]] == ["key bias kept", "value bias kept"]
        assert not layer["exactly_unchanged"]


def test_canonicalize_folds_and_keeps_what_it_is_told(tmp_path: Path) -> None:
    """Breaks: --fold-norms, --keep-biases, notes once for all layers, an unbounded change said to be so."""
    source = models.checkpoint(tmp_path / "in", models.OPT)
    text = run("canonicalize", source, "-o", tmp_path / "out", "--fold-norms", "--keep-biases")
    assert "in canonical form" in text
    parameters = open_checkpoint(tmp_path / "out").attention(0).parameters
    assert (parameters["before scale"] == 1).all()
    assert parameters["key bias"].any()
    kept = run(
        "canonicalize",
        models.checkpoint(tmp_path / "olmo", models.OLMO2),
        "-o",
        tmp_path / "o2",
        "--fold-norms",
    )
    assert "layers 0 and 1 more: norm kept: no norm with scales stands right before the layer" in kept
    assert "no bound on the output: nothing in the architecture bounds" in kept


def test_a_token_norm_gives_a_bound_where_no_norm_does(tmp_path: Path) -> None:
    """Breaks: --token-norm."""
    source = models.checkpoint(tmp_path / "in", models.OLMO2)
    for norm, known in ((None, False), ("3/2", True)):
        arguments = [] if norm is None else ["--token-norm", norm]
        text = run("rebalance", source, "-o", tmp_path / f"out{known}", "--json", *arguments)
        layers = json.loads(text)["layers"]
        assert all((layer["output_bound"] is not None) == known for layer in layers)


@pytest.mark.parametrize("options", [("--token-norm", "x"), ("--config", "nowhere.json"), ()])
def test_errors_are_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
) -> None:
    """Breaks: exit code 2 and one sentence; nothing written."""
    source = models.checkpoint(tmp_path / "in", models.LLAMA)
    output = tmp_path / "out" if options else source
    monkeypatch.setattr("sys.argv", ["exactattn", "rebalance", str(source), "-o", str(output), *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    message = capsys.readouterr().err
    assert message.startswith("error:")
    assert message.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["in"]
