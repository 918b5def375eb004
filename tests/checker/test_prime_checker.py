"""The checker on certificates of recoveries in prime fields: nothing altered, forged or colliding passes."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
from flint import nmod
from prime_cases import (
    Content,
    altered,
    certified,
    changed,
    places,
    put,
    random_layer,
    small,
    table,
    text_of,
    verdict_on,
)

from exactattn.certificate.prime import sealed_prime, write_prime_certificate
from exactattn.checker import check_data, check_file, prime
from exactattn.checker.prime_plan import residue_field
from exactattn.checker.prime_rows import Row, Rows
from exactattn.checker.prime_tree import leaf, path_of, root_from_path, root_of
from exactattn.exceptions import CertificateError
from exactattn.prime import WORD_PRIMES, BlockPlan
from exactattn.prime.trained import recover_trained

FOLDER = Path(prime.__file__).parent
# free: they say what is meant and who made it, and a generator other than that of a root proves its prime
FREE = {("unit", "score_exponent"), ("unit", "value_exponent"), ("unit", "scale_squared")}


@pytest.mark.parametrize("bias", [True, False])
def test_accepts_what_a_run_states(bias: bool) -> None:
    """Breaks: certificates of real layers, with and without biases, in both modes."""
    text, companion = small(bias)
    full = verdict_on(text, companion)
    assert full.code == 0, full
    assert full.reason.startswith("recovery of 3 canonical heads")
    sample = verdict_on(text, None, sample=True)
    assert sample.code == 0, sample
    assert sample.reason.startswith("SAMPLE ONLY")


def test_every_field_matters_and_so_does_the_digest() -> None:
    """Breaks: a certificate altered after it was sealed would still be accepted."""
    text, companion = small()
    content = json.loads(text)
    for path in places(content):
        verdict = verdict_on(put(content, path, altered), companion)
        assert verdict.code == 1, path


def test_altered_and_sealed_again_is_refused() -> None:
    """Breaks: whoever recomputes digest and sentences after an alteration could state what is not so."""
    text, companion = small()
    content = json.loads(text)
    skipped = {"digest", "statement", "hypotheses", "does_not_establish", "made_by"}
    tried = 0
    for path in places(content):
        if path[0] in skipped or path in FREE:
            continue
        try:
            forged = sealed_prime(put(content, path, altered))
        except (IndexError, KeyError):  # no sentences for a prime that is not there
            continue
        assert verdict_on(forged, companion).code == 1, path
        tried += 1
    assert tried > 60


def test_every_key_is_needed_and_no_other_is_taken() -> None:
    """Breaks: fields that are not looked at, or defaults for missing ones."""
    text, companion = small()
    content = json.loads(text)
    for path in [("",), *{p[:-1] for p in places(content) if p[:-1]}]:
        inner: Any = content
        for key in path if path != ("",) else ():
            inner = inner[key]
        if not isinstance(inner, dict) or path == ("made_by",):
            continue
        for key in inner:
            kept = {k: x for k, x in inner.items() if k != key}
            for other in (kept, {**inner, "more": 1}):
                whole = other if path == ("",) else put(content, path, lambda _, other=other: other)
                assert verdict_on(whole, companion).code == 1, (path, key)


def test_every_byte_of_the_companion_matters() -> None:
    """Breaks: integers that are not those of the answers."""
    text, companion = small()
    content = json.loads(text)
    for k in range(len(companion)):
        other = bytearray(companion)
        other[k] ^= 1 << (k % 8)
        verdict = verdict_on(text, bytes(other))
        assert verdict.code == 1
        assert "altered" in verdict.reason or "outside the range" in verdict.reason
        if k % 5 == 0:  # with the digest that belongs to it, the integers themselves are refused
            content["companion"]["sha256"] = sha256(other).hexdigest()
            assert verdict_on(sealed_prime(content), bytes(other)).code == 1


def test_a_layer_equal_modulo_one_prime_is_refused() -> None:
    """Breaks: exact integers: with p - 1 added, answers are the same modulo p, not modulo the others."""
    text, companion = small()
    content = json.loads(text)
    width = content["companion"]["score_width"]
    start = 18
    entry = int.from_bytes(companion[start : start + width], "little", signed=True)
    other = entry + (content["primes"][0]["prime"] - 1) * (-1 if entry > 0 else 1)
    forged = companion[:start] + other.to_bytes(width, "little", signed=True) + companion[start + width :]
    content["companion"]["sha256"] = sha256(forged).hexdigest()
    verdict = verdict_on(sealed_prime(content), forged)
    assert verdict.reason.startswith("answers[1].root")


def test_missing_and_foreign_companions() -> None:
    """Breaks: a certificate without its integers, or beside those of another layer, would be accepted."""
    text, companion = small()
    missing = verdict_on(text, None)
    assert missing.code == 1
    assert "layer.json.heads beside the certificate cannot be read" in missing.reason
    assert "has not the" in verdict_on(text, companion + b"\0").reason
    _, foreign = certified(random_layer(3, 4, 2), BlockPlan(3, 4, 0, True))
    assert "altered" in verdict_on(text, foreign).reason
    assert "check the certificate as a file" in check_data(json.loads(text)).reason


@pytest.mark.parametrize(
    "name", ["../layer.json.heads", "/etc/passwd", "a/b", "..", ".hidden", "", "a\\b", 7]
)
def test_companions_lie_beside_the_certificate(name: Any) -> None:
    """Breaks: a certificate could have any file read."""
    content = changed(lambda x: x["companion"].update(name=name))
    assert "companion.name" in verdict_on(content, small()[1]).reason


def test_a_pipe_is_no_companion(tmp_path: Path) -> None:
    """Breaks: the checker would wait forever."""
    file = tmp_path / "layer.json"
    file.write_text(small()[0])
    os.mkfifo(f"{file}.heads")
    assert "has not the" in check_file(file).reason


def forged_opening(x: Content) -> None:
    opening = x["answers"][0]["openings"][2]
    numbers = table(opening["scores"])
    numbers[3] = (numbers[3] + 1) % (x["primes"][0]["prime"] - 1)
    opening["scores"] = text_of(numbers)


def swapped_leaves(x: Content) -> None:
    openings = x["answers"][0]["openings"]
    first, second = openings[1], openings[2]
    first["scores"], second["scores"] = second["scores"], first["scores"]


def swapped_rows(x: Content) -> None:
    openings = x["answers"][0]["openings"]
    openings[1], openings[2] = openings[2], openings[1]


def forged_path(x: Content) -> None:
    path = x["answers"][0]["openings"][1]["path"]
    path[0] = altered(path[0])


def longer_path(x: Content) -> None:
    x["answers"][0]["openings"][1]["path"].append("0" * 64)


def fewer_openings(x: Content) -> None:
    x["answers"][0]["openings"].pop()


def wrong_root(x: Content) -> None:
    x["answers"][0]["root"] = altered(x["answers"][0]["root"])


def other_root(x: Content) -> None:
    x["answers"][0]["root"] = x["answers"][1]["root"]


@pytest.mark.parametrize(
    "change",
    [forged_opening, swapped_leaves, swapped_rows, forged_path, longer_path, fewer_openings, wrong_root,
     other_root],
)  # fmt: skip
@pytest.mark.parametrize("sample", [False, True])
def test_forged_openings(change: Any, sample: bool) -> None:
    """Breaks: openings of rows that are not under the root."""
    verdict = verdict_on(changed(change), small()[1], sample=sample)
    assert verdict.code == 1
    assert verdict.reason.startswith("answers[0]")


@pytest.mark.parametrize(
    ("p", "g", "reason"),
    [
        (2**31 - 2**27 + 1, 5, "order"),  # 15 * 2^27 + 1 itself, with no generator
        (2**30 + 1, 3, "order"),  # composite, p - 1 smooth
        (2147483647 - 18, 3, "prime factor above 31"),
        (2147483629, 2, "prime factor above 31"),
        (2**31 + 1, 3, "must be an integer"),
        (WORD_PRIMES[0], WORD_PRIMES[0] - 1, "order"),
        (WORD_PRIMES[0], 1, "must be an integer"),
    ],
)
def test_numbers_that_are_no_primes_with_generators(p: int, g: int, reason: str) -> None:
    """Breaks: g^s would not tell scores apart, or residues would have no inverses."""

    def change(x: Content) -> None:
        x["primes"][0] = {"prime": p, "generator": g}

    verdict = verdict_on(changed(change), small()[1])
    assert verdict.code == 1
    assert verdict.reason.startswith("primes[0]")
    assert reason in verdict.reason


def test_a_prime_counts_once() -> None:
    """Breaks: a prime listed twice would square the range of the integers."""
    verdict = verdict_on(changed(lambda x: x["primes"].append(dict(x["primes"][0]))), small()[1])
    assert "listed twice" in verdict.reason


def test_answers_of_some_primes_only_are_said_to_be_so() -> None:
    """Breaks: a certificate with answers modulo one prime would claim what needs all of them."""
    text, companion = small()
    whole = json.loads(text)
    assert any("gives the answers under the roots modulo all" in s for s in whole["statement"])

    def change(x: Content) -> None:
        x["answers"].pop()

    part = changed(change)
    assert verdict_on(part, companion).code == 0
    assert not any("gives the answers under the roots modulo all" in s for s in part["statement"])
    assert any(h["id"] == "other-primes" and h["status"] == "assumed" for h in part["hypotheses"])


@pytest.mark.parametrize("kind", ["equal matrices", "zero residue", "equal modulo p - 1"])
def test_heads_that_collide(kind: str, tmp_path: Path) -> None:
    """Breaks: heads that these queries do not tell apart would be certified."""
    layer = random_layer(2, 3, 5)
    found = recover_trained(layer)
    p = found.runs[0].field.prime
    if kind == "equal matrices":
        layer.W[1], found.W[1] = layer.W[0], found.W[0]
    elif kind == "zero residue":
        layer.v[0], found.v[0] = 0, 0
    else:
        layer.W[1], found.W[1] = layer.W[0] + p - 1, found.W[0] + p - 1
    with pytest.raises(CertificateError, match=r"same pole|cannot be told apart|exceptional probe"):
        write_prime_certificate(found, BlockPlan(2, 3, 0, True), layer, tmp_path / "layer.json")
    assert not list(tmp_path.iterdir())


def rows_of(scores: list[int], residues: list[list[int]], p: int, *, bias: bool = False) -> Rows:
    return Rows.of(residue_field(p, 31), bias, residues, scores, 12345, len(scores))


def test_labels_that_two_heads_share() -> None:
    """Breaks: scores and residues that add up crosswise: two layers could give the same answers."""
    p = WORD_PRIMES[0]
    crossed = Row(0, [[1, 2], [12, 11]], 5)  # 1 + 12 = 2 + 11: merged in the column probe
    with pytest.raises(Exception, match="same pole"):
        rows_of([1, 2], [[3, 4], [5, 6]], p).answers(crossed)
    # scores of sums 0, 2, 5; the 2 is also 2 + 0, of heads 2 and 0: residues decide
    confused = Row(0, [[0, 1, 2], [0, 1, 3]], 5)
    rows_of([0, 1, 2], [[1, 2, 4], [8, 9, 11]], p).answers(confused)
    with pytest.raises(Exception, match="column probe 2: the labels"):
        rows_of([0, 1, 2], [[1, 2, 4], [7, 9, 11]], p).answers(confused)
    # joined scores 0, 4, 3; the 3 is also 3 + 0, of heads 1 and 0
    row = Row(1, [[0, 1, 2]], 5)
    rows_of([0, 3, 1], [[8, 9, 7]], p).answers(row)
    with pytest.raises(Exception, match="row probe: the labels"):
        rows_of([0, 3, 1], [[8, 8, 8]], p).answers(row)


def test_values_are_those_of_the_formula() -> None:
    """Breaks: answers; compared with sums of fractions in python-flint, one by one."""
    p = WORD_PRIMES[0]
    rng = np.random.default_rng(7)
    for K in (1, 2, 5):
        r, c = (rng.integers(1, p, K).tolist() for _ in range(2))
        rows = rows_of([0] * K, [c], p)
        found = rows.values("here", 99, r, c)
        for m, value in enumerate(found, 1):
            total = sum((nmod(x, p) / nmod(m + y, p) for x, y in zip(c, r, strict=True)), nmod(0, p))
            assert value == int(nmod(99, p) - m * total)
    with pytest.raises(Exception, match="denominator vanishes"):
        rows_of([0, 0], [[1, 2]], p).values("here", 99, [p - 2, 5], [1, 2])


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8, 13])
def test_paths_lead_to_the_root_from_their_own_leaf_only(rows: int) -> None:
    """Breaks: rows could be swapped, or inner nodes taken for leaves."""
    leaves = [leaf(i, bytes([i])) for i in range(rows)]
    root = root_of(leaves)
    for i in range(rows):
        path = path_of(leaves, i)
        assert root_from_path(i, rows, leaves[i], path) == root
        for k in range(rows):
            if k != i:
                assert root_from_path(k, rows, leaves[i], path) != root
        assert root_from_path(i, rows, leaves[i], [*path, root]) is None
    assert leaf(0, b"") != leaf(1, b"")


def test_processes_give_the_same_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks: checks of large layers, which several processes share, refusals included."""
    monkeypatch.setattr(prime, "ALONE", 1)
    monkeypatch.setattr(prime.os, "cpu_count", lambda: 2)
    text, companion = small()
    assert verdict_on(text, companion).code == 0
    with pytest.raises(Exception, match="same pole"):
        prime.all_leaves(collided())


def collided() -> prime.Table:
    """The table of a certificate whose heads 0 and 1 were made equal."""
    content = prime.read_content(json.loads(small()[0]))
    d = content.shape.dim
    shown = list(range(5, 5 + d))
    rows = [[x + i for x in [*shown, *shown, *range(100, 100 + d)]] for i in range(content.shape.rows)]
    return prime.Table.of(content.answered[0], rows)


def test_only_the_standard_library() -> None:
    """Breaks: the independence of the checker."""
    for file in FOLDER.glob("prime*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert all(alias.name.split(".")[0] in sys.stdlib_module_names for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                assert str(node.module).split(".")[0] in sys.stdlib_module_names


def test_a_copy_of_the_folder_checks_alone(tmp_path: Path) -> None:
    """Breaks: checking without the project, by python -m and with --sample."""
    copytree(FOLDER, tmp_path / "folder", ignore=lambda *_: ["__pycache__"])
    text, companion = small()
    (tmp_path / "layer.json").write_text(text)
    (tmp_path / "layer.json.heads").write_bytes(companion)
    for options, expected in (([], "valid: layer.json: recovery of 3"), (["--sample"], "SAMPLE ONLY")):
        command = [sys.executable, "-S", "-m", "folder", *options, "layer.json"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert expected in done.stdout


def test_other_kinds_have_no_sample() -> None:
    """Breaks: --sample would check less of a certificate that has no sample."""
    accepted = sorted((Path(__file__).parent / "corpus" / "accepted").glob("*.json"))
    assert "have no sample" in check_file(accepted[0], sample=True).reason
