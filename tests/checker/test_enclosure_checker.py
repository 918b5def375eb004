"""Enclosure certificates: ball runs and noisy runs are accepted, and no changed certificate is."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from enclosure_cases import CORPUS, float_layer, noisy_run, resealed
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import exactattn.checker
from exactattn.certificate import ball_certificate
from exactattn.certificate.enclosure import enclosure_schema
from exactattn.checker import check_data, check_file
from exactattn.checker.real_bounds import exp, log, up
from exactattn.exceptions import CertificateError
from exactattn.model import random_layer
from exactattn.numbers import rational_text
from exactattn.oracle import ExactOracle
from exactattn.recovery import recover


@pytest.fixture(scope="module")
def certificate() -> dict[str, Any]:
    """The certificate of a small float64 layer, with the layer as its public model."""
    layer = float_layer(2, 2)
    return ball_certificate(recover(ExactOracle(layer), 2, numbers="balls", digits=20), layer)


@pytest.fixture(scope="module")
def noisy_certificate() -> dict[str, Any]:
    """The certificate of answers with errors, direct and with other nodes, without a model."""
    return noisy_run()


def test_ball_and_noisy_runs_are_accepted(
    certificate: dict[str, Any], noisy_certificate: dict[str, Any]
) -> None:
    """If this fails, valid enclosures are refused, or the summary does not say what was proved."""
    verdict = check_data(json.loads(json.dumps(certificate)))
    assert verdict.code == 0
    assert "enclosure of 2 heads" in verdict.reason
    assert "public model" in verdict.reason
    assert check_data(noisy_certificate).code == 0
    assert {h["status"] for h in certificate["hypotheses"]} == {"verified", "verified for the model"}
    assert noisy_certificate["hypotheses"][-1]["status"] == "assumed"
    assert noisy_certificate["nodes"][0][0] == [1, 0]


@pytest.mark.parametrize("file", sorted((CORPUS / "accepted").glob("*.json")), ids=lambda file: file.stem)
def test_corpus_accepted(file: Path) -> None:
    """If this fails, a certificate of a true statement is turned away, or its schema does not fit it."""
    content = json.loads(file.read_text(encoding="utf-8"))
    assert check_file(file).code == 0
    Draft202012Validator(enclosure_schema()).validate(content)


REASONS = json.loads((CORPUS / "reasons.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(REASONS))
def test_corpus_refused(name: str) -> None:
    """If this fails, a false or badly written certificate passes, or the reason names another fault."""
    verdict = check_file(CORPUS / "refused" / f"{name}.json")
    assert verdict.code == 1
    assert REASONS[name] in verdict.reason


def test_corpus_is_complete() -> None:
    """If this fails, a refused file has no reason or a reason no file, or the schema is none."""
    assert {file.stem for file in (CORPUS / "refused").glob("*.json")} == set(REASONS)
    schema = enclosure_schema()
    Draft202012Validator.check_schema(schema)
    assert set(schema["required"]) == set(schema["properties"])


def places(x: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to all leaves."""
    if isinstance(x, dict | list):
        for key, y in x.items() if isinstance(x, dict) else enumerate(x):
            yield from places(y, (*path, key))
    else:
        yield path


def changed(content: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A copy with one leaf changed."""
    result = copy.deepcopy(content)
    place: Any = result
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return result


@pytest.mark.parametrize("name", ["two-heads", "biases", "base-2", "base-2-robust-biases"])
def test_no_leaf_can_be_changed(name: str) -> None:
    """If this fails, a changed certificate with its old digest is accepted."""
    certificate = json.loads((CORPUS / "accepted" / f"{name}.json").read_text(encoding="utf-8"))
    paths = list(places(certificate))
    for path in Random(1).sample(paths, 60):
        old: Any = certificate
        for key in path:
            old = old[key]
        for value in (None, "x", 7, [], True):
            if value != old:
                assert check_data(changed(certificate, path, value)).code != 0


def test_resealed_changes_are_refused_where_they_matter(certificate: dict[str, Any]) -> None:
    """If this fails, an adversary who rewrites digest and sentences passes with numbers that do not prove the
    statement: answers, poles, residues, bounds that are too small, centres, radii, tokens, the model."""

    def half(text: str) -> str:
        return rational_text(fmpq(*(int(p, 16 if "0x" in p else 10) for p in f"{text}/1".split("/")[:2])) / 2)

    for key, path in (
        ("answers", ("answers", 5)),
        ("pole", ("families", 1, "poles", 0)),
        ("residue", ("families", 6, "residues", 1)),
        ("pole bound", ("families", 2, "pole_bounds", 1)),
        ("residue bound", ("families", 0, "residue_bounds", 0)),
        ("centre", ("heads", 0, "W", 0, 1)),
        ("centre v", ("heads", 1, "v", 1)),
        ("radius", ("radii", 0, "W", 1, 0)),
        ("radius v", ("radii", 1, "v", 0)),
        ("token", ("b", 0, 0)),
        ("difference", ("u", 1, 1)),
        ("inverse", ("u_inverse", 0, 0)),
        ("error", ("error_with_rounding",)),
        ("model", ("model", "heads", 0, "W", 0, 0)),
        ("model v", ("model", "heads", 1, "v", 0)),
    ):
        old: Any = certificate
        for step in path:
            old = old[step]
        assert check_data(resealed(changed(certificate, path, half(old)))).code == 1, key
    for path, value in (
        (("nodes", 0, 0, 0), 5),
        (("nodes", 3, 1), [1, 1]),
        (("direct",), True),
        (("heads_bound",), 3),
        (("queries",), 30),
        (("longest",), 6),
        (("base",), "2"),
    ):
        assert check_data(resealed(changed(certificate, path, value))).code == 1, path
    swapped = copy.deepcopy(certificate)
    swapped["families"][2]["poles"].reverse()
    for key in ("residues", "pole_bounds", "residue_bounds"):
        swapped["families"][2][key].reverse()
    assert check_data(resealed(swapped)).code == 1


def test_larger_bounds_are_true_and_accepted(certificate: dict[str, Any]) -> None:
    """If this fails, the checker insists on one choice of numbers: wider radii prove a weaker statement."""
    wider = copy.deepcopy(certificate)
    wider["radii"][0]["W"][0][0] = "1/1000"
    assert check_data(resealed(wider)).code == 0


def test_certificates_that_cannot_be_written() -> None:
    """If this fails, a run that proves no enclosure gets a certificate."""
    layer = float_layer(2, 2)
    with pytest.raises(CertificateError, match="cannot be proved"):
        ball_certificate(recover(ExactOracle(layer), 3, numbers="balls", digits=5))
    lattice = random_layer(2, 2, seed=1)
    with pytest.raises(CertificateError, match="over balls"):
        ball_certificate(recover(ExactOracle(lattice), 2))
    other = float_layer(2, 3)
    with pytest.raises(CertificateError):
        ball_certificate(recover(ExactOracle(layer), 2, numbers="balls", digits=20), other)


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**12), st.integers(16, 300))
def test_logarithms_enclose(x: Fraction, bits: int) -> None:
    """If this fails, the checker's enclosure of a logarithm misses it, or is far too wide."""
    low, high = log(x, bits)
    with ctx.workprec(bits + 120):
        true = arb(fmpq(x.numerator, x.denominator)).log()
        assert arb(fmpq(low.numerator, low.denominator)) <= true
        assert true <= arb(fmpq(high.numerator, high.denominator))
    assert high - low < Fraction(4096, 2**bits)


@given(st.fractions(min_value=-200, max_value=200), st.integers(16, 300))
def test_exponentials_enclose(s: Fraction, bits: int) -> None:
    """The same for exponentials, relatively."""
    low, high = exp(s, bits)
    with ctx.workprec(bits + 600):
        true = arb(fmpq(s.numerator, s.denominator)).exp()
        assert arb(fmpq(low.numerator, low.denominator)) < true < arb(fmpq(high.numerator, high.denominator))
    assert 0 < high - low < low / 2**bits


@given(st.fractions(min_value=0))
def test_rounding_is_upward_and_small(x: Fraction) -> None:
    """If this fails, bounds are rounded the wrong way."""
    assert x <= up(x) <= x * (1 + Fraction(1, 2**190))


def test_checker_runs_without_the_package(tmp_path: Path, certificate: dict[str, Any]) -> None:
    """If this fails, the checker of enclosures needs more than its own folder and the standard library."""
    (tmp_path / "certificate.json").write_text(json.dumps(certificate))
    folder = Path(exactattn.checker.__file__).parent
    (tmp_path / "alone").symlink_to(folder)
    run = subprocess.run(
        [sys.executable, "-I", "-c", "import sys; sys.path.insert(0, '.'); import alone.check as c; "
         "import alone; sys.exit(c.main(['certificate.json']) or 'flint' in sys.modules)"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("valid")


@pytest.mark.slow
def test_float64_layer_with_six_heads_has_a_certificate() -> None:
    """If this fails, the certificate of the H = 6, d = 8 layer is refused, or one with another answer, pole,
    bound or radius is not (tests/benchmarks/enclosure_check_table.py tells how long the checker takes)."""
    layer = float_layer(6, 8)
    certificate = ball_certificate(recover(ExactOracle(layer), 6, numbers="balls", digits=20), layer)
    assert check_data(certificate).code == 0
    for path, value in (
        (("answers", 700), "1/3"),
        (("families", 90, "poles", 4), "1/7"),
        (("families", 3, "pole_bounds", 2), "1/0x1" + "0" * 200),
        (("radii", 5, "W", 7, 7), "1/0x1" + "0" * 200),
    ):
        assert check_data(resealed(changed(certificate, path, value))).code == 1, path
