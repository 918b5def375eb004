"""Oracles inside the process: a known layer, a function, recorded answers."""

from __future__ import annotations

import functools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from exactattn.exceptions import CannotTell, InputError, MissingAnswers, OracleError
from exactattn.model import Attention, Head, Query, evaluate, random_layer, token
from exactattn.numbers import Balls, LogLattice
from exactattn.oracle import ExactOracle, FunctionOracle, Oracle, RecordedOracle

LATTICE, BALLS = LogLattice(), Balls(100)
QUERIES = [Query.of([(token(k, 1), k)], token(1, -k)) for k in range(1, 6)]


def answers(oracle: Oracle, system: Any, queries: list[Query] = QUERIES) -> list[Any]:
    return list(oracle.answer(queries, system))


# a known layer


@given(st.integers(0, 10**6), st.integers(1, 3))
@settings(max_examples=20, deadline=None)
def test_a_layer_answers_with_its_values(seed: int, denominator: int) -> None:
    """Breaks: recovery would be tested on another function than the layer."""
    layer = random_layer(3, 2, seed=seed, denominator=denominator)
    for system in (LogLattice(layer.denominator()), BALLS):
        texts = [system.value_text(x) for x in answers(ExactOracle(layer), system)]
        assert texts == [system.value_text(evaluate(layer, q, system)) for q in QUERIES]


def test_the_same_function_has_the_same_fingerprint() -> None:
    """Breaks: a transcript would be refused after a harmless change of the model, or kept after another."""
    layer = random_layer(4, 2, seed=3, duplicates=1)
    same = Attention.of(layer.canonical().heads[::-1], name="another name")
    assert ExactOracle(layer).fingerprint == ExactOracle(same).fingerprint
    fingerprints = {ExactOracle(random_layer(2, 2, seed=seed)).fingerprint for seed in range(20)}
    assert len(fingerprints) == 20


def test_a_layer_refuses_what_the_number_system_cannot_hold() -> None:
    """Breaks: rounded or meaningless answers instead of a named refusal."""
    half = ExactOracle(Attention.of([Head.of([["1/2"]], [1])]))
    query = Query.of([(token(0), 1)], token(1))
    with pytest.raises(InputError, match="multiple of 1/1"):
        answers(half, LATTICE, [query])
    with pytest.raises(InputError, match="size 2"):
        answers(half, LATTICE)
    steep = ExactOracle(Attention.of([Head.of([[fmpq(10**40, 3)]], [1])]))
    with pytest.raises(CannotTell, match="Balls"):
        answers(steep, Balls(32), [Query.of([(token(2), 1)], token(1))])


# a function


def test_a_function_may_answer_in_every_exact_way() -> None:
    """Breaks: a user's numbers would be refused, or changed on the way."""
    given_answers = [2, Fraction(1, 3), fmpq(1, 7), "22/7", "0.1", 0.5, np.float32(0.1), np.int64(-3)]
    queries = [Query.of([], token(k)) for k in range(len(given_answers))]
    oracle = FunctionOracle(lambda query: given_answers[int(query.last[0].p)], dim=1)
    expected = [fmpq(2), fmpq(1, 3), fmpq(1, 7), fmpq(22, 7), fmpq(1, 10), fmpq(1, 2)]
    expected += [fmpq(*np.float32(0.1).as_integer_ratio()), fmpq(-3)]
    assert answers(oracle, LATTICE, queries) == expected
    for ball, exact in zip(answers(oracle, BALLS, queries), expected, strict=True):
        with BALLS.context():
            assert ball.overlaps(arb(exact))
            assert ball.rad() <= arb(2) ** -90


@pytest.mark.parametrize(
    "answer", [("1/3", "1/100"), (Fraction(1, 3), 0.01), "1/3+/-0.01", arb("1/3", "0.01")], ids=repr
)
def test_a_function_may_answer_with_balls(answer: Any) -> None:
    """Breaks: an answer known within a radius would be taken as narrower, or for exact on the lattice."""
    oracle = FunctionOracle(lambda _: answer, dim=2)
    (ball,) = answers(oracle, BALLS, QUERIES[:1])
    with BALLS.context():
        assert ball.contains(arb(fmpq(1, 3)) + arb(fmpq(1, 101)))
        assert not ball.overlaps(arb(fmpq(1, 3)) + arb(fmpq(1, 90)))
    with pytest.raises(OracleError, match="radius is no exact value for the lattice"):
        answers(oracle, LATTICE, QUERIES[:1])


@pytest.mark.parametrize(
    "answer",
    [None, True, [1], {}, (1, 2, 3), (1,), (1, -1), (1, float("nan")), "about 3", "nan", float("inf"),
     1j, np.array([1.0]), arb("nan"), arb(0, "inf"), (arb(1), 1)],
    ids=repr,
)  # fmt: skip
def test_a_function_that_returns_no_number_is_refused(answer: Any) -> None:
    """Breaks: garbage would enter the transcript."""
    oracle = FunctionOracle(lambda _: answer, dim=2)
    with pytest.raises(OracleError, match=r'answer to the query \{"last":\["1","-1"\]'):
        answers(oracle, BALLS)


def test_answers_before_a_failing_function_are_given() -> None:
    """Breaks: what was answered before a failure would be lost; the message must name the query."""
    oracle = FunctionOracle(lambda query: 1 / (3 - query.length + 1), dim=2)
    stream = oracle.answer(QUERIES, LATTICE)
    assert [next(stream), next(stream)] == [fmpq(*(0.5).as_integer_ratio()), 1]
    with pytest.raises(OracleError, match=r"ZeroDivisionError \(.*\) at the query .*\"3\",\"1\"") as caught:
        next(stream)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_function_runs_at_the_precision_of_the_balls() -> None:
    """Breaks: a function that computes with python-flint would answer with 53 bits whatever is asked."""
    oracle = FunctionOracle(lambda _: (ctx.prec, 0), dim=2)
    assert answers(oracle, Balls(777), QUERIES[:1])[0] == 777


def test_fingerprints_of_functions_are_their_names() -> None:
    """Breaks: transcripts of two functions would be mixed up."""
    assert FunctionOracle(len, 1).fingerprint == "function builtins.len"
    assert FunctionOracle(functools.partial(len), 1).fingerprint == "function functools.partial"


@pytest.mark.parametrize("dim", [0, -1])
def test_an_oracle_needs_a_token_size(dim: int) -> None:
    """Breaks: a wrong option would be met much later."""
    with pytest.raises(InputError, match="at least 1"):
        FunctionOracle(len, dim)


# recorded answers


def record(folder: Path, *lines: str) -> Path:
    file = folder / "answers.jsonl"
    file.write_text("".join(line + "\n" for line in lines))
    return file


def line(query: Query, value: Any, **more: Any) -> str:
    return json.dumps({"query": query.to_json(), "value": value, **more})


def test_a_recording_answers_like_its_source(tmp_path: Path) -> None:
    """Breaks: a run on recorded answers would not be the run on the model."""
    layer = random_layer(2, 2, seed=4)
    values = answers(ExactOracle(layer), LATTICE)
    lines = [line(q, LATTICE.value_text(x)) for q, x in zip(QUERIES, values, strict=True)]
    oracle = RecordedOracle.from_jsonl(record(tmp_path, *lines, "", lines[0]))
    assert oracle.dim == 2
    assert answers(oracle, LATTICE) == values
    assert answers(oracle, LATTICE, QUERIES[::-1]) == values[::-1]
    shuffled = RecordedOracle.from_jsonl(record(tmp_path, *lines[::-1]))
    assert shuffled.fingerprint == oracle.fingerprint
    changed = RecordedOracle.from_jsonl(record(tmp_path, *lines[1:], line(QUERIES[0], "17")))
    assert changed.fingerprint != oracle.fingerprint


def test_recorded_balls_enclose(tmp_path: Path) -> None:
    """Breaks: a radius in a recording would be ignored, or a ball taken for exact on the lattice."""
    texts = [line(QUERIES[0], "0.5", error="1e-3"), line(QUERIES[1], 3, error=1)]
    with BALLS.context():
        texts.append(line(QUERIES[2], BALLS.value_text(arb(fmpq(1, 3)))))
    oracle = RecordedOracle.from_jsonl(record(tmp_path, *texts))
    first, second, third = answers(oracle, BALLS, QUERIES[:3])
    assert first.contains(arb(fmpq(501, 1000)))
    assert second.contains(arb(4))
    assert not second.contains(arb(5))
    with Balls(90).context():
        assert third.overlaps(arb(fmpq(1, 3)))
        assert third.rad() < arb(2) ** -90
    for query in QUERIES[:3]:
        with pytest.raises(OracleError, match="cannot be used"):
            answers(oracle, LATTICE, [query])


def test_a_recording_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    """Breaks: one of two different answers would be believed."""
    same = [line(QUERIES[0], "1/2"), line(QUERIES[0], "0.5"), line(QUERIES[0], "2/4")]
    assert answers(RecordedOracle.from_jsonl(record(tmp_path, *same)), LATTICE, QUERIES[:1]) == [fmpq(1, 2)]
    for other in (line(QUERIES[0], "1/3"), line(QUERIES[0], "1/2", error="0.1")):
        file = record(tmp_path, line(QUERIES[1], 7), same[0], "", other)
        with pytest.raises(OracleError, match=r"answers\.jsonl: .*contradicts itself: lines 2 and 4"):
            RecordedOracle.from_jsonl(file)


def test_missing_records_are_named(tmp_path: Path) -> None:
    """Breaks: an incomplete recording would end in a traceback, or tell one missing query at a time."""
    oracle = RecordedOracle.from_jsonl(record(tmp_path, line(QUERIES[0], 1), line(QUERIES[2], 3)))
    missing = r"no answer for 3 of 5 queries; the first is .*\"2\",\"1\""
    with pytest.raises(MissingAnswers, match=missing) as caught:
        list(oracle.answer(QUERIES, LATTICE))
    assert caught.value.queries == [QUERIES[1], *QUERIES[3:]]


GOOD = line(QUERIES[0], 1)

BAD_LINES = {
    "no JSON": ("{", "not JSON"),
    "a list": ("[1]", "must be an object"),
    "no value": (json.dumps({"query": QUERIES[0].to_json()}), "'value' is missing"),
    "no query": ('{"value": 1}', "'query' is missing"),
    "unknown key": (line(QUERIES[0], 1, eror="0.1"), "'eror' is not known"),
    "a key twice": (GOOD[:-1] + ', "value": 2}', "'value' appears twice"),
    "a JSON decimal": (line(QUERIES[0], 0.5), "send decimals as strings"),
    "a decimal error": (line(QUERIES[0], 1, error=0.5), "send decimals as strings"),
    "NaN": (line(QUERIES[0], float("nan")), "NaN is not a number"),
    "null": (line(QUERIES[0], None), "must be a string or an integer"),
    "true": (line(QUERIES[0], True), "must be a string or an integer"),
    "a list as value": (line(QUERIES[0], ["1"]), "must be a string or an integer"),
    "no query object": ('{"query": 3, "value": 1}', "a query is"),
    "a word in a token": (
        '{"query": {"runs": [], "last": ["one"]}, "value": 1}', "not a number"
    ),
    "a negative count": ('{"query": {"runs": [[["1"], -1]], "last": ["1"]}, "value": 1}', "count -1"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_LINES)
def test_bad_lines_are_named(case: str, tmp_path: Path) -> None:
    """Breaks: a damaged recording would be read as something else, or end in a traceback."""
    text, words = BAD_LINES[case]
    file = record(tmp_path, GOOD, text)
    with pytest.raises(InputError) as caught:
        RecordedOracle.from_jsonl(file)
    assert words in str(caught.value)
    assert (caught.value.file, caught.value.field) == (str(file), "line 2")


def test_recordings_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    """Breaks: wrong paths, empty files, binary files, mixed token sizes."""
    with pytest.raises(InputError, match=r"absent\.jsonl: cannot be read"):
        RecordedOracle.from_jsonl(tmp_path / "absent.jsonl")
    with pytest.raises(InputError, match="cannot be read"):
        RecordedOracle.from_jsonl(tmp_path)
    with pytest.raises(InputError, match=r"answers\.jsonl: there is no recorded answer"):
        RecordedOracle.from_jsonl(record(tmp_path))
    with pytest.raises(InputError, match=r"answers\.jsonl: .* token sizes \[1, 2\]"):
        RecordedOracle.from_jsonl(record(tmp_path, GOOD, line(Query.of([], token(1)), 1)))
    file = tmp_path / "binary.jsonl"
    file.write_bytes(b"\xff\xfe\x00\x81\n")
    with pytest.raises(InputError, match=r"binary\.jsonl: line 1: .*UTF-8"):
        RecordedOracle.from_jsonl(file)
