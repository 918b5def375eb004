"""The command line, as a user meets it: exit codes, one-sentence errors, JSON keys, resuming after a kill."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ORACLE = """
import json, sys, time
from exactattn.model import Query, evaluate, load_layer
from exactattn.numbers import LogLattice
layer, system = load_layer(sys.argv[1]), LogLattice()
log, delay = open(sys.argv[2], "a"), float(sys.argv[3])
for line in sys.stdin:
    request = json.loads(line)
    time.sleep(delay)
    value = system.value_text(evaluate(layer, Query.from_json(request["query"]), system))
    log.write(json.dumps(request["query"], sort_keys=True) + "\\n"); log.flush()
    print(json.dumps({"id": request["id"], "value": value}), flush=True)
"""


def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "exactattn", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def assert_one_sentence(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """Exit code 2, nothing like a traceback, and the words that name file, field or mend."""
    assert done.returncode == 2, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    message = " ".join(done.stderr.split())
    assert message.startswith(("error:", "Usage:")), message
    for word in words:
        assert word in message, message


@pytest.fixture
def model(tmp_path: Path) -> Path:
    done = run(
        "model",
        "new",
        "--heads",
        3,
        "--dim",
        2,
        "--duplicates",
        1,
        "--seed",
        1,
        "-o",
        "model.json",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    return tmp_path / "model.json"


def test_main_job(model: Path) -> None:
    """Breaks: the README's first command: new, show, recover, check."""
    cwd = model.parent
    assert "3 heads" in run("model", "show", model.name, cwd=cwd).stdout
    done = run("recover", model.name, "--certificate", "c.json", "--transcript", "t.sqlite", cwd=cwd)
    assert done.returncode == 0, done.stderr
    assert "yes, exactly" in done.stdout
    assert run("check", "c.json", cwd=cwd).returncode == 0
    again = run("recover", model.name, "--transcript", "t.sqlite", "--json", cwd=cwd)
    data = json.loads(again.stdout)
    keys = {
        "queries",
        "formula",
        "longest",
        "longest_allowed",
        "redraws",
        "heads",
        "matches_model",
        "seconds",
    }
    assert keys <= set(data)
    assert data["queries"] == data["formula"] == 43
    assert data["longest"] == data["longest_allowed"] == 7
    assert data["matches_model"] is True
    assert len(data["heads"]) == 2


def test_check_refuses_and_cannot_read(model: Path) -> None:
    """Breaks: exit codes 1 (refused, with the reason) and 2 (unreadable) of the checker command."""
    cwd = model.parent
    run("recover", model.name, "--certificate", "c.json", cwd=cwd)
    data = json.loads((cwd / "c.json").read_text())
    data["queries"] += 1
    (cwd / "bad.json").write_text(json.dumps(data))
    refused = run("check", "bad.json", cwd=cwd)
    assert refused.returncode == 1
    assert "refused" in refused.stdout + refused.stderr
    assert run("check", "nothing.json", cwd=cwd).returncode == 2


def test_plan_answered_elsewhere(model: Path) -> None:
    """Breaks: exactattn plan, answers recorded by somebody else, exactattn recover --answers; queries that
    were drawn again are written to a file, answered too, and the run goes through."""
    from exactattn.model import Query, evaluate, load_layer
    from exactattn.numbers import LogLattice

    cwd, layer = model.parent, load_layer(model)

    def answered(lines: str) -> str:
        rows = [json.loads(line) for line in lines.splitlines()]
        values = [evaluate(layer, Query.from_json(row["query"]), LogLattice()) for row in rows]
        texts = [{**row, "value": LogLattice().value_text(v)} for row, v in zip(rows, values, strict=True)]
        return "".join(json.dumps(row) + "\n" for row in texts)

    plan = run("plan", "--heads", 3, "--dim", 2, "--seed", 5, cwd=cwd).stdout
    assert len(plan.splitlines()) == 43
    recording = cwd / "answers.jsonl"
    recording.write_text(answered("".join(plan.splitlines(keepends=True)[:-2])))
    options = ["recover", "--answers", recording.name, "--heads-bound", 3, "--seed", 5, "--json"]
    assert_one_sentence(run(*options, cwd=cwd), "2 of 43", "--missing")
    rounds = 0
    while (done := run(*options, "--missing", "missing.jsonl", cwd=cwd)).returncode == 2:
        assert_one_sentence(done, "missing.jsonl")
        with recording.open("a") as file:
            file.write(answered((cwd / "missing.jsonl").read_text()))
        rounds += 1
        assert rounds < 10
    data = json.loads(done.stdout)
    assert rounds == 1 + data["redraws"]
    assert data["matches_model"] is None
    assert len(data["heads"]) == 2


def test_kill_and_resume_with_an_external_oracle(model: Path) -> None:
    """Breaks: after kill -9 an answered query must never be asked again, and the result is the same."""
    cwd = model.parent
    (cwd / "oracle.py").write_text(ORACLE)
    command = f"{sys.executable} oracle.py model.json asked.log 0.05"
    options = [
        "recover",
        "--oracle-command",
        command,
        "--dim",
        "2",
        "--heads-bound",
        "3",
        "--transcript",
        "t.sqlite",
        "--json",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "exactattn", *options],
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    log = cwd / "asked.log"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not log.exists() or len(log.read_text().splitlines()) < 20):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    with sqlite3.connect(cwd / "t.sqlite") as connection:
        kept = {row[0] for row in connection.execute("SELECT key FROM queries WHERE answer IS NOT NULL")}
    connection.close()
    before = log.read_text().splitlines()
    assert 0 < len(kept) < 43
    done = run(*options, cwd=cwd)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    after = log.read_text().splitlines()[len(before) :]
    asked_again = {json.dumps(json.loads(line), separators=(",", ":"), sort_keys=True) for line in after}
    assert not kept & asked_again
    assert data["queries"] == 43
    fresh = json.loads(run("recover", "model.json", "--json", cwd=cwd).stdout)
    assert data["heads"] == fresh["heads"]


def test_transcript_of_another_plan(model: Path) -> None:
    """Breaks: answers of one plan or one model must not be used for another."""
    cwd = model.parent
    assert run("recover", model.name, "--transcript", "t.sqlite", "--json", cwd=cwd).returncode == 0
    assert_one_sentence(
        run("recover", model.name, "--transcript", "t.sqlite", "--seed", 9, cwd=cwd), "t.sqlite", "seed"
    )
    run("model", "new", "--heads", 3, "--dim", 2, "--seed", 2, "-o", "other.json", cwd=cwd)
    assert_one_sentence(run("recover", "other.json", "--transcript", "t.sqlite", cwd=cwd), "t.sqlite")
    (cwd / "no.sqlite").write_text("hello, this is no database, only text that goes on for a while")
    assert_one_sentence(run("recover", model.name, "--transcript", "no.sqlite", cwd=cwd), "no.sqlite")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not json", ["bad.json"]),
        ('{"format":"exactattn-model","version":1,"dim":1,"dim":2,"heads":[]}', ["bad.json", "dim"]),
        (
            '{"format":"exactattn-model","version":1,"dim":2,"heads":[{"W":[[1,2]],"v":[1,2]}]}',
            ["bad.json", "W"],
        ),
        ('{"format":"exactattn-model","version":1,"dim":1,"heads":[{"W":[[NaN]],"v":[1]}]}', ["bad.json"]),
        (
            '{"format":"exactattn-model","version":1,"dim":1,"heads":[{"W":[["1/0"]],"v":[1]}]}',
            ["bad.json", "W"],
        ),
    ],
)
def test_bad_models(tmp_path: Path, text: str, words: list[str]) -> None:
    """Breaks: a bad model file must be named with field and mend, and nothing written."""
    (tmp_path / "bad.json").write_text(text)
    assert_one_sentence(run("recover", "bad.json", "--certificate", "c.json", cwd=tmp_path), *words)
    assert not (tmp_path / "c.json").exists()


def test_bad_options(model: Path) -> None:
    """Breaks: options that contradict each other or make no sense."""
    cwd = model.parent
    assert_one_sentence(run("recover", cwd=cwd), "FILE")
    assert_one_sentence(run("recover", model.name, "--oracle-command", "cat", cwd=cwd), "one of")
    assert_one_sentence(run("recover", "--oracle-command", "cat", "--heads-bound", 2, cwd=cwd), "--dim")
    assert_one_sentence(run("recover", model.name, "--heads-bound", 0, cwd=cwd), "heads")
    assert_one_sentence(run("recover", model.name, "--heads-bound", 1, cwd=cwd), "at most 1")
    assert_one_sentence(
        run("recover", model.name, "--numbers", "balls", "--certificate", "c.json", cwd=cwd), "lattice"
    )
    assert_one_sentence(
        run("recover", model.name, "--certificate", "no/such/folder/c.json", cwd=cwd), "no/such/folder"
    )
    assert_one_sentence(run("recover", "missing.json", cwd=cwd), "missing.json")


def test_float_layer_from_npz(tmp_path: Path) -> None:
    """Breaks: a float64 layer in a file goes through balls and comes back."""
    rng = np.random.default_rng(3)
    np.savez(tmp_path / "layer.npz", W=rng.standard_normal((2, 3, 3)), v=rng.standard_normal((2, 3)))
    data = json.loads(run("recover", "layer.npz", "--json", cwd=tmp_path).stdout)
    assert data["numbers"]["name"] == "balls"
    assert data["matches_model"] is True


def test_full_disk_leaves_no_certificate(model: Path) -> None:
    """Breaks: a certificate that cannot be written must end in one sentence."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    assert_one_sentence(
        run("recover", model.name, "--certificate", "/dev/full", cwd=model.parent), "/dev/full"
    )
