"""exactattn recover --output-error: enclosures, certificates, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from float_digits import float_layer
from typer.testing import CliRunner

from exactattn.checker import check_file
from exactattn.cli import command_line
from exactattn.exceptions import ErrorsTooLarge, InputError
from exactattn.model import save_layer


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


def test_what_cannot_be_told_is_an_error(model: str) -> None:
    """If this fails, hopeless noise ends in numbers, or options without meaning are accepted."""
    command = command_line(["recover"])
    for arguments, error in (
        (["--output-error", "0.1"], ErrorsTooLarge),
        (["--output-error", "1e-9", "--method", "optimal"], InputError),
        (["--robust"], InputError),
        (["--longest", "9"], InputError),
        (["--output-error", "1e-9", "--numbers", "lattice", "--certificate", "x.json"], InputError),
    ):
        result = CliRunner().invoke(command, ["recover", model, *arguments])
        assert isinstance(result.exception, error), arguments
