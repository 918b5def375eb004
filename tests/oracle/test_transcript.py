"""Transcripts: what is answered is kept, counted, and never asked again; every misuse is named."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from exactattn.exceptions import CannotTell, InputError, OracleError, TranscriptError
from exactattn.model import Query, random_layer, token
from exactattn.numbers import Balls, LogLattice
from exactattn.oracle import ExactOracle, FunctionOracle, Oracle, Transcript

LATTICE = LogLattice()
QUERIES = [Query.of([(token(k), k % 4)], token(fmpq(1, k + 1))) for k in range(1, 41)]
IDENTITY = {"method": "published", "heads": 2, "dim": 1, "seed": 5, "ranges": [1, 9]}


def value_of(query: Query) -> fmpq:
    return query.last[0] * query.length


class Listening(Oracle):
    """Answers with ``value_of`` and lists what it was asked; ``act`` may do something before an answer."""

    fingerprint = "listening"

    def __init__(
        self, act: Callable[[int], None] = lambda _: None, answer: Callable[[Query], Any] = value_of
    ):
        super().__init__(1)
        self.heard: list[Query] = []
        self.batches: list[int] = []
        self._act = act
        self._answer = answer

    def answer(self, queries: Sequence[Query], system: Any) -> Iterator[Any]:
        self.batches.append(len(queries))
        for query in queries:
            self.heard.append(query)
            self._act(len(self.heard))
            yield self._answer(query)


def opened(path: Path | None = None, **changes: Any) -> Transcript:
    return Transcript(path, identity={**IDENTITY, **changes}, fingerprint="listening")


def expected(queries: Sequence[Query] = QUERIES) -> list[fmpq]:
    return [value_of(query) for query in queries]


# asking


@given(st.integers(0, 10**6), st.integers(1, 50))
@settings(max_examples=20, deadline=None)
def test_every_query_is_asked_once_and_answers_come_in_order(seed: int, batch: int) -> None:
    """Breaks: the query count, the count of batches, or the order of answers."""
    rng = random.Random(seed)
    first = rng.choices(QUERIES, k=30)
    second = rng.choices(QUERIES, k=60)
    oracle = Listening()
    with opened() as transcript:
        assert transcript.ask(oracle, first, LATTICE, batch=batch) == expected(first)
        distinct = len(set(first))
        assert (transcript.queries, len(oracle.heard)) == (distinct, distinct)
        assert len(oracle.batches) == -(-distinct // batch)
        assert transcript.ask(oracle, second, LATTICE, batch=batch) == expected(second)
        assert len(oracle.heard) == len(set(oracle.heard)) == len(set(first + second)) == transcript.queries
        assert transcript.longest == max(query.length for query in first + second)
        assert (transcript.resent, transcript.refinements) == (0, 0)
        assert transcript.answers(LATTICE, first) == expected(first)


def test_an_empty_transcript_counts_nothing() -> None:
    """Breaks: counts before the first answer."""
    with opened() as transcript:
        assert transcript.ask(Listening(), [], LATTICE) == []
        assert (transcript.queries, transcript.longest) == (0, 0)
        assert (transcript.resent, transcript.refinements) == (0, 0)
        with pytest.raises(TranscriptError, match="2 of 2 queries are not answered yet"):
            transcript.answers(LATTICE, QUERIES[:2])


def test_progress_adds_up(tmp_path: Path) -> None:
    """Breaks: progress bars, above all after a restart."""
    file, steps = tmp_path / "t", []
    with opened(file) as transcript:
        transcript.ask(Listening(), QUERIES[:10], LATTICE, progress=steps.append)
    assert steps == [0] + [1] * 10
    steps.clear()
    with opened(file) as transcript:
        transcript.ask(Listening(), QUERIES, LATTICE, batch=7, progress=steps.append)
    assert (steps[0], sum(steps)) == (10, len(QUERIES))


def test_a_finished_transcript_answers_without_the_oracle(tmp_path: Path) -> None:
    """Breaks: a repeated run would ask again."""
    file = tmp_path / "t"
    with opened(file) as transcript:
        transcript.ask(Listening(), QUERIES, LATTICE)
    silent = Listening()
    with opened(file) as transcript:
        assert transcript.ask(silent, QUERIES, LATTICE) == expected()
        assert (transcript.queries, transcript.resent) == (len(QUERIES), 0)
    assert (silent.heard, silent.batches) == ([], [])


def test_queries_of_another_size_are_refused() -> None:
    """Breaks: queries that the oracle cannot take would be noted as sent."""
    with opened() as transcript:
        with pytest.raises(InputError, match="size 2, the oracle 1"):
            transcript.ask(Listening(), [Query.of([], token(1, 2))], LATTICE)
        assert transcript.queries == 0


# balls


def test_refinements_are_counted_apart_and_enclose(tmp_path: Path) -> None:
    """Breaks: queries asked to more digits would count as new queries, or not be asked at all."""
    layer = random_layer(3, 2, seed=2)
    oracle = ExactOracle(layer)
    queries = [Query.of([(token(k, 1), 2)], token(1, k)) for k in range(2, 12)]
    file = tmp_path / "t"

    def open_it() -> Transcript:
        return Transcript(file, identity=IDENTITY, fingerprint=oracle.fingerprint)

    with open_it() as transcript:
        coarse = transcript.ask(oracle, queries[:6], Balls(64))
        assert transcript.refinements == 0
        fine = transcript.ask(oracle, queries, Balls(300))
        assert (transcript.queries, transcript.refinements, transcript.resent) == (10, 6, 0)
    with open_it() as transcript:
        again = transcript.ask(oracle, queries, Balls(200))
        assert (transcript.queries, transcript.refinements) == (10, 6)
    texts = [[Balls(300).value_text(x) for x in answers] for answers in (fine, again)]
    assert texts[0] == texts[1]
    for wide, narrow in zip(coarse, fine[:6], strict=True):
        assert wide.overlaps(narrow)
        assert narrow.rad() < arb(2) ** -250
        assert wide.rad() > narrow.rad()


def test_a_refinement_that_contradicts_is_refused() -> None:
    """Breaks: a noisy oracle, which answers the same query otherwise the second time, would be believed."""
    noise = iter([0, 0, 0, 1])
    oracle = FunctionOracle(lambda query: (value_of(query) + fmpq(next(noise), 1000), "1e-4"), dim=1)
    with Transcript(identity=IDENTITY) as transcript:
        kept = transcript.ask(oracle, QUERIES[:2], Balls(64))
        with pytest.raises(OracleError, match=r"contradicts itself: at a higher precision .* query \{"):
            transcript.ask(oracle, QUERIES[:2], Balls(128))
        again = transcript.answers(Balls(64), QUERIES[:2])
        assert [x.overlaps(y) for x, y in zip(kept, again, strict=True)] == [True, True]


# oracles that give the wrong thing


class Raw(Oracle):
    """Gives back whatever it was made with."""

    fingerprint = "listening"

    def __init__(self, *values: Any) -> None:
        super().__init__(1)
        self._values = values

    def answer(self, queries: Sequence[Query], system: Any) -> Iterator[Any]:
        return iter(self._values)


@pytest.mark.parametrize(
    ("values", "system", "words"),
    [
        ((), LATTICE, "gave 0 answers to 3 queries"),
        ((fmpq(1), fmpq(2)), LATTICE, "gave 2 answers to 3 queries"),
        ((fmpq(1),) * 4, LATTICE, "gave more than 3 answers to 3 queries"),
        ((1, 2, 3), LATTICE, "has type int, not fmpq"),
        ((0.5, 0.5, 0.5), LATTICE, "has type float, not fmpq"),
        ((None,) * 3, LATTICE, "has type NoneType, not fmpq"),
        ((arb(1),) * 3, LATTICE, "has type arb, not fmpq"),
        ((fmpq(1),) * 3, Balls(64), "has type fmpq, not arb"),
        ((arb("nan"),) * 3, Balls(64), "is not finite"),
        ((arb(0, "inf"),) * 3, Balls(64), "is not finite"),
    ],
)
def test_wrong_answers_are_refused(values: tuple[Any, ...], system: Any, words: str) -> None:
    """Breaks: too few or too many answers, or answers of another kind, would shift or spoil the others."""
    with opened() as transcript:
        with pytest.raises(OracleError, match=words):
            transcript.ask(Raw(*values), QUERIES[:3], system)
        assert transcript.queries == (min(len(values), 3) if "answers to" in words else 0)


@pytest.mark.parametrize("failure", [OracleError("died"), CannotTell("open"), KeyboardInterrupt()], ids=repr)
def test_what_was_answered_before_a_failure_is_kept(failure: BaseException, tmp_path: Path) -> None:
    """Breaks: after a failing oracle or Ctrl-C, answered queries would be asked again."""
    file = tmp_path / "t"

    def fail(count: int) -> None:
        if count == 23:
            raise failure

    first, second = Listening(fail), Listening()
    with opened(file) as transcript, pytest.raises(type(failure)):
        transcript.ask(first, QUERIES, LATTICE, batch=10)
    with opened(file) as transcript:
        assert transcript.queries == 22
        assert transcript.ask(second, QUERIES, LATTICE, batch=10) == expected()
        assert (transcript.queries, transcript.resent) == (len(QUERIES), 1)
    assert first.heard[:22] + second.heard == QUERIES


def test_a_query_counts_as_sent_when_it_is_taken() -> None:
    """Breaks: an oracle that takes a whole batch at once and dies may have asked it all; the transcript must
    say so, and must say no more than that of an oracle that takes one query at a time."""

    class Greedy(Listening):
        def answer(self, queries: Sequence[Query], system: Any) -> Iterator[Any]:
            return super().answer([*queries[:5], *queries[3:5], *queries[5:]], system)

    def fail(count: int) -> None:
        raise OracleError("died")

    for kind, sent_twice in ((Listening, 1), (Greedy, 10)):
        with opened() as transcript:
            with pytest.raises(OracleError, match="died"):
                transcript.ask(kind(fail), QUERIES, LATTICE, batch=10)
            transcript.ask(Listening(), QUERIES, LATTICE)
            assert transcript.resent == sent_twice


def kept_on_disk(file: Path) -> int:
    """How many answers the file holds by itself, as after a loss of power that takes all later writes."""
    copy = file.with_name("copy")
    shutil.copy(file, copy)
    connection = sqlite3.connect(copy)
    (count,) = connection.execute("SELECT count(*) FROM queries WHERE answer IS NOT NULL").fetchone()
    connection.close()
    return int(count)


def test_every_answer_is_on_disk_before_the_next_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks: a loss of power would lose more than one batch, or half a second of a slow oracle."""
    file, counts = tmp_path / "t", []
    with opened(file) as transcript:
        oracle = Listening(lambda number: counts.append(kept_on_disk(file)))
        transcript.ask(oracle, QUERIES[:12], LATTICE, batch=4)
        assert counts == [0] * 4 + [4] * 4 + [8] * 4
        assert kept_on_disk(file) == 12
    counts.clear()
    monkeypatch.setattr("exactattn.oracle.transcript.FLUSH_SECONDS", 0)
    with opened(file) as transcript:
        transcript.ask(oracle, QUERIES[12:20], LATTICE)
    assert counts == list(range(12, 20))


# files of something else


@pytest.mark.parametrize(
    ("field", "change"),
    [("seed", 6), ("heads", 3), ("method", "optimal"), ("ranges", [1, 8]), ("numbers", "x")],
)
def test_the_transcript_of_another_plan_is_refused(field: str, change: Any, tmp_path: Path) -> None:
    """Breaks: answers to the queries of another plan would be mixed in."""
    file = tmp_path / "t"
    with opened(file) as transcript:
        transcript.ask(Listening(), QUERIES[:5], LATTICE)
    with pytest.raises(TranscriptError) as caught:
        opened(file, **{field: change})
    message = str(caught.value)
    assert message.startswith(f"{file}: ")
    assert f"'{field}'" in message
    assert str(IDENTITY.get(field, "absent")).replace("'", '"') in message
    assert "use another --transcript file or the same options" in message
    with opened(file) as transcript:
        assert transcript.queries == 5


def test_another_oracle_or_number_system_is_refused(tmp_path: Path) -> None:
    """Breaks: answers of two functions, or of one in two number systems, would be mixed up."""
    file = tmp_path / "t"
    with opened(file) as transcript:
        transcript.ask(Listening(), QUERIES[:5], LATTICE)
    with pytest.raises(TranscriptError, match='\'oracle\' is "listening" in it and "model" here'):
        Transcript(file, identity=IDENTITY, fingerprint="model")
    with opened(file) as transcript:
        with pytest.raises(TranscriptError, match="'oracle'"):
            transcript.ask(FunctionOracle(value_of, 1), QUERIES, LATTICE)
        with pytest.raises(TranscriptError, match='\'denominator\' is "1" in it and "2" here'):
            transcript.ask(Listening(), QUERIES, LogLattice(2))
        with pytest.raises(TranscriptError, match='\'name\' is "lattice" in it and "balls" here'):
            transcript.ask(Listening(), QUERIES, Balls())


def test_files_that_are_no_transcripts_are_left_alone(tmp_path: Path) -> None:
    """Breaks: a wrong path would destroy another file, or end in a traceback."""
    text = tmp_path / "model.json"
    text.write_text("{}" * 3000)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE queries (x)")
    connection.close()
    for file in (text, other):
        before = file.read_bytes()
        with pytest.raises(TranscriptError, match=f"{file.name}: it is not a transcript"):
            opened(file)
        assert file.read_bytes() == before
    for file in (tmp_path, tmp_path / "no" / "folder" / "t"):
        with pytest.raises(TranscriptError, match="cannot be opened or created"):
            opened(file)


def test_another_format_version_is_refused(tmp_path: Path) -> None:
    """Breaks: a later format would be misread."""
    file = tmp_path / "t"
    opened(file).close()
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(TranscriptError, match="has format version 2, but this program reads version 1"):
        opened(file)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    """Breaks: a file damaged on disk would end in a traceback or be read as something else."""
    file = tmp_path / "t"
    with opened(file) as transcript:
        transcript.ask(Listening(), QUERIES, LATTICE)
    good = file.read_bytes()
    assert len(good) > 3 * 4096
    zeroed = good[:4096] + bytes(8192) + good[12288:]
    for data in (good[: len(good) // 2], zeroed, good[:100], b"SQLite format 3\0" + bytes(500)):
        file.write_bytes(data)
        with pytest.raises(TranscriptError, match=r"t: it is (damaged|not a transcript)"):
            opened(file)
    file.write_bytes(good)
    connection = sqlite3.connect(file)
    with connection:
        connection.execute("UPDATE queries SET answer = 'one third'")
    connection.close()
    with opened(file) as transcript, pytest.raises(TranscriptError, match=r"it is damaged .*one third"):
        transcript.ask(Listening(), QUERIES, LATTICE)


# a full disk


def test_a_full_disk_loses_nothing_that_was_answered(tmp_path: Path) -> None:
    """Breaks: a full disk would end in a traceback or spoil the transcript."""
    file = tmp_path / "t"
    oracle = Listening(answer=lambda query: value_of(query) + fmpq(1, 3**2000))
    with opened(file) as transcript:
        transcript.ask(oracle, QUERIES[:10], LATTICE)
        pages = transcript._connection.execute("PRAGMA page_count").fetchone()[0]
        transcript._connection.execute(f"PRAGMA max_page_count = {pages + 5}")
        with pytest.raises(TranscriptError, match="t: the disk is full; every answer so far is kept"):
            transcript.ask(oracle, QUERIES, LATTICE)
        kept = transcript.queries
        assert 10 < kept < len(QUERIES)
        assert len(transcript.answers(LATTICE, QUERIES[:kept])) == kept
    again = Listening(answer=oracle._answer)
    with opened(file) as transcript:
        assert len(transcript.ask(again, QUERIES, LATTICE)) == len(QUERIES)
        assert transcript.queries == len(QUERIES)
    assert again.heard == QUERIES[kept:]


def test_counts_come_from_the_file_alone(tmp_path: Path) -> None:
    """Breaks: the count could not be checked by anyone with sqlite3 and the file."""
    file = tmp_path / "t"
    with opened(file) as transcript:
        transcript.ask(Listening(), QUERIES, LATTICE)
    connection = sqlite3.connect(file)
    rows = connection.execute("SELECT key, length, sent, answer FROM queries").fetchall()
    connection.close()
    assert sorted(row[0] for row in rows) == sorted(query.key for query in QUERIES)
    assert {row[2] for row in rows} == {1}
    assert max(row[1] for row in rows) == max(query.length for query in QUERIES)
    by_key = {row[0]: row[3] for row in rows}
    assert [LATTICE.parse_value(by_key[query.key]) for query in QUERIES] == expected()
