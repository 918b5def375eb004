"""The command bound: its numbers are those of the library, and robust queries gain digits."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from error_samples import LATTICE, sample_layer
from typer.testing import CliRunner

from exactattn.cli import command_line
from exactattn.errors import bound_report
from exactattn.exceptions import InputError
from exactattn.model import Attention, save_layer
from exactattn.numbers import Balls
from exactattn.recovery import TokenRange


def run(*arguments: str) -> Any:
    """The JSON output of exactattn bound."""
    result = CliRunner().invoke(command_line(), ["bound", *arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    ("heads", "dim", "seeds"),
    [
        (2, 2, range(2)),
        (2, 3, range(1)),
        pytest.param(2, 2, range(5), marks=pytest.mark.slow),
        pytest.param(2, 3, range(5), marks=pytest.mark.slow),
        pytest.param(3, 3, range(5), marks=pytest.mark.slow),
        pytest.param(4, 4, range(5), marks=pytest.mark.slow),
    ],
)
def test_robust_queries_lower_the_constant(tmp_path: Path, heads: int, dim: int, seeds: range) -> None:
    """If this fails, robust queries do not gain a digit at the same longest sequence."""
    for seed in seeds:
        file = tmp_path / f"{seed}.json"
        save_layer(sample_layer(heads, dim, seed), file)
        plain, robust = run(str(file)), run(str(file), "--robust")
        assert robust["log10_constant"] <= plain["log10_constant"] - 1
        assert robust["longest"] == plain["longest"] == 2 * heads + 1
        assert robust["queries"] == plain["queries"] + dim - 1
        assert robust["default"]["log10_constant"] == plain["log10_constant"]
        assert robust["log10_minimax"] <= robust["log10_reached"]
        assert plain["limited_by"] in {"poles", "residues", "matching", "sharpness"}
        assert plain["probe"]


def test_digits_needed_follow_from_constant_and_epsilon0(tmp_path: Path) -> None:
    """If this fails, a user is told too few digits for the accuracy that is wanted."""
    file = tmp_path / "layer.json"
    save_layer(sample_layer(2, 2, 1), file)
    for digits in (1, 30):
        found = run(str(file), "--digits", str(digits))
        needed = found["answer_digits_needed"]
        assert needed >= digits + found["log10_constant"]
        assert needed >= -found["log10_epsilon0"]
        wanted = max(digits + found["log10_constant"], -found["log10_epsilon0"])
        assert needed <= math.ceil(wanted + 0.001)


def test_other_methods_and_balls(tmp_path: Path) -> None:
    """If this fails, the optimal method, direct queries or base e have no constants."""
    layer = sample_layer(2, 2, 1)
    file = tmp_path / "layer.json"
    save_layer(layer, file)
    optimal = run(str(file), "--method", "optimal")
    assert optimal["queries"] == 12
    assert optimal["epsilon0"] == "unknown"
    assert optimal["log10_epsilon0"] is None
    assert optimal["log10_constant"] is None
    assert optimal["first_order_only"] is True
    assert optimal["answer_digits_needed"] == math.ceil(6 + optimal["log10_first_order"])
    told = CliRunner().invoke(command_line(), ["bound", str(file), "--method", "optimal"])
    assert re.search(r"ε0 +unknown", told.stdout)
    assert "to first order" in told.stdout
    direct = run(str(file), "--method", "direct")
    assert direct["queries"] == 30
    balls = run(str(file), "--numbers", "balls", "--radius", "1")
    assert balls["first_order"] is None
    assert run(str(file), "--radius", "1")["tokens"] == TokenRange(1, 1).to_json()
    shown = CliRunner().invoke(command_line(), ["bound", str(file), "--robust"], catch_exceptions=False)
    assert "digits; price: +1 queries, +0 tokens" in shown.stdout


def test_layers_with_biases(tmp_path: Path) -> None:
    """If this fails, layers with biases have no bounds, or robust queries do not lower them."""
    heads = [{"W": [[1, -1], [2, 1], [0, -1]], "v": [1, 2]}, {"W": [[-1, 1], [0, 1], [1, 2]], "v": [2, -1]}]
    data = {"format": "exactattn-biased-model", "version": 1, "dim": 2, "constant": "7/3", "heads": heads}
    file = tmp_path / "biased.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    plain, robust = run(str(file), "--bias"), run(str(file), "--bias", "--robust")
    assert plain["queries"] == 4 * 2 * 4 + 4 * 2 * 2 - 2 * 2 + 1
    assert plain["log10_epsilon0"] < 0
    assert robust["log10_constant"] < plain["log10_constant"] - 1
    assert robust["longest"] == plain["longest"] == 5


def test_bounds_that_make_no_sense_are_refused() -> None:
    """If this fails, the zero layer, or robust queries of the optimal method, get a number."""
    layer = sample_layer(2, 2, 1)
    with pytest.raises(InputError, match="zero function"):
        bound_report(Attention.of([], 2), LATTICE)
    with pytest.raises(InputError, match="leave out"):
        bound_report(layer, LATTICE, method="optimal", robust=True)
    with pytest.raises(InputError, match="at least 2H"):
        bound_report(layer, LATTICE, robust=True, longest=4)


def test_constants_over_balls_are_those_of_the_lattice() -> None:
    """If this fails, exact constants and those by balls differ: the lattice layer is the base-e layer with
    matrices D·log 2·W; with W = 0 and one head both are the same."""
    layer = Attention.of([type(sample_layer(1, 2, 1).heads[0]).of([[0, 0], [0, 0]], [1, 2])])
    tokens = TokenRange(2, 2)
    exact = bound_report(layer, LATTICE, tokens=tokens)
    balls = bound_report(layer, Balls(256), tokens=tokens)
    assert exact.log10_first_order == pytest.approx(balls.log10_first_order, abs=1e-12)
    assert exact.epsilon0 == balls.epsilon0
