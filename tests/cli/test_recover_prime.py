"""recover --numbers prime, as a user meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from exactattn.model import random_layer
from exactattn.model.files import layer_json


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "exactattn", "recover", *map(str, arguments), "--numbers", "prime"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    file = tmp_path / "model.json"
    file.write_text(json.dumps(layer_json(random_layer(3, 3, seed=1, denominator=2, duplicates=1))))
    return file


def test_heads_are_the_models(model: Path) -> None:
    """Breaks: the option, and rational heads from residues."""
    done = run(model, "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["matches_model"] is True
    assert data["numbers"]["name"] == "prime"
    assert data["queries"] == data["formula"]


@pytest.mark.parametrize(
    "options", [["--certificate", "c.json"], ["--output-error", "1e-9"], ["--method", "optimal"]]
)
def test_what_it_cannot_do_is_refused(model: Path, options: list[str]) -> None:
    """Breaks: options that would be ignored, or answered by another number system."""
    done = run(model, *options)
    assert done.returncode == 2
    assert "numbers" in done.stderr
