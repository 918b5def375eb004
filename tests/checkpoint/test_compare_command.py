"""exactattn compare as a user meets it: on checkpoints that other commands rewrote, or that someone broke."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stored_models as models
from typer.testing import CliRunner

from exactattn.checker import check_file
from exactattn.checkpoint import (
    AttentionWeights,
    Moved,
    canonicalize,
    fold_norms,
    move_value_bias,
    open_checkpoint,
    rebalance,
    transform_checkpoint,
    zero_key_bias,
)
from exactattn.checkpoint.compare import Sameness
from exactattn.checkpoint.compare_checkpoints import compare_checkpoints, unlike_tensors
from exactattn.cli import command_line, main
from exactattn.exceptions import InputError

TRANSFORMATIONS: dict[str, Callable[[AttentionWeights], Moved]] = {
    "rebalance": rebalance,
    "canonicalize": canonicalize,
    "zero key bias": zero_key_bias,
    "move value bias": move_value_bias,
    "fold norms": fold_norms,
}
FAMILIES = {
    "qwen2": models.QWEN2,
    "gpt_oss": models.GPT_OSS,
    "gemma2": models.GEMMA2,
    "qwen3": models.QWEN3,
    "opt": models.OPT,
    "phi": {key: x for key, x in models.PHI.items() if key != "head_dim"},
    "bloom": models.BLOOM,
    "olmo2": models.OLMO2,
}


def run(*arguments: object) -> str:
    done = CliRunner().invoke(command_line(["compare"]), ["compare", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.output if "--json" in arguments else " ".join(done.output.split())


@pytest.mark.parametrize("family", FAMILIES)
def test_what_the_transformations_write_is_equal_within_rounding(family: str, tmp_path: Path) -> None:
    """Breaks: two parts of the package disagree: a transformation that is said to keep the function is
    refuted or not proved, or a comparison does not see through a symmetry."""
    source = models.checkpoint(tmp_path / "in", FAMILIES[family])
    done = set()
    for name, transformation in TRANSFORMATIONS.items():
        target = tmp_path / name
        try:
            list(transform_checkpoint(open_checkpoint(source), transformation, target))
        except InputError:
            continue
        done.add(name)
        one, other = open_checkpoint(source), open_checkpoint(target)
        for each in compare_checkpoints(one, other):
            found = each.comparison
            assert found.verdict in (Sameness.EQUAL, Sameness.WITHIN), (name, found.reason)
        assert unlike_tensors(one, other) == []
    assert "canonicalize" in done


@pytest.mark.parametrize("family", FAMILIES)
def test_a_broken_copy_is_refuted(family: str, tmp_path: Path) -> None:
    """Breaks: one negated head among all would pass."""
    source = models.checkpoint(tmp_path / "in", FAMILIES[family])
    tensors = models.tensors(FAMILIES[family])
    stored = open_checkpoint(source).stored[1]
    (place,) = stored.places["query"]
    rows = np.arange(4) if place.rows is None else place.rows[:4]
    tensor = tensors[place.tensor].T if place.transposed else tensors[place.tensor]
    tensor[rows] *= -1
    other = models.config(tmp_path / "broken", FAMILIES[family]).parent
    models.save(tensors, other / "model.safetensors")
    found = [each.comparison for each in compare_checkpoints(open_checkpoint(source), open_checkpoint(other))]
    assert [each.verdict for each in found] == [Sameness.EQUAL, Sameness.DIFFERENT]
    shown = found[1].separating
    assert shown is not None
    assert not shown.first.overlaps(shown.second)


def test_the_table_and_the_input(tmp_path: Path) -> None:
    """Breaks: what a user reads: a line a layer, the overall verdict, and the input that shows the
    difference."""
    source = models.checkpoint(tmp_path / "in", models.QWEN2)
    other = models.checkpoint(tmp_path / "other", models.QWEN2, seed=1)
    text = run(source, source)
    assert "verdict: equal modulo gauge" in text
    assert text.count("in order") == 2
    text = run(source, other, "--layer", 0)
    assert "verdict: different" in text
    assert "layers 0: an input that shows the difference" in text
    assert "tensors outside attention that differ: 1 (model.embed_tokens.weight)" in text


def test_json(tmp_path: Path) -> None:
    """Breaks: programs that read the verdict, the exact distances, the matched heads and the input."""
    source = models.checkpoint(tmp_path / "in", models.OPT)
    target = tmp_path / "out"
    list(transform_checkpoint(open_checkpoint(source), canonicalize, target))
    found: Any = json.loads(run(source, target, "--json"))
    assert found["verdict"].startswith("equal within ")
    assert found["other_tensors_that_differ"] == []
    for layer in found["layers"]:
        assert sorted(h for head in layer["heads"] for h in head["second"]) == [0, 1, 2, 3]
        assert all("/" in part["distance_squared"] or part["equal"] for part in layer["parts"])
    found = json.loads(run(source, target, "--json", "--within", 0, "--layer", 1))
    assert found["verdict"] == "different"
    assert len(found["layers"][0]["separating_input"]["outputs"]) == 2


def test_certificates(tmp_path: Path) -> None:
    """Breaks: a certificate that the command writes is one that the checker accepts."""
    fields = {"model_type": "bert", "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2}
    places = [tmp_path / name for name in ("a", "b", "c")]
    for seed, place in zip((0, 0, 1), places, strict=True):
        models.config(place, fields)
        rng = np.random.default_rng(seed)
        weights = {}
        for i in range(2):
            for part in ("self.query", "self.key", "self.value", "output.dense"):
                weights[f"encoder.layer.{i}.attention.{part}.weight"] = rng.standard_normal((8, 8))
                weights[f"encoder.layer.{i}.attention.{part}.bias"] = rng.standard_normal(8)
        models.save(weights, place / "model.safetensors")
    for other, word in ((places[1], "same function"), (places[2], "different")):
        file = tmp_path / f"{other.name}.json"
        run(places[0], other, "--layer", 1, "--certificate", file)
        result = check_file(file)
        assert result.code == 0
        assert word in result.reason


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--within", "-1"], "at least 0"),
        (["--within", "much"], "--within"),
        (["--certificate", "x.json"], "one layer"),
        (["--layer", "7"], "from 0 to 1"),
    ],
)
def test_errors_are_one_sentence(
    options: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Breaks: a mistake of the user gives a traceback instead of what to mend."""
    source = models.checkpoint(tmp_path / "in", models.QWEN2)
    monkeypatch.setattr(sys, "argv", ["exactattn", "compare", str(source), str(source), *options])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    message = capsys.readouterr().err
    assert sentence in " ".join(message.split())
    assert message.count("error:") == 1


def test_rules_for_angles_must_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Breaks: two models with the same weights and other rotations would be called equal."""
    places = []
    for factor in (4.0, 8.0):
        scaling = {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": 32}
        fields = {**models.QWEN2, "rope_scaling": scaling}
        places.append(models.checkpoint(tmp_path / str(factor), fields))
    assert "equal modulo gauge" in run(places[0], places[0])
    monkeypatch.setattr(sys, "argv", ["exactattn", "compare", *map(str, places)])
    with pytest.raises(SystemExit):
        main()
    assert "rope_scaling" in capsys.readouterr().err


def test_depths_must_agree(tmp_path: Path) -> None:
    """Breaks: layers of another number would be compared, or silently left out."""
    source = models.checkpoint(tmp_path / "in", models.QWEN2)
    deeper = models.checkpoint(tmp_path / "deep", {**models.QWEN2, "num_hidden_layers": 3})
    with pytest.raises(InputError, match="3 attention layers"):
        list(compare_checkpoints(open_checkpoint(source), open_checkpoint(deeper)))
