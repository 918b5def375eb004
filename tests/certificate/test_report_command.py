"""exactattn report, as a user meets it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from report_samples import Page, certificate, written
from typer.testing import CliRunner

from exactattn.cli import command_line, main, report

CONFIG = {
    "model_type": "gpt2",
    "n_embd": 8,
    "n_head": 2,
    "n_layer": 2,
    "n_positions": 16,
    "vocab_size": 32,
}


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(command_line(), ["report", *map(str, arguments)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, " ".join(done.output.split())


def sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one sentence on stderr of a command that ends with exit code 2."""
    monkeypatch.setattr("sys.argv", ["exactattn", "report", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    message = capsys.readouterr().err
    assert message.startswith("error:")
    assert message.count("\n") == 1
    return message


def test_a_report_with_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it fails, a file, a model or a claim given on the command line is not in the report."""
    proof = written(certificate(), tmp_path / "proof.json")
    config = written(CONFIG, tmp_path / "config.json")
    head = {"singular_values": ["3.5"], "size": 2, "rank": 1}
    content = {"layout": "BERT", "tolerance": "1/10", "measure": "share", "parameters": 8, "saved": 4}
    layers = [{"layer": 0, "heads": [head]}]
    spectra = written({**content, "layers": layers}, tmp_path / "spectra.json")
    page, text = tmp_path / "report.html", tmp_path / "report.md"
    monkeypatch.setattr("sys.argv", ["exactattn", "report", "proof.json", "-o", "a page.html"])
    code, output = run(
        proof, "-o", page, "--markdown", text, "--claim", "I-4.5-six-heads", "--claim", "q-4",
        "--config", config, "--allocation", spectra,
    )  # fmt: skip
    assert code == 0
    assert "2 claims; 1 of 1 certificate files valid" in output
    read = Page.of(page.read_text(encoding="utf-8"))
    for words in (
        "I-4.5-six-heads",
        "Q-4",
        str(proof),
        "query/key weights",
        "exactattn report proof.json -o 'a page.html'",
    ):
        assert words in read.text, words
    markdown = text.read_text(encoding="utf-8")
    assert all(
        words in markdown for words in ("### I-4.5-six-heads: refuted", "4 of 8 query/key weights saved")
    )
    labels = {a["aria-label"] for tag, a in read.elements if tag == "svg"}
    assert {"poles of the recovery", "identified shares of models", "spectra and ranks of heads"} <= labels


@pytest.mark.parametrize(("changes", "code"), [({}, 0), ({"queries": 28}, 1)])
def test_exit_codes_are_those_of_the_checker(tmp_path: Path, changes: dict[str, int], code: int) -> None:
    """If it fails, a script would take a refused certificate for a valid one."""
    proof = written(certificate(**changes), tmp_path / "proof.json")
    page = tmp_path / "page.html"
    assert run(proof, "--no-claims", "-o", page)[0] == code
    assert run(proof, tmp_path / "missing.json", "--no-claims", "-o", page)[0] == 2
    assert "unreadable" in page.read_text(encoding="utf-8")


def test_mistakes_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If it fails, a mistake would end in a traceback, overwrite a certificate, or leave half a page."""
    proof = written(certificate(), tmp_path / "proof.json")
    before = proof.read_bytes()
    cases = [
        ([proof], "-o report.html"),
        ([proof, "-o", proof], "would be overwritten"),
        (["-o", tmp_path / "a", "--markdown", tmp_path / "b" / ".." / "a"], "would be overwritten"),
        (["--no-claims", "--paper", "I", "-o", tmp_path / "a"], "leaves no claims"),
        (["--claim", "I-4.11", "-o", tmp_path / "a"], "did you mean"),
        (["--no-claims", "--allocation", proof, "-o", tmp_path / "a"], "layout: is missing"),
        (["--no-claims", "--allocation", tmp_path / "none", "-o", tmp_path / "a"], "cannot be read"),
        (["--no-claims", "-o", tmp_path / "none" / "a"], "cannot be written"),
    ]
    for arguments, words in cases:
        assert words in sentence(monkeypatch, capsys, *arguments), arguments
    assert proof.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [proof]


def test_a_full_disk_leaves_no_half_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If it fails, a full disk would destroy the report that was there."""
    page = tmp_path / "page.html"
    page.write_text("old", encoding="utf-8")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert "No space left" in sentence(monkeypatch, capsys, "--no-claims", "-o", page)
    assert page.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [page]


def test_without_the_extra_the_mend_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If it fails, a user without jinja2 gets a traceback instead of the name of the extra."""
    for name in [name for name in sys.modules if name.startswith("exactattn.certificate.report")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    message = sentence(monkeypatch, capsys, "--no-claims", "-o", tmp_path / "a.html")
    assert "exactattn[report]" in message


def test_ctrl_c_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If it fails, stopping a long run ends in a traceback or in half a report."""

    def interrupted(*_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "decide", interrupted)
    assert "no report was written" in sentence(monkeypatch, capsys, "-o", tmp_path / "a.html")
    assert not list(tmp_path.iterdir())


def layers(*values: object) -> dict[str, object]:
    """One layer with one head of these singular values."""
    head = {"singular_values": list(values), "size": 1, "rank": 1}
    return {"layers": [{"layer": 0, "heads": [head]}]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"layers": []}, "layers: must be a list of 1"),
        ({"tolerance": 1}, "tolerance: must be a text"),
        ({"saved": -1}, "saved: must be an integer"),
        (layers("nan"), "decimals"),
        (layers(0.5), "decimals"),
        (layers("a"), "decimals"),
        ({"layers": [{"heads": 3}]}, "layers[0].heads: must be a list"),
        ({"layers": [3]}, "layers[0].heads: is missing"),
    ],
)
def test_allocation_files_are_read_strictly(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    change: dict[str, object],
    words: str,
) -> None:
    """If it fails, a damaged file would end in a traceback or in a chart of something else."""
    content = {"layout": "a", "tolerance": "1", "measure": "a", "parameters": 1, "saved": 0, "layers": []}
    file = written({**content, **change}, tmp_path / "spectra.json")
    message = sentence(monkeypatch, capsys, "--no-claims", "--allocation", file, "-o", tmp_path / "a.html")
    assert words in message
    assert str(json.dumps(str(file)))[1:-1] in message
