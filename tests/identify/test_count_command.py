"""The command `count`: tables, comparison, JSON, LaTeX, and errors."""

from __future__ import annotations

import json

import pytest
import typer
from published_configs import GOLDENS, config
from typer.testing import CliRunner, Result

from exactattn.cli.count import count
from exactattn.exceptions import InputError

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(count)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def output(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_table_of_a_model() -> None:
    """Totals, folded layers, formulas or the legend would be missing from the table."""
    text = output(str(config("gpt2")))
    for piece in ("layers 0–11 × 12", "28 348 416", "1 198 080", "95.77 %", "D²·H", "D  query/key head size"):
        assert piece in text
    assert "with every ε = 0" not in text
    assert "with every ε = 0" in output(str(config("qwen3-8b")))


def test_norms_around_are_counted_on_request() -> None:
    """The block would be shown without its norms, or the bare layer with them."""
    assert "norm before: scales" not in output(str(config("gpt2")))
    assert "norm before: scales" in output(str(config("gpt2")), "--norms")


@pytest.mark.parametrize("name", ["deepseek-v3", "gemma-2-9b", "t5-small"])
def test_json(name: str) -> None:
    """Machine-readable totals would differ from the goldens, or layers not add up to them."""
    golden = json.loads(GOLDENS.read_text(encoding="utf-8"))[name]
    data = json.loads(output(str(config(name)), "--json"))
    for key in ("parameters", "unidentified", "identified", "ratio"):
        assert data[key] == golden[key]
    assert data["at_eps_0"]["unidentified"] == golden["unidentified_at_eps_0"]
    for key in ("parameters", "unidentified", "identified"):
        assert sum(layer["repeat"] * layer[key] for layer in data["layers"]) == data[key]
    for layer in data["layers"]:
        assert sum(part["unidentified"] for part in layer["parts"]) == layer["unidentified"]


def test_several_models_in_one_document() -> None:
    """Two models would give two JSON documents in a row."""
    data = json.loads(output(str(config("gpt2")), "--variant", "mha E=768 H=12", "--json"))
    assert [model["name"] for model in data["models"]] == ["gpt2", "mha E=768 H=12"]


def test_comparison() -> None:
    """The comparison would show other numbers than the counts, or the difference the wrong way round."""
    text = output("--compare", str(config("gpt2")), "gqa E=768 H=12 G=4 bias=qkvo layers=12")
    line = next(line for line in text.splitlines() if line.startswith("query/key"))
    assert line.split("  ")[0] == "query/key"
    assert "589 824" in line
    assert "196 608" in line
    assert "-393 216" in line


def test_latex() -> None:
    """The LaTeX table would lack a formula, or hold a bare special character."""
    text = output(str(config("gpt2")), "--latex")
    assert "$D^{2} H$" in text
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 1
    assert "--" in text
    assert "_" not in output("--variant", "mla E=8 H=2 r=4 r_q=4", "--latex").replace("r_{q}", "").replace(
        r"\_", ""
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "nothing to count"),
        (("--variant", "mha E=8 H=3"), "give D"),
        (("--json", "--latex", "--variant", "mha E=8 H=2"), "give one of"),
        (("--compare", "mha E=8 H=2", "mha E=8 H=4", "--variant", "mha E=8 H=1"), "drop the others"),
        (("absent.json",), "no such file"),
        (("--variant", "mha E=4 H=2 D=6 qknorm=rms:shared eps=0"), "no count is derived"),
    ],
)
def test_errors(arguments: tuple[str, ...], text: str) -> None:
    """A mistake would end in a traceback instead of a named error."""
    result = run(*arguments)
    assert isinstance(result.exception, InputError)
    assert text in str(result.exception)
    assert result.stdout == ""
