"""Formulas of large layers certified at small sizes, from Python and from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from flint import fmpq
from published_configs import CONFIGS
from rank_variants import of, rotary
from typer.testing import CliRunner

from exactattn.checker import check_file
from exactattn.cli.count import count
from exactattn.exceptions import CertificateError
from exactattn.identify import AttentionSpec, certified_formula, count_block, read_config
from exactattn.identify.certified_formula import certify_formula, like_sizes
from exactattn.identify.parameters import parameter_count

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(count)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_small_layers_are_certified_as_they_are() -> None:
    """Other sizes than those asked for would prove another statement."""
    spec = of(8, 2, rotary=rotary(4))
    found = certify_formula(spec)
    assert (found.given, found.proved) == (True, True)
    assert [each.spec for each in found.certificates] == [spec]


def test_like_sizes_keep_formula_and_divisibility() -> None:
    """A regime in which the formula is another one would prove nothing about the large layer."""
    spec = AttentionSpec.of(4096, 32, 8, rotary=rotary(128, base=fmpq(500000)))
    small = like_sizes(spec)
    assert len({parameter_count(each) for each in small}) == 3
    for each in small:
        assert count_block(each).unidentified_formula == count_block(spec).unidentified_formula
        assert each.width == each.heads * each.head_size == each.heads * each.rotated
        assert each.heads > each.groups > 1
        assert each.rotary is not None
        assert each.rotary.base == fmpq(500000)


def test_no_like_sizes_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing small has the formula, silence would look like a proof."""
    monkeypatch.setattr(certified_formula, "SMALL_ENOUGH", 10)
    with pytest.raises(CertificateError, match="no small sizes"):
        certify_formula(of(768, 12))


def published() -> list[AttentionSpec]:
    specs = [group.attention for path in CONFIGS for group in read_config(path).layers]
    return list(dict.fromkeys([*(spec.bare() for spec in specs), *specs]))


def test_every_published_layer_has_like_sizes() -> None:
    """Each formula printed for a published model can be certified, with its norms and without."""
    for spec in published():
        assert len(like_sizes(spec)) == 3


@pytest.mark.slow
def test_every_published_formula_is_proved() -> None:
    """The formulas behind the printed counts of all published models hold at three sizes each."""
    for spec in published():
        assert certify_formula(spec).proved


def test_command_names_the_sizes(tmp_path: Path) -> None:
    """The command must say which sizes were proved, and leave files that the checker accepts."""
    folder = tmp_path / "made" / "here"
    text = run("--variant", "mha E=4 H=2", "--variant", "mha E=768 H=12", "--certificates", str(folder))
    assert "layer: the count is proved at these sizes (E=4 H=2 G=2 D=2 C=2: 48 of 64 identified)" in text
    assert "too large to certify; the formula is proved at smaller sizes like these (E=2 H=2" in text
    files = sorted(folder.glob("*.json"))
    assert len(files) == 4
    assert all(check_file(path).code == 0 for path in files)


def test_command_in_json() -> None:
    """Programs read the verdict from the same place for every model."""
    data = json.loads(run("--variant", "gqa E=8 H=4 G=2 R=all bias=qkv", "--certify", "--json"))
    (entry,) = data["certified"]
    assert (entry["proved"], entry["at_the_given_sizes"]) == (True, True)
    assert entry["certificates"][0]["at_least"] == data["layers"][0]["identified"]


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """One sentence with the folder and the mend, not a traceback."""
    (tmp_path / "file").write_text("")
    folder = str(tmp_path / "file" / "x")
    result = CliRunner().invoke(app, ["--variant", "mha E=4 H=2", "--certificates", folder])
    assert "cannot be made" in str(result.exception)
