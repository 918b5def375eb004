"""External commands as oracles: the protocol, and every way in which a command can fail."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flint import arb, fmpq

from exactattn.exceptions import AnswersTimeout, InputError, OracleError
from exactattn.model import Query, random_layer, save_layer, token
from exactattn.numbers import Balls, LogLattice
from exactattn.oracle import CommandOracle, ExactOracle

LATTICE = LogLattice()
QUERIES = [Query.of([(token(k), 2)], token("1/3")) for k in range(200)]

# The value of a query in the commands below: its only run's token.
START = """
import json, os, sys, time
def say(id, value, **more):
    print(json.dumps({"id": id, "value": value, **more}), flush=True)
def requests():
    for line in sys.stdin:
        request = json.loads(line)
        yield request["id"], request["query"]["runs"][0][0][0], request
"""

Start = Callable[..., CommandOracle]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Makes an oracle of a Python program."""

    def make(program: str, timeout: float = 20) -> CommandOracle:
        file = tmp_path / "my oracle.py"
        file.write_text(START + textwrap.dedent(program))
        return CommandOracle(f"{shlex.quote(sys.executable)} {shlex.quote(str(file))}", 1, timeout)

    return make


def answers(oracle: CommandOracle, count: int = 200, system: Any = LATTICE) -> list[Any]:
    return list(oracle.answer(QUERIES[:count], system))


def collect(oracle: CommandOracle, into: list[Any]) -> None:
    for value in oracle.answer(QUERIES, LATTICE):
        into.append(value)


ECHO = "for id, value, _ in requests(): say(id, value)"


# the protocol


def test_a_command_answers_in_any_order(start: Start) -> None:
    """Breaks: answers would be given to the wrong queries, or a command could not work ahead."""
    with start(
        """
        kept = []
        for id, value, _ in requests():
            kept.append((id, value))
            if len(kept) == 8:
                for answer in reversed(kept): say(*answer)
                kept = []
        """
    ) as oracle:
        assert answers(oracle) == list(range(200))
        assert answers(oracle, 40) == list(range(40))


def test_a_command_in_another_language_gives_a_recovered_layers_values(tmp_path: Path) -> None:
    """Breaks: the protocol as documented. The command knows the layer only as a file and computes with
    Python's own fractions, so it is a second engine as well."""
    layer = random_layer(3, 2, seed=9)
    save_layer(layer, tmp_path / "layer.json")
    program = """
    from fractions import Fraction as F
    heads = json.load(open(sys.argv[1]))["heads"]
    def dot(x, y): return sum(a * b for a, b in zip(x, y))
    for line in sys.stdin:
        request = json.loads(line)
        last = [F(x) for x in request["query"]["last"]]
        runs = [([F(x) for x in t], n) for t, n in request["query"]["runs"]] + [(last, 1)]
        total = 0
        for head in heads:
            scores = [dot(last, [dot([F(x) for x in row], t) for row in head["W"]]) for t, _ in runs]
            weights = [n * F(2) ** int(s) for s, (_, n) in zip(scores, runs)]
            v = [F(x) for x in head["v"]]
            total += sum(w * dot(v, t) for w, (t, _) in zip(weights, runs)) / sum(weights)
        say(request["id"], str(total))
    """
    (tmp_path / "second.py").write_text(START + textwrap.dedent(program))
    queries = [Query.of([(token(k, 1), 3), (token(0, k), 1)], token(1, -k)) for k in range(1, 30)]
    command = shlex.join([sys.executable, str(tmp_path / "second.py"), str(tmp_path / "layer.json")])
    with CommandOracle(command, 2) as oracle:
        assert list(oracle.answer(queries, LATTICE)) == list(ExactOracle(layer).answer(queries, LATTICE))


def test_requests_are_what_the_documentation_says(start: Start) -> None:
    """Breaks: commands written after the documentation."""
    program = """
    expected = {"id": 0, "query": {"runs": [[["7"], 2]], "last": ["1/3"]}, "precision_bits": %s}
    for id, _, request in requests(): say(id, int(request == expected))
    """
    for system, bits in ((LATTICE, None), (Balls(100), 100)):
        with start(program % bits) as oracle:
            assert [x == 1 for x in oracle.answer(QUERIES[7:8], system)] == [True]


def test_every_form_of_a_value_is_read(start: Start) -> None:
    """Breaks: fractions, decimals, long integers or balls from a command would change their value."""
    program = """
    forms = ["1/3", "-0.125", 12, "0x10/3", -10**700]
    for id, value, _ in requests(): say(id, forms[int(value)])
    """
    with start(program) as oracle:
        assert answers(oracle, 5) == [fmpq(1, 3), fmpq(-1, 8), 12, fmpq(16, 3), -(10**700)]
    with start("for id, value, _ in requests(): say(id, '0.5', error='1e-3')") as oracle:
        (ball,) = answers(oracle, 1, Balls(64))
        assert ball.contains(arb(fmpq(501, 1000)))
        with pytest.raises(OracleError, match="radius is no exact value for the lattice"):
            answers(oracle, 1)


def test_neither_side_can_block_the_other(start: Start) -> None:
    """Breaks: full pipes. The command reads nothing before it has written a lot to standard error, and its
    answers are longer than a pipe holds; the requests are too."""
    program = """
    sys.stderr.write("noise " * 100_000 + "\\n")
    for id, value, _ in requests():
        print(json.dumps({"id": id, "value": value + "0" * 20_000 + "/1" + "0" * 20_000}), flush=True)
        sys.stderr.write("more noise " * 1000)
    """
    long = [Query.of([(token(fmpq(k)), 1)], token(fmpq(1, 10**5000 + k))) for k in range(100)]
    with start(program) as oracle:
        assert list(oracle.answer(long, LATTICE)) == list(range(100))


def test_answers_are_given_as_they_come(start: Start) -> None:
    """Breaks: what was answered before a failure would be lost."""
    program = """
    for id, value, _ in requests():
        if id == 5: sys.exit("out of ideas")
        say(id, value)
    """
    got: list[Any] = []
    with start(program) as oracle, pytest.raises(OracleError, match="status 1: out of ideas"):
        collect(oracle, got)
    assert got == list(range(5))


def test_a_command_starts_again_after_a_failure(start: Start, tmp_path: Path) -> None:
    """Breaks: a second attempt would meet the answers, or the corpse, of the first."""
    flag = tmp_path / "flag"
    program = f"""
    for id, value, _ in requests():
        if not os.path.exists({str(flag)!r}):
            open({str(flag)!r}, "w").close()
            sys.exit(1)
        say(id, value)
    """
    with start(program) as oracle:
        with pytest.raises(OracleError, match="exit status 1"):
            answers(oracle)
        assert answers(oracle) == list(range(200))
        next(oracle.answer(QUERIES, LATTICE))  # a reader who stops early leaves 63 requests under way
        assert answers(oracle) == list(range(200))


# failures

FAILURES: dict[str, tuple[str, str]] = {
    "dies at once": ("sys.exit(3)", "ended with exit status 3"),
    "dies with a traceback": ("raise ValueError('no such head')", "status 1: ValueError: no such head"),
    "killed": ("os.kill(os.getpid(), 9)", "was killed by SIGKILL"),
    "ends early": ("say(0, 1); say(1, 2)", "ended with exit status 0"),
    "cut off in a line": ("print('{\"id\": 0, \"value\": \"1', end='', flush=True)", "exit status 0"),
    "garbage": ("print('hello', flush=True); time.sleep(9)", "wrote 'hello', not an answer: is not JSON"),
    "binary garbage": ("os.write(1, b'\\xff\\x00\\n'); time.sleep(9)", "UTF-8"),
    "an empty line": ("print(flush=True); time.sleep(9)", "not JSON"),
    "a list": ("print('[0, 1]', flush=True); time.sleep(9)", "must be an object"),
    "id as text": ("say('0', 1); time.sleep(9)", "id is not an integer"),
    "id true": ("say(True, 1); time.sleep(9)", "id is not an integer"),
    "unknown id": ("say(77777, 1); time.sleep(9)", "itself: it answered id 77777 without being asked"),
    "negative id": ("say(-1, 1); time.sleep(9)", "answered id -1 without being asked"),
    "an id twice": ("say(0, 1); say(0, 2); time.sleep(9)", "contradicts itself: it answered id 0 twice"),
    "no value": ("print('{\"id\": 0}', flush=True); time.sleep(9)", "'value' is missing"),
    "no id": ("print('{\"value\": 0}', flush=True); time.sleep(9)", "'id' is missing"),
    "null": ("say(0, None); time.sleep(9)", "must be a string or an integer"),
    "true": ("say(0, True); time.sleep(9)", "must be a string or an integer"),
    "NaN": ("say(0, float('nan')); time.sleep(9)", "NaN is not a number"),
    "infinity": ("say(0, float('inf')); time.sleep(9)", "Infinity is not a number"),
    "NaN as text": ("say(0, 'nan'); time.sleep(9)", "'nan' is not a number"),
    "a word": ("say(0, 'about 3'); time.sleep(9)", "'about 3' is not a number"),
    "a JSON decimal": ("say(0, 0.5); time.sleep(9)", "send decimals as strings"),
    "denominator 0": ("say(0, '1/0'); time.sleep(9)", "denominator 0"),
    "an unknown key": ("say(0, '1', eror='1e-9'); time.sleep(9)", "'eror' is not known"),
    "a key twice": ("print('{\"id\":0,\"value\":1,\"value\":2}', flush=True)", "appears twice"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILURES)
def test_every_failure_of_a_command_is_named(case: str, start: Start) -> None:
    """Breaks: a command that fails would hang, end in a traceback, or have its garbage believed."""
    program, words = FAILURES[case]
    began = time.monotonic()
    with start("sys.stdin.readline(); " + program) as oracle, pytest.raises(OracleError) as caught:
        answers(oracle)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert time.monotonic() - began < 5


def test_a_negative_radius_is_refused(start: Start) -> None:
    """Breaks: a ball that holds nothing."""
    with (
        start("for id, value, _ in requests(): say(id, '1', error='-1')") as oracle,
        pytest.raises(OracleError, match="radius -1 is negative"),
    ):
        answers(oracle, 1, Balls(64))


def test_a_silent_command_is_given_up(start: Start) -> None:
    """Breaks: a late oracle would block for ever; a slow but steady one must not be given up."""
    with (
        start("for id, value, _ in requests(): time.sleep(9)", timeout=0.3) as oracle,
        pytest.raises(AnswersTimeout, match=r"no answer within 0\.3 s"),
    ):
        answers(oracle)
    with start("for id, value, _ in requests(): time.sleep(0.15); say(id, value)", timeout=2) as oracle:
        assert answers(oracle, 4) == [0, 1, 2, 3]


def test_dripping_output_is_no_answer(start: Start) -> None:
    """Breaks: a command that writes for ever without ending a line would never be late."""
    with (
        start("while True: print(' ', end='', flush=True); time.sleep(0.01)", timeout=0.3) as oracle,
        pytest.raises(AnswersTimeout),
    ):
        answers(oracle)


def test_an_endless_line_is_refused(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks: an endless line would fill the memory."""
    monkeypatch.setattr("exactattn.oracle.process.MAX_LINE", 1 << 20)
    with (
        start("sys.stdin.readline()\nwhile True: sys.stdout.write('1' * 65536)") as oracle,
        pytest.raises(OracleError, match="line of more than"),
    ):
        answers(oracle)


def test_surplus_answers_are_noticed(start: Start) -> None:
    """Breaks: an oracle out of step would go unnoticed: at the next batch, or at the end."""
    surplus = "gave more answers than it was asked for"
    program = """
    for id, value, _ in requests():
        say(id, value)
        if id == 9:
            time.sleep(0.2)
            say(10, "7")
    """
    with start(program) as oracle:
        assert answers(oracle, 10) == list(range(10))
        time.sleep(0.5)
        with pytest.raises(OracleError, match=surplus):
            answers(oracle, 10)
    oracle = start(ECHO + "\nsay(9, 'goodbye')")
    assert answers(oracle, 10) == list(range(10))
    with pytest.raises(OracleError, match=surplus):
        oracle.close()


@pytest.mark.parametrize("command", ["", "  ", "python 'unbalanced"])
def test_commands_that_are_none_are_refused(command: str) -> None:
    """Breaks: a wrong option would end in a traceback."""
    with pytest.raises(InputError, match="oracle command"):
        CommandOracle(command, 1)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_timeouts_that_are_none_are_refused(timeout: float) -> None:
    """Breaks: a wrong option would end in a traceback, or in no time limit."""
    with pytest.raises(InputError, match="timeout"):
        CommandOracle("cat", 1, timeout)


@pytest.mark.parametrize("case", ["/no/such/program: No such file", "/etc: Permission denied"])
def test_commands_that_cannot_start_are_named(case: str) -> None:
    """Breaks: a wrong path would end in a traceback. There is no shell that could interpret anything."""
    with CommandOracle(f"{case.partition(':')[0]} ; echo", 1) as oracle, pytest.raises(OracleError) as caught:
        answers(oracle)
    assert f"cannot be started: {case}" in str(caught.value)


def test_command_fingerprints_are_those_of_the_command_line() -> None:
    """Breaks: a transcript of one command would be continued with another."""
    assert CommandOracle("a  'b'", 1).fingerprint == CommandOracle("a b", 1).fingerprint
    assert CommandOracle("a b", 1).fingerprint != CommandOracle("a 'b '", 1).fingerprint


# the end


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_closing_ends_the_whole_group(start: Start, tmp_path: Path) -> None:
    """Breaks: commands, or what they started, would stay behind."""
    pids = tmp_path / "pids"
    program = f"""
    import subprocess, signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    helper = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    open({str(pids)!r}, "w").write(f"{{os.getpid()}} {{helper.pid}}")
    {ECHO}
    """
    with start(program) as oracle:
        assert answers(oracle, 3) == [0, 1, 2]
        running = [int(pid) for pid in pids.read_text().split()]
        assert all(is_running(pid) for pid in running)
    deadline = time.monotonic() + 5
    while any(is_running(pid) for pid in running) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(is_running(pid) for pid in running)


def test_closing_does_not_wait_for_a_stubborn_command(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks: a command that does not end when its input ends would block the end of the run."""
    monkeypatch.setattr("exactattn.oracle.process.GRACE_SECONDS", 0.2)
    began = time.monotonic()
    with start(ECHO + "\nwhile True: time.sleep(1)") as oracle:
        assert answers(oracle, 3) == [0, 1, 2]
    assert time.monotonic() - began < 3


def test_an_interrupt_leaves_no_process(start: Start, tmp_path: Path) -> None:
    """Breaks: Ctrl-C while waiting for the command would hang, or leave it running."""
    pid_file = tmp_path / "pid"
    program = f"""
    import signal
    open({str(pid_file)!r}, "w").write(str(os.getpid()))
    for id, value, _ in requests():
        if id == 3:
            time.sleep(0.3)
            os.kill(os.getppid(), signal.SIGINT)
            time.sleep(1000)
        say(id, value)
    """
    got: list[Any] = []
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), start(program) as oracle:
            collect(oracle, got)
    finally:
        signal.signal(signal.SIGINT, before)
    assert got == [0, 1, 2]
    assert not is_running(int(pid_file.read_text()))
    assert os.getpid() != int(pid_file.read_text())
