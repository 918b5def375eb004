"""exactattn count: identified and unidentified parameters of attention layers and models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from flint import fmpq
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from exactattn.cli.certified import certified_layers
from exactattn.cli.console import print_json, stdout
from exactattn.exceptions import InputError
from exactattn.identify import (
    ModelCount,
    ModelSpec,
    count_data,
    count_latex,
    count_model,
    parse_variant,
    read_config,
)
from exactattn.identify.notation import formula_text, grouped, legend_lines, percent_text, sizes_text
from exactattn.identify.variant import VARIANT_WORDS

__all__ = ["count"]

PLAIN_WIDTH = 150
VARIANT_HELP = (
    "A layer in words, such as 'mha E=768 H=12 bias=qkvo'; begins with mha, gqa, mqa or mla. Words: "
)


def count(
    configs: Annotated[list[Path] | None, typer.Argument(help="Published config.json files.")] = None,
    variant: Annotated[
        list[str] | None, typer.Option(help=VARIANT_HELP + ", ".join(VARIANT_WORDS) + ".")
    ] = None,
    compare: Annotated[
        tuple[str, str] | None, typer.Option(help="Two configs or variants, side by side.")
    ] = None,
    norms: Annotated[bool, typer.Option(help="Count each layer with the norms around it.")] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="A LaTeX table.")] = False,
    certify: Annotated[
        bool,
        typer.Option(
            help="Prove each formula by rank certificates, at these sizes or at smaller ones like them."
        ),
    ] = False,
    certificates: Annotated[
        Path | None, typer.Option(help="Folder for the certificates; implies --certify.", file_okay=False)
    ] = None,
) -> None:
    """Counts the attention parameters that data can determine, with a formula for each symmetry."""
    models = [read_config(path) for path in configs or ()] + [parse_variant(text) for text in variant or ()]
    if compare is not None:
        if models:
            raise InputError("takes the two to compare itself; drop the others", field="--compare")
        models = [_model(text) for text in compare]
    if not models:
        raise InputError("nothing to count; name a config.json, or give --variant or --compare")
    if json_output and latex:
        raise InputError("give one of --json and --latex", field="--json")
    certify = certify or certificates is not None
    if certify and latex:
        raise InputError("has no certificates in it; drop one of the two options", field="--latex")
    counts = [count_model(model, norms=norms) for model in models]
    proofs = certified_layers(counts, certificates) if certify else None
    if json_output:
        data = [count_data(each) for each in counts]
        if proofs is not None:
            data = [
                {**each, "certified": [proof.data() for proof in found]}
                for each, found in zip(data, proofs, strict=True)
            ]
        print_json(data[0] if len(data) == 1 else {"models": data})
    elif latex:
        typer.echo(count_latex(counts))
    elif compare is not None:
        _console().print(_comparison(counts))
    else:
        for each in counts:
            _console().print(_tree(each))
        _print_legend(counts)
    if proofs is not None and not json_output:
        for each, found in zip(counts, proofs, strict=True):
            _console().print(f"\n{each.model.name}: rank certificates", markup=False, highlight=False)
            for proof in found:
                _console().print(f"  {proof.sentence()}", markup=False, highlight=False, soft_wrap=True)


def _model(text: str) -> ModelSpec:
    """A config if there is such a file, else a variant."""
    return read_config(text) if text.endswith(".json") or Path(text).exists() else parse_variant(text)


def _console() -> Console:
    """Standard output; wide where it is a file or a pipe, so that nothing is folded there."""
    return stdout if stdout.is_terminal else Console(width=PLAIN_WIDTH)


def _print_legend(counts: Sequence[ModelCount]) -> None:
    groups = [group for each in counts for group in each.layers]
    lines = legend_lines([group.count for group in groups])
    lines.append("unidentified: directions in parameter space that change no output, whatever the input")
    _console().print("\n".join(lines), markup=False, highlight=False, style="dim", soft_wrap=True)


def _columns(title: str, *names: str) -> Table:
    table = Table(title=f"[bold]{escape(title)}", title_justify="left", box=None, pad_edge=False)
    table.add_column("", overflow="fold")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _row_numbers(parameters: int, unidentified: int) -> tuple[str, str, str, str]:
    identified = parameters - unidentified
    if not 0 <= identified <= parameters or parameters == 0:
        return grouped(parameters), grouped(unidentified), "", ""
    ratio = percent_text(fmpq(identified, parameters))
    return grouped(parameters), grouped(unidentified), grouped(identified), ratio


def _tree(counted: ModelCount) -> Table:
    """Totals, then each group of equal layers, then the parts of one layer."""
    title = f"{counted.model.name} ({counted.model.family})"
    table = _columns(title, "parameters", "unidentified", "identified", "ratio")
    table.add_column("formula", overflow="fold")
    reasons = _console().width >= PLAIN_WIDTH
    if reasons:
        table.add_column("free are", overflow="fold")

    def row(name: str, numbers: Sequence[str], formula: str = "", reason: str = "", style: str = "") -> None:
        table.add_row(name, *numbers, formula, *([reason] if reasons else []), style=style)

    row("all layers", _row_numbers(counted.parameters, counted.unidentified), style="bold")
    if counted.unidentified_at_zero != counted.unidentified:
        row("with every ε = 0", _row_numbers(counted.parameters, counted.unidentified_at_zero))
    for number, group in enumerate(counted.layers):
        count = group.count
        branch, trunk = ("└─", "  ") if number == len(counted.layers) - 1 else ("├─", "│ ")
        times = f" × {group.repeat}" if group.repeat > 1 else ""
        numbers = _row_numbers(count.parameters, count.unidentified)
        row(f"{branch} {escape(group.name)}{times}", numbers, sizes_text(count))
        for index, part in enumerate(count.parts):
            twig = "└─" if index == len(count.parts) - 1 else "├─"
            own = _row_numbers(count.number(part.parameters), count.number(part.unidentified))
            formula = formula_text(part.unidentified)
            row(f"{trunk} {twig} {part.name}", own, formula, part.reason, style="dim")
    return table


def _comparison(counts: Sequence[ModelCount]) -> Table:
    """Unidentified directions of two models, part by part, and their totals."""
    table = _columns("unidentified", *(each.model.name for each in counts), "difference")

    def row(name: str, values: Sequence[int], style: str = "") -> None:
        table.add_row(
            name, *(grouped(value) for value in values), grouped(values[1] - values[0]), style=style
        )

    sums: list[dict[str, int]] = []
    for each in counts:
        totals: dict[str, int] = {}
        for group in each.layers:
            for part in group.count.parts:
                value = group.repeat * group.count.number(part.unidentified)
                totals[part.name] = totals.get(part.name, 0) + value
        sums.append(totals)
    for name in dict.fromkeys([*sums[0], *sums[1]]):
        row(name, [totals.get(name, 0) for totals in sums], "dim")
    row("all unidentified", [each.unidentified for each in counts], "bold")
    row("with every ε = 0", [each.unidentified_at_zero for each in counts])
    row("parameters", [each.parameters for each in counts])
    row("identified", [each.identified for each in counts])
    table.add_row("ratio", *(percent_text(each.ratio) for each in counts), "")
    return table
