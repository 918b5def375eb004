"""Runs that are killed: a real process, a real kill, and the oracle's own log as witness."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from flint import fmpq

from exactattn.exceptions import TranscriptError
from exactattn.model import Query, token
from exactattn.numbers import LogLattice
from exactattn.oracle import FunctionOracle, Transcript

QUERIES = [Query.of([(token(k), 1)], token(fmpq(1, 3))) for k in range(400)]

# Asks 400 queries; the function writes each into a log before it answers, and a second log afterwards.
RUN = """
import signal, sys, time
from flint import fmpq
from exactattn.model import Query, token
from exactattn.numbers import LogLattice
from exactattn.oracle import FunctionOracle, Transcript

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit "ignored"

folder, pause = sys.argv[1], float(sys.argv[2])
asked, finished = open(folder + "/asked", "ab", 0), open(folder + "/finished", "ab", 0)

def value(query):
    asked.write((query.key + "\\n").encode())
    time.sleep(pause)
    return query.last[0] * query.runs[0][0][0]

value.__module__ = "logged"
queries = [Query.of([(token(k), 1)], token(fmpq(1, 3))) for k in range(400)]
oracle = FunctionOracle(value, 1)

def note(count):
    finished.write(b"." * count)

with Transcript(folder + "/transcript", identity={"seed": 1}, fingerprint=oracle.fingerprint) as transcript:
    answers = transcript.ask(oracle, queries, LogLattice(), batch=50, progress=note)
    assert answers == [fmpq(k, 3) for k in range(400)], answers
    print(transcript.queries, transcript.resent)
"""


def start(folder: Path, pause: float) -> subprocess.Popen[str]:
    program = folder / "run.py"
    program.write_text(textwrap.dedent(RUN))
    return subprocess.Popen(
        [sys.executable, str(program), str(folder), str(pause)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answered(file: Path) -> set[str]:
    connection = sqlite3.connect(file)
    keys = {row[0] for row in connection.execute("SELECT key FROM queries WHERE answer IS NOT NULL")}
    connection.close()
    return keys


def wait_for(file: Path, size: int) -> None:
    deadline = time.monotonic() + 20
    while not file.exists() or file.stat().st_size < size:
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=lambda s: s.name)
def test_a_killed_run_resumes_where_it_was(number: signal.Signals, tmp_path: Path) -> None:
    """Breaks: the promise of the transcript. After each of two kills at arbitrary moments the run is
    started again; no query whose answer arrived is asked again, and the transcript knows the others."""
    asked, finished = tmp_path / "asked", tmp_path / "finished"
    done: list[tuple[int, set[str]]] = []
    for stop_after in (60, 230):
        run = start(tmp_path, 0.02)
        wait_for(finished, stop_after)
        run.send_signal(number)
        run.communicate(timeout=20)
        assert run.returncode != 0
        finished.unlink()  # the next run begins it with what it finds in the transcript
        done.append((len(asked.read_text().splitlines()), answered(tmp_path / "transcript")))
        assert stop_after <= len(done[-1][1]) < len(QUERIES)
    run = start(tmp_path, 0.0)
    output, errors = run.communicate(timeout=20)
    assert run.returncode == 0, errors
    log = asked.read_text().splitlines()
    assert set(log) == {query.key for query in QUERIES}
    for length, keys in done:
        assert not keys.intersection(log[length:])
    queries, resent = map(int, output.split())
    assert queries == len(QUERIES)
    # At most the one query that was under way, for each kill; it may not have reached the function.
    assert len(log) - len(QUERIES) <= resent <= 2


def test_two_processes_cannot_share_a_transcript(tmp_path: Path) -> None:
    """Breaks: two runs would ask the same queries and write over each other."""
    run = start(tmp_path, 0.05)
    try:
        wait_for(tmp_path / "asked", 1)
        began = time.monotonic()
        with pytest.raises(TranscriptError, match="transcript: another running process uses it"):
            Transcript(tmp_path / "transcript", identity={"seed": 1})
        assert time.monotonic() - began < 5
        assert run.poll() is None
    finally:
        run.kill()
        run.communicate()
    oracle = FunctionOracle(lambda query: query.last[0], 1)
    with (
        Transcript(tmp_path / "transcript", identity={"seed": 1}) as transcript,
        pytest.raises(TranscriptError, match="'oracle'"),
    ):
        transcript.ask(oracle, QUERIES, LogLattice())
