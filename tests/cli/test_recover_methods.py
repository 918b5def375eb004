"""recover with other methods, a rank, no bound and biases, as a user meets them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BIASED = {
    "format": "exactattn-biased-model",
    "version": 1,
    "dim": 2,
    "constant": "1/2",
    "heads": [
        {"W": [[1, 0], [2, 1], [3, -1]], "v": [1, 2]},
        {"W": [[0, 2], [-2, 1], [1, 3]], "v": [2, -3]},
    ],
}


def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "exactattn", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    done = run("model", "new", "--heads", 2, "--dim", 2, "--seed", 1, "-o", "model.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "biased.json").write_text(json.dumps(BIASED))
    return tmp_path


def recovered(folder: Path, *arguments: object) -> dict[str, Any]:
    done = run("recover", *arguments, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    data: dict[str, Any] = json.loads(done.stdout)
    assert data["matches_model"] is True
    return data


def test_counts_of_the_methods(folder: Path) -> None:
    """Breaks: --method, and the published and identified counts beside the asked queries."""
    for method, count in (("published", 29), ("consistent", 20), ("optimal", 12)):
        data = recovered(folder, "model.json", "--method", method)
        assert data["queries"] == data["formula"] == count
        assert (data["published"], data["identified"], data["longest"]) == (29, 12, 5)
    shown = run("recover", "model.json", "--method", "optimal", cwd=folder).stdout
    assert "published count" in shown
    assert "12 (1.00 queries each)" in shown


def test_sizes_found_out(folder: Path) -> None:
    """Breaks: --heads auto and --rank auto."""
    data = recovered(folder, "model.json", "--method", "optimal", "--heads", "auto")
    assert data["queries"] == 14
    data = recovered(folder, "model.json", "--method", "optimal", "--rank", "auto")
    assert data["verifying_queries"] == 1
    recovered(folder, "model.json", "--method", "consistent", "--numbers", "balls", "--heads", "auto")


def test_biases(folder: Path) -> None:
    """Breaks: --bias with a file of a layer with biases."""
    data = recovered(folder, "biased.json", "--bias", "--method", "optimal")
    assert data["queries"] == 2 * (4 + 4) + 1
    assert data["constant"] == "1/2"
    assert data["heads"][0]["W"] == [["0", "2"], ["-2", "1"], ["1", "3"]]
    assert "query bias of head 1: (0, 2)" in run("recover", "biased.json", "--bias", cwd=folder).stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["model.json", "--method", "optimal"], "optimal method"),
        (["model.json", "--method", "consistent"], "consistent method"),
        (["model.json", "--method", "optimal", "--rank", "2"], "rank at most 2"),
        (["model.json", "--method", "consistent", "--rank", "auto"], "consistent method"),
        (["model.json", "--heads", "auto"], "published method"),
        (["model.json", "--method", "optimal", "--heads", "auto"], "optimal method"),
        (["biased.json", "--bias"], "with biases"),
        (["biased.json", "--bias", "--method", "optimal", "--rank", "auto"], "with biases"),
    ],
    ids=range(8),
)
def test_certificates(folder: Path, options: list[str], words: str) -> None:
    """Breaks: a certificate of every kind of run on the lattice, checked by the command."""
    if "2" in options:
        done = run("model", "new", "--heads", 2, "--dim", 3, "--seed", 1, "-o", "large.json", cwd=folder)
        assert done.returncode == 0
        made = json.loads((folder / "large.json").read_text())
        for head in made["heads"]:  # of rank 2
            head["W"][2] = head["W"][1]
        (folder / "model.json").write_text(json.dumps(made))
    done = run("recover", *options, "--certificate", "c.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    checked = run("check", "c.json", cwd=folder)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert words in checked.stdout


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--rank", "2"], "rank"),
        (["--method", "optimal", "--rank", "two"], "--rank"),
        (["--method", "optimal", "--rank", "9"], "rank"),
        (["--heads", "auto", "--heads-bound", "2"], "--heads"),
        (["--method", "optimal", "--numbers", "balls", "--certificate", "c.json"], "--certificate"),
        (["--bias"], "model.json"),
    ],
)
def test_bad_options(folder: Path, options: list[str], word: str) -> None:
    """Breaks: options that make no sense must end in one sentence."""
    done = run("recover", "model.json", *options, cwd=folder)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert word in " ".join(done.stderr.split())


def test_plan_of_a_method(folder: Path) -> None:
    """Breaks: the queries of another method, written out to be answered elsewhere, at its count."""
    options = ["--heads", 2, "--dim", 4, "--method", "optimal", "--rank", 2]
    assert len(run("plan", *options, cwd=folder).stdout.splitlines()) == 32
    assert len(run("plan", *options, "--bias", cwd=folder).stdout.splitlines()) == 2 * (2 * 7 + 4) + 1
