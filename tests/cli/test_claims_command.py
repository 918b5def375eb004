"""exactattn claims, as a user meets it."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from exactattn.cli import command_line
from exactattn.ledger import Verdict, load_claims


def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-m", "exactattn", "claims", *map(str, arguments)]
    return subprocess.run(call, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def test_json_lists_everything_a_program_needs(tmp_path: Path) -> None:
    """Breaks: keys of the JSON output, one object a claim."""
    done = run("I-4.5-six-heads", "q-3", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    first, second = json.loads(done.stdout)
    assert (first["id"], first["verdict"]) == ("I-4.5-six-heads", "refuted")
    assert first["counterexample"]["values"]["share"] == "11/12"
    assert first["corrected"].startswith("With 6 heads")
    assert (second["id"], second["verdict"], second["vacuous"]) == ("Q-3", "proved", 0)
    assert second["checked"] > 0
    assert all(step["holds"] for step in second["steps"])
    keys = {
        "claim",
        "source",
        "place",
        "hypotheses",
        "does_not_establish",
        "seconds",
        "latex",
        "certificates",
    }
    assert keys <= set(first)


def test_one_claim_in_full(tmp_path: Path) -> None:
    """Breaks: what a reader of one claim sees: statement, steps, counterexample, what is left open."""
    done = run("I-4.7.1-rope", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())
    for text in (
        "refuted",
        "arXiv 2609.01231",
        "hypotheses",
        "counterexample",
        "smallest:",
        "does not establish",
    ):
        assert text in words


def test_table_of_one_paper_and_its_certificates(tmp_path: Path) -> None:
    """Breaks: the table, --paper, and certificates that the checker accepts when they are read again."""
    done = run("--paper", "2608.03294", "--certificate", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Q-6" in done.stdout
    assert "I-4.1" not in done.stdout
    files = sorted((tmp_path / "out").glob("Q-2-runs-*.json"))
    assert len(files) == 6
    check = [sys.executable, "-m", "exactattn", "check", *map(str, files)]
    assert subprocess.run(check, capture_output=True, timeout=60, check=False).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["I-9.9"], "no claim"),
        (["--paper", "Z"], "papers are"),
        (["Q-2-runs", "--certificate", "file"], "folder"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, arguments: list[str], word: str) -> None:
    """Breaks: exit code 2 and one sentence that names the mend."""
    (tmp_path / "file").write_text("")
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert word in done.stderr


def test_a_changed_verdict_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks: exit code 1 when the evidence no longer gives the verdict in the claim's file."""
    claims: dict[str, Any] = dict(load_claims())
    claims["I-4.1"] = replace(claims["I-4.1"], expected=Verdict.UNKNOWN)
    module = importlib.import_module("exactattn.cli.claims")
    monkeypatch.setattr(module, "load_claims", lambda: claims)
    done = CliRunner().invoke(command_line(), ["claims", "I-4.1"])
    assert done.exit_code == 1
    assert "was: unknown" in done.output
