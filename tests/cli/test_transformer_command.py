"""Transformers as a user of the command line meets them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ORACLE = """
import json, sys
from exactattn.model.query import Query
from exactattn.model.transformer_files import load_transformer
from exactattn.numbers import LogLattice, rational_text
model = load_transformer(sys.argv[1])
for line in sys.stdin:
    request = json.loads(line)
    value = model(Query.from_json(request["query"]), LogLattice())
    print(json.dumps({"id": request["id"], "value": rational_text(value)}), flush=True)
"""


def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "exactattn", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    done = run("model", "new", "--heads", 2, "--dim", 2, "--neurons", 3, "-o", "t.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3 neurons in canonical form" in " ".join(done.stdout.split())
    done = run("model", "new", "--heads", 1, "--dim", 2, "-o", "layer.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path


def as_json(folder: Path, *arguments: object) -> dict[str, Any]:
    done = run(*arguments, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_transformer_is_made_shown_and_recovered(folder: Path) -> None:
    """Breaks: the whole round on the command line."""
    shown = as_json(folder, "model", "show", "t.json")
    found = as_json(folder, "recover", "t.json")
    assert found["matches_model"] is True
    assert found["certified"] is True
    assert found["neurons_stated"] == 3
    assert found["form"] == shown["canonical"]
    plain = run("recover", "t.json", cwd=folder)
    assert "yes, exactly" in plain.stdout
    assert "|D_1·Z|" in run("model", "show", "t.json", cwd=folder).stdout


def test_what_is_stated_decides_what_is_certified(folder: Path) -> None:
    """Breaks: with nothing stated the label must be unknown completeness; a spacing certifies."""
    assert as_json(folder, "recover", "t.json", "--neurons", "unknown")["certified"] is False
    spacing = as_json(folder, "recover", "t.json", "--kink-spacing", "1/100000")
    assert spacing["certified"] is True
    assert spacing["neurons_stated"] is None


def test_a_certificate_is_written_and_checked(folder: Path) -> None:
    """Breaks: recover --certificate, check, and report of a Transformer; without a stated number there is
    no certificate."""
    done = run("recover", "t.json", "--neurons", 3, "--certificate", "c.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "exactattn check c.json" in done.stdout
    checked = run("check", "c.json", cwd=folder)
    assert checked.stdout.startswith("valid: c.json: recovery of a Transformer with 2 heads")
    assert run("report", "c.json", "--no-claims", "-o", "r.html", cwd=folder).returncode == 0
    assert "recovery of a Transformer with 2 heads" in (folder / "r.html").read_text(encoding="utf-8")
    refused = run("recover", "t.json", "--neurons", "unknown", "--certificate", "d.json", cwd=folder)
    assert refused.returncode == 2
    assert "state --neurons" in refused.stderr
    assert not (folder / "d.json").exists()


def test_a_black_box_command(folder: Path) -> None:
    """Breaks: anyone's Transformer over JSON lines."""
    (folder / "oracle.py").write_text(ORACLE)
    command = f"{sys.executable} oracle.py t.json"
    found = as_json(
        folder, "recover", "--oracle-command", command, "--dim", 2, "--heads-bound", 2, "--neurons", 3
    )
    assert found["matches_model"] is None
    assert found["form"] == as_json(folder, "model", "show", "t.json")["canonical"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["recover", "t.json", "--neurons", "many"], "--neurons"),
        (["recover", "t.json", "--numbers", "balls"], "--numbers"),
        (["recover", "t.json", "--method", "optimal"], "--method"),
        (["recover", "t.json", "--kink-spacing", "0"], "--kink-spacing"),
        (["recover", "t.json", "--residual"], "--residual"),
        (["recover", "layer.json", "--residual"], "not a Transformer"),
        (["recover", "t.json", "--neurons", "9"], "neurons"),
        (["recover", "absent.json", "--neurons", "3"], "absent.json"),
        (["model", "new", "--heads", "2", "--dim", "2", "--bypass", "-o", "x.json"], "--neurons"),
        (["model", "new", "--heads", "2", "--dim", "2", "--neurons", "0", "-o", "x.json"], "neurons"),
    ],
)
def test_wrong_options_end_in_one_sentence(folder: Path, arguments: list[str], words: str) -> None:
    """Breaks: exit code 2 and one sentence that names what to mend."""
    done = run(*arguments, cwd=folder)
    assert done.returncode == 2
    assert done.stderr.startswith("error:")
    assert len(done.stderr.splitlines()) == 1
    assert words in done.stderr
