"""exactattn recover --output-error: enclosures, certificates, refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from error_samples import sample_layer
from flint import arb, fmpq
from float_digits import float_layer
from typer.testing import CliRunner

from exactattn.checker import check_file
from exactattn.cli import command_line
from exactattn.errors import noise_tokens
from exactattn.exceptions import ErrorsTooLarge, InputError
from exactattn.model import evaluate, save_layer
from exactattn.numbers import Balls, rational, rational_text
from exactattn.recovery import PublishedPlan


def run(*arguments: str) -> Any:
    """What exactattn recover prints."""
    result = CliRunner().invoke(command_line(["recover"]), ["recover", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A float64 layer of two heads."""
    save_layer(float_layer(2, 2), tmp_path / "layer.json")
    return str(tmp_path / "layer.json")


def test_recover_with_output_error(model: str, tmp_path: Path) -> None:
    """If this fails, a stated error is ignored, or the enclosures get no certificate."""
    certificate = tmp_path / "certificate.json"
    found = json.loads(run(model, "--output-error", "1e-12", "--certificate", str(certificate), "--json"))
    assert found["matches_model"] is True
    assert found["queries"] == 29
    assert found["digits"] >= 4
    verdict = check_file(certificate)
    assert verdict.code == 0
    assert "public model" in verdict.reason
    better = json.loads(run(model, "--output-error", "1e-12", "--robust", "--json"))
    assert better["matches_model"] is True
    assert better["longest"] == 5
    longer = json.loads(run(model, "--output-error", "1e-12", "--robust", "--longest", "40", "--json"))
    assert 5 < longer["longest"] <= 40
    shown = run(model, "--output-error", "1e-12")
    assert "every true parameter lies in its enclosure" in " ".join(shown.split())


def test_ball_runs_have_certificates(model: str, tmp_path: Path) -> None:
    """If this fails, a run over balls has no certificate, or one that the checker refuses."""
    certificate = tmp_path / "certificate.json"
    run(model, "--certificate", str(certificate), "--digits", "20")
    assert check_file(certificate).code == 0


@pytest.fixture
def biased_model(tmp_path: Path) -> str:
    """A layer of two heads with query biases and a constant output."""
    heads = [
        {"W": [["1/3", -1], ["3/2", 1], [0, "-1/5"]], "v": [1, 2]},
        {"W": [[-1, 1], [0, "4/5"], [1, "1/2"]], "v": [2, -1]},
    ]
    data = {"format": "exactattn-biased-model", "version": 1, "dim": 2, "constant": "7/3", "heads": heads}
    (tmp_path / "biased.json").write_text(json.dumps(data), encoding="utf-8")
    return str(tmp_path / "biased.json")


@pytest.mark.parametrize("options", [["--output-error", "1e-16"], ["--output-error", "1e-14", "--robust"]])
def test_layers_with_biases_are_enclosed_and_certified(
    biased_model: str, tmp_path: Path, options: list[str]
) -> None:
    """If this fails, query biases or the constant output are lost under errors, or get no certificate."""
    certificate = tmp_path / "certificate.json"
    found = json.loads(run(biased_model, "--bias", *options, "--certificate", str(certificate), "--json"))
    assert found["matches_model"] is True
    assert all(len(head["W"]) == 3 for head in found["heads"])
    assert found["constant"].startswith("[2.333")
    verdict = check_file(certificate)
    assert verdict.code == 0
    assert "public model" in verdict.reason
    shown = " ".join(run(biased_model, "--bias", *options).split())
    assert "query bias of head 1" in shown
    assert "constant output" in shown


def test_ball_runs_with_biases_have_certificates(biased_model: str, tmp_path: Path) -> None:
    """If this fails, a run over balls with biases has no certificate, or one that the checker refuses."""
    certificate = tmp_path / "certificate.json"
    run(biased_model, "--bias", "--numbers", "balls", "--certificate", str(certificate))
    assert check_file(certificate).code == 0


def test_lattice_runs_with_errors_have_certificates(tmp_path: Path) -> None:
    """If this fails, enclosures in base 2 have no certificate, or one about base e."""
    save_layer(sample_layer(2, 2, 1), tmp_path / "layer.json")
    certificate = tmp_path / "certificate.json"
    options = ["--numbers", "lattice", "--output-error", "1e-12", "--certificate", str(certificate)]
    found = json.loads(run(str(tmp_path / "layer.json"), *options, "--json"))
    assert found["matches_model"] is True
    assert check_file(certificate).code == 0
    statement = " ".join(json.loads(certificate.read_text(encoding="utf-8"))["statement"])
    assert "softmax weights 2^(1*s)" in statement
    assert "base e" not in statement


def test_recorded_answers_may_carry_their_own_errors(tmp_path: Path) -> None:
    """If this fails, answers given as intervals are taken as exact, or need a stated error besides."""
    layer, plan = float_layer(2, 2), PublishedPlan.draw(2, 2, 0, noise_tokens(Balls(), 2))
    lines = []
    for query in plan.queries():
        value = evaluate(layer, query, Balls(200)).mid().fmpq() * 2**60
        middle = rational_text(fmpq(value.p // value.q, 2**60))
        lines.append(
            json.dumps({"query": query.to_json(), "value": middle, "error": "1/1152921504606846976"})
        )
    (tmp_path / "answers.jsonl").write_text("\n".join(lines), encoding="utf-8")
    certificate = tmp_path / "certificate.json"
    arguments = ["--answers", str(tmp_path / "answers.jsonl"), "--dim", "2", "--heads-bound", "2"]
    found = json.loads(run(*arguments, "--output-error", "0", "--certificate", str(certificate), "--json"))
    assert fmpq(1, 2**60) <= rational(found["output_error"]) < fmpq(101, 100 * 2**60)
    assert found["digits"] >= 12
    assert check_file(certificate).code == 0
    for head in layer.canonical().heads:
        true = [x for row in (*head.W, head.v) for x in row]
        shown = [[text for row in (*h["W"], h["v"]) for text in row] for h in found["heads"]]
        assert sum(all(arb(t).contains(x) for t, x in zip(texts, true, strict=True)) for texts in shown) == 1


def test_a_bound_above_the_number_of_heads_is_undecidable(model: str) -> None:
    """If this fails, noise passes for a head: no error bound proves that there is no third head, and the
    Hankel matrix proves two of them."""
    command = command_line(["recover"])
    for options in (["--output-error", "1e-12"], ["--output-error", "1e-12", "--robust"]):
        result = CliRunner().invoke(command, ["recover", model, "--heads-bound", "3", *options])
        assert isinstance(result.exception, ErrorsTooLarge)
        assert "prove at least 2 of 3 heads" in str(result.exception)
    loud = CliRunner().invoke(command, ["recover", model, "--heads-bound", "3", "--output-error", "0.01"])
    assert isinstance(loud.exception, ErrorsTooLarge)
    assert re.search(r"prove at least [01] of 3 heads", str(loud.exception))


def test_what_cannot_be_told_is_an_error(model: str) -> None:
    """If this fails, hopeless noise ends in numbers, or options without meaning are accepted."""
    command = command_line(["recover"])
    for arguments, error in (
        (["--output-error", "0.1"], ErrorsTooLarge),
        (["--output-error", "1e-9", "--method", "optimal"], InputError),
        (["--robust"], InputError),
        (["--longest", "9"], InputError),
        (["--output-error", "1e-9", "--heads", "auto"], InputError),
    ):
        result = CliRunner().invoke(command, ["recover", model, *arguments])
        assert isinstance(result.exception, error), arguments
