"""Hostile files: too large, too deep, too long, or made to keep the checker busy."""

from __future__ import annotations

import copy
import json
import time
from pathlib import Path
from typing import Any

import pytest

from exactattn.checker import Verdict, check, check_data, check_file

ACCEPTED = Path(__file__).parent / "corpus" / "accepted"
SECONDS = 5.0  # a refusal takes milliseconds; quadratic work on these files would take minutes


def sample(name: str = "two-heads-not-public") -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ACCEPTED / f"{name}.json").read_text(encoding="utf-8"))
    return content


def resealed(certificate: dict[str, Any]) -> dict[str, Any]:
    """With the sentences and the digest that belong to it."""
    content = {key: x for key, x in certificate.items() if key != "digest"}
    content |= check.recovery_texts(content)
    return {**content, "digest": check.digest(content)}


def timed(certificate: dict[str, Any]) -> Verdict:
    started = time.process_time()
    verdict = check_data(certificate)
    assert time.process_time() - started < SECONDS
    return verdict


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"\xef\xbb\xbf{}", "is not JSON"),
        (b'{"a": 1} {"b": 2}', "is not JSON"),
        (b"[" * 10**6, "nests deeper than 12"),
        (b"[" * 900 + b"]" * 900, "nests deeper than 12"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "nests deeper than 12"),
        (b"[" + b"[]," * (1 << 20) + b"[]]", "holds more than 2097152 values"),
        (b"[" + b"0," * (1 << 21) + b"0]", "holds more than 2097152 values"),
        (b"[" + b'"",' * (1 << 21) + b"0]", "holds more than 2097152 values"),
    ],
    ids=range(11),
)
def test_unreadable(tmp_path: Path, content: bytes, reason: str) -> None:
    """If it fails, a file that is no certificate ends the checker with an error or fills the memory."""
    file = tmp_path / "file.json"
    file.write_bytes(content)
    verdict = check_file(file)
    assert verdict.code == 2
    assert reason in verdict.reason


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it fails, a missing, wrong or oversized file is not exit code 2."""
    assert check_file(tmp_path / "missing.json") == Verdict(2, "No such file or directory")
    assert check_file(tmp_path) == Verdict(2, "Is a directory")
    monkeypatch.setattr(check, "MAX_FILE_BYTES", 1000)
    verdict = check_file(ACCEPTED / "two-heads.json")
    assert verdict == Verdict(2, "is larger than 1000 bytes")


@pytest.mark.parametrize(
    "digits",
    ["1" * (1 << 23), "0x" + "f" * (1 << 23), "1/0x" + "f" * (1 << 23)],
    ids=["decimal", "hexadecimal", "denominator"],
)
@pytest.mark.parametrize("place", ["denominator", "answers"])
def test_huge_numbers(digits: str, place: str) -> None:
    """If it fails, a number of many megabytes is read, or its digits are printed."""
    certificate = sample()
    if place == "answers":
        certificate["answers"][3] = digits
    else:
        certificate["denominator"] = digits
    verdict = timed(resealed(certificate))
    assert verdict.code == 1
    assert "bits" in verdict.reason
    assert len(verdict.reason) < 200


def test_number_of_bits_is_limited_exactly() -> None:
    """If it fails, the stated limit on parameters is not the one in force."""
    for bits, reason in (
        (check.MAX_BITS, "exponents of 2 are too large"),
        (check.MAX_BITS + 1, "has more than"),
    ):
        certificate = sample()
        certificate["heads"][1]["W"][0][0] = hex((1 << bits) - 1)
        assert reason in timed(resealed(certificate)).reason


def test_exponents_are_limited_before_powers_are_computed() -> None:
    """If it fails, a small file makes the checker compute with numbers of gigabytes."""
    certificate = sample("bound-above-heads-not-public")
    certificate["heads"][1]["W"][0][0] = str(check.MAX_EXPONENT_SUM)
    verdict = timed(resealed(certificate))
    assert (verdict.code, "the exponents of 2 are too large" in verdict.reason) == (1, True)


def test_denominators_that_share_nothing() -> None:
    """If it fails, common denominators grow with the number of entries until they fill the memory."""
    primes = [p for p in range(10**4, 10**4 + 9000, 2) if all(p % q for q in range(3, 150, 2))]
    inverse = sample()
    inverse["dim"] = dim = 32
    inverse["heads_bound"] = 1
    inverse["formula"] = inverse["queries"] = 4 * dim**2 - 1
    inverse["longest"] = 3
    inverse["plan"]["draws"] = [{"b": [0] * dim, "u": [0] * dim}]
    entries = [f"1/{p}" for p in primes][: dim * dim]
    fill = [str(k) for k in range(dim * dim - len(entries))]
    flat = entries + fill
    rows = [flat[dim * i : dim * (i + 1)] for i in range(dim)]
    tokens = inverse["plan"]["tokens"]
    seed = inverse["plan"]["seed"]
    for name, radius in (("b", tokens["last"]), ("u", tokens["difference"])):
        vectors = check.drawn(seed, name, [0] * dim, dim, radius)
        inverse[name] = [[str(x) for x in row] for row in vectors]
        inverse[f"{name}_inverse"] = rows
    verdict = timed(resealed(inverse))
    assert verdict.reason == "b_inverse: the common denominator has more than 8192 bits"


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("heads_bound",), 1 << 62, "heads_bound: is"),
        (("dim",), 1 << 62, "dim: is"),
        (("heads_bound",), 1 << 10, "queries: is 29, must be"),
        (("dim",), 1 << 7, "plan.draws[0].b: must be a list of 128 items"),
        (
            ("plan", "draws"),
            [{"b": [k, 0], "u": [0, 0]} for k in range(257)],
            "plan.draws: must be a list of 1",
        ),
        (("plan", "tokens", "last"), 1 << 63, "plan.tokens.last: is"),
        (("heads",), [{"W": [["1", "1"], ["1", "1"]], "v": ["1", "1"]}] * 5000, "heads: must be a list of 0"),
        (
            ("model",),
            {"heads": [{"W": [["1", "1"], ["1", "1"]], "v": ["1", "1"]}] * 5000},
            "model.heads: must be",
        ),
        (("answers",), ["0"] * 10**5, "answers: must be a list of 29 items"),
        (("made_by",), {str(k): "" for k in range(17)}, "made_by: must be an object with at most 16 keys"),
    ],
    ids=range(10),
)
def test_sizes_are_limited(path: tuple[str, ...], value: Any, reason: str) -> None:
    """If it fails, a small file can claim sizes that keep the checker busy."""
    certificate = copy.deepcopy(sample())
    place = certificate
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    verdict = timed(resealed(certificate))
    assert verdict.code == 1
    assert reason in verdict.reason


def test_many_queries_over_many_draws() -> None:
    """If it fails, the product of draws and queries is not limited."""
    certificate = sample()
    certificate["heads_bound"] = 1 << 10
    certificate["plan"]["draws"] = [{"b": [k, 0], "u": [0, 0]} for k in range(256)]
    assert timed(resealed(certificate)).reason == "plan.draws: has more than 262144 queries"


def test_values_are_counted() -> None:
    """If it fails, a certificate given as Python values may be larger than one in a file."""
    many = {"format": "exactattn-certificate", "answers": [None] * check.MAX_VALUES}
    assert check_data(many) == Verdict(2, f"holds more than {check.MAX_VALUES} values")
