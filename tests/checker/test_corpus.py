"""The checker on its corpus, inside the package and alone."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from exactattn.checker import check, check_data, check_file

CORPUS = Path(__file__).parent / "corpus"
ACCEPTED = sorted((CORPUS / "accepted").glob("*.json"))
REFUSED = sorted((CORPUS / "refused").glob("*.json"))
REASONS: dict[str, str] = json.loads((CORPUS / "reasons.json").read_text(encoding="utf-8"))
CHECKER = Path(check.__file__)


@pytest.mark.parametrize("file", ACCEPTED, ids=lambda f: f.stem)
def test_accepted(file: Path) -> None:
    """If it fails, certificates of true statements are turned away."""
    verdict = check_file(file)
    assert verdict.code == 0, verdict.reason
    assert verdict == check_data(json.loads(file.read_text(encoding="utf-8")))
    assert verdict.reason.startswith("recovery of ")


@pytest.mark.parametrize("file", REFUSED, ids=lambda f: f.stem)
def test_refused(file: Path) -> None:
    """If it fails, a false or badly written certificate passes, or the reason names another fault."""
    verdict = check_file(file)
    assert verdict.code == 1
    assert REASONS[file.stem] in verdict.reason


def test_corpus_is_complete() -> None:
    """If it fails, a refused file has no stated reason, or a reason no file."""
    assert {file.stem for file in REFUSED} == set(REASONS)
    assert len(ACCEPTED) >= 10


def test_alone_in_an_empty_directory(tmp_path: Path) -> None:
    """If it fails, the checker needs more than one file and the standard library."""
    shutil.copy(CHECKER, tmp_path / "check.py")
    shutil.copy(ACCEPTED[0], tmp_path / "good.json")
    shutil.copy(CORPUS / "refused" / "answer-wrong.json", tmp_path / "bad.json")
    (tmp_path / "text.json").write_text("no certificate")

    def run(*files: str) -> tuple[int, list[str]]:
        command = [sys.executable, "-I", "-S", "check.py", *files]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()

    code, lines = run("good.json")
    assert (code, len(lines)) == (0, 1)
    assert lines[0].startswith("valid: good.json: recovery of ")
    code, lines = run("good.json", "bad.json", "good.json")
    assert code == 1
    assert lines[1] == f"refused: bad.json: {check_file(tmp_path / 'bad.json').reason}"
    code, lines = run("bad.json", "text.json", "missing.json", "good.json")
    assert code == 2
    assert [line.split(":")[0] for line in lines] == ["refused", "unreadable", "unreadable", "valid"]
    assert run() == (2, [])


def test_imports_only_the_standard_library() -> None:
    """If it fails, the checker is no longer independent."""
    imported: set[str] = set()
    for node in ast.walk(ast.parse(CHECKER.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(str(node.module).split(".")[0])
    assert imported <= sys.stdlib_module_names
    assert "exactattn" not in imported
    assert not imported & {"random", "time", "datetime", "os", "subprocess", "importlib"}


def test_printed_names_stay_on_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If it fails, a file name or a key can forge a line of output, or flood it."""
    file = tmp_path / "caf\u00e9.json"
    shutil.copy(ACCEPTED[0], file)
    assert check.main([str(file)]) == 0
    assert "caf\\xe9.json: recovery" in capsys.readouterr().out
    assert check.main([f"{file}\nvalid: other.json"]) == 2
    assert len(capsys.readouterr().out.splitlines()) == 1
    file.write_text(json.dumps({"x\nvalid: other.json": 1.5, "y" * 10**6: 1.5}))
    assert check.main([str(file)]) == 1
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 1
    assert len(out) < 1000
