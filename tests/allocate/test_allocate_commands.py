"""The commands allocate, budget and schedule, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import checkpoint_files as files
import pytest
from typer.testing import CliRunner

from exactattn.cli import command_line, main


def run(*arguments: object) -> str:
    done = CliRunner().invoke(command_line(), [str(a) for a in arguments])
    assert done.exit_code == 0, done.output
    return done.output


def run_json(*arguments: object) -> Any:
    return json.loads(run(*arguments, "--json"))


def sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one sentence on stderr of a command that ends with exit code 2."""
    monkeypatch.setattr("sys.argv", ["exactattn", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    message = capsys.readouterr().err
    assert message.startswith("error:")
    assert message.count("\n") == 1
    return message


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    return files.write(files.bert(files.parts(1, rank=2)), tmp_path / "model.safetensors")


def test_schedule_by_text_and_by_name() -> None:
    """Breaks: the published schedule under its name and its head counts gives one answer."""
    named = run_json("schedule", "prism-124m")
    text = run_json("schedule", "3,3,6,6,8,8,12x6", "--width", 768)
    assert named["name"] == "prism-124m"
    assert named["figures"] == text["figures"]
    assert named["figures"] == {
        "heads": 106,
        "parameters": 28311552,
        "multiply_adds": "18432*T**2 + 28311552*T",
        "exponentials": "106*T**2",
        "cache": "18432*T",
        "unidentified": "7/96",
        "unidentified_with_rope": "113/3072",
    }
    assert named["uniform"]["heads"] == 144
    assert [r["holds"] for r in text["rules"]] == [True] * 5
    assert [r["by_definition"] for r in text["rules"]] == [False, False, True, False, False]


def test_schedule_table_and_picture(tmp_path: Path) -> None:
    """Breaks: what people read: rules by name, polynomials, the picture."""
    picture = tmp_path / "schedule.svg"
    output = run("schedule", "8,4,12x2", "--width", 768, "--base", 12, "--causal", "--picture", picture)
    for words in ("monotone", "broken", "kept", "unidentified share with RoPE", "one layer"):
        assert words in output
    assert picture.read_text(encoding="utf-8").startswith("<?xml")


def test_schedule_with_undefined_figures() -> None:
    """Breaks: a schedule whose heads do not divide the width still has its rules."""
    data = run_json("schedule", "5,8", "--width", 8)
    assert data["figures"]["parameters"] is None
    assert data["uniform"]["parameters"] == 512
    assert "–" in run("schedule", "5,8", "--width", 8)
    assert run_json("schedule", "5,5", "--width", 8)["uniform"] is None


def test_budget() -> None:
    """Breaks: the table of the budget line."""
    rows = run_json("budget", 4, "--total", 16)
    assert [(r["heads"], r["head_size"], r["identified"], r["pareto"]) for r in rows] == [
        (1, 16, 16, False),
        (2, 8, 32, False),
        (4, 4, 64, True),
        (8, 2, 96, True),
        (16, 1, 112, True),
    ]
    assert "dominated" in run("budget", 4, "--total", 16)


def test_allocate(weights: Path, tmp_path: Path) -> None:
    """Breaks: ranks, totals and picture of a checkpoint with planted ranks."""
    picture = tmp_path / "ranks.svg"
    data = run_json("allocate", weights, "--tolerance", "1e-9", "--heads", 2, "--picture", picture)
    assert [[h["rank"] for h in layer["heads"]] for layer in data["layers"]] == [[2, 2], [2, 2]]
    assert (data["parameters"], data["saved"]) == (256, 128)
    head = data["layers"][0]["heads"][0]
    assert float(head["attention_bound"]) <= 1.1e-6
    assert len(head["singular_values"]) == 4
    assert picture.exists()
    output = run(
        "allocate", weights, "--tolerance", "1/2", "--heads", 2, "--layer", 1, "--token-norm", "0.001"
    )
    assert "saved: 128 of 128" in " ".join(output.split())


def test_allocate_says_why_nothing_is_saved(tmp_path: Path) -> None:
    """Breaks: a table of full ranks without a reason."""
    path = files.write(files.gpt2(files.parts(2)), tmp_path / "model.npz")
    output = " ".join(run("allocate", path, "--tolerance", 0, "--heads", 2).split())
    assert "saved: 0 of 256" in output
    assert "one dimension fewer moves scores by up to ±" in output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["schedule", "prism-125m"], "there is no schedule 'prism-125m'; names are prism-124m"),
        (["schedule", "3,6"], "--width: is needed"),
        (["schedule", "prism-124m", "--width", "8"], "prism-124m has width 768 and base 12"),
        (["schedule", "3,,6", "--width", "8"], "'' is not a head count"),
        (["budget", "0"], "width: must be from 1"),
        (["allocate", "nowhere.npz", "--tolerance", "1", "--heads", "2"], "there is no such file"),
        (["allocate", "WEIGHTS", "--tolerance", "x", "--heads", "2"], "--tolerance: 'x' is not a number"),
        (["allocate", "WEIGHTS", "--tolerance", "-1", "--heads", "2"], "tolerance: must be at least 0"),
        (["allocate", "WEIGHTS", "--tolerance", "1"], "the number of heads is not known"),
        (["allocate", "WEIGHTS", "--tolerance", "1", "--heads", "3"], "not 3 heads of one size"),
        (["allocate", "WEIGHTS", "--tolerance", "1", "--heads", "2", "--layer", "7"], "layers are 0 to 1"),
    ],
)
def test_bad_input_is_one_sentence(
    arguments: list[str],
    words: str,
    weights: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Breaks: a traceback, or a message that does not name the option and the mend."""
    given = [str(weights) if a == "WEIGHTS" else a for a in arguments]
    assert words in sentence(monkeypatch, capsys, *given)
