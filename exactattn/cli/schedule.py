"""exactattn schedule: a progressive head schedule against the uniform layout."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from flint import fmpq
from rich.markup import escape
from rich.table import Table

from exactattn.allocate import PUBLISHED, HeadSchedule, schedule_chart, schedule_cost, unidentified_share
from exactattn.allocate.costs import LayerCost, layer_cost
from exactattn.cli.console import print_json, stdout
from exactattn.exceptions import InputError
from exactattn.identify.notation import formula_text, grouped, percent_text
from exactattn.model.files import write_file
from exactattn.numbers import rational_text

__all__ = ["schedule"]

NAMES = ", ".join(PUBLISHED)


def schedule(
    heads: Annotated[str, typer.Argument(help=f"Head counts such as 3,3,6,6,8,8,12x6, or a name: {NAMES}.")],
    width: Annotated[
        int | None, typer.Option(help="Width of the model; a named schedule has its own.")
    ] = None,
    base: Annotated[
        int | None, typer.Option(help="Head count to end at, and of the uniform layout; default: the last.")
    ] = None,
    bias: Annotated[bool, typer.Option(help="Biases in all four projections.")] = False,
    causal: Annotated[bool, typer.Option(help="Count only the scores a causal mask leaves.")] = False,
    picture: Annotated[Path | None, typer.Option(help="SVG file to draw the schedule to.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Rules kept or broken, exact costs as polynomials in the sequence length T, and identified shares."""
    chosen = _schedule(heads, width, base)
    if picture is not None:
        write_file(schedule_chart(chosen), picture)
    sides = [chosen, chosen.uniform()] if chosen.width % chosen.base_heads == 0 else [chosen]
    figures = [_figures(each, bias=bias, causal=causal) for each in sides]
    if json_output:
        print_json(_data(chosen, figures, bias=bias, causal=causal))
        return
    stdout.print(_rules_table(chosen))
    stdout.print(_figures_table(figures))
    stdout.print(_layers_table(chosen, bias=bias, causal=causal))


def _schedule(text: str, width: int | None, base: int | None) -> HeadSchedule:
    named = PUBLISHED.get(text.lower())
    if named is not None:
        if width not in (None, named.width) or base not in (None, named.base):
            raise InputError(f"{text} has width {named.width} and base {named.base}; drop --width and --base")
        return named
    if any(c.isalpha() for c in text.replace("x", "")):
        raise InputError(f"there is no schedule {text[:40]!r}; names are {NAMES}", field="schedule")
    if width is None:
        raise InputError("is needed beside head counts", field="--width")
    return HeadSchedule.parse(text, width, base)


def _or_none(compute: Callable[[], Any]) -> Any:
    """None where a figure is not defined: head counts that do not divide the width, odd rotated sizes."""
    try:
        return compute()
    except InputError:
        return None


def _figures(schedule: HeadSchedule, *, bias: bool, causal: bool) -> dict[str, Any]:
    """Name → exact value of every figure of the comparison."""
    cost: LayerCost | None = _or_none(partial(schedule_cost, schedule, bias=bias, causal=causal))
    shares = {
        rotary: _or_none(partial(unidentified_share, schedule, rotary=rotary, bias=bias))
        for rotary in (False, True)
    }
    return {
        "heads": sum(schedule.heads),
        "parameters": None if cost is None else int(cost.parameters),
        "multiply_adds": None if cost is None else cost.multiply_adds,
        "exponentials": None if cost is None else cost.exponentials,
        "cache": None if cost is None else cost.cache,
        "unidentified": shares[False],
        "unidentified_with_rope": shares[True],
    }


LABELS = {
    "heads": "heads in all layers, Σh",
    "parameters": "attention parameters",
    "multiply_adds": "multiply-adds",
    "exponentials": "exponentials",
    "cache": "key/value cache, numbers",
    "unidentified": "unidentified share",
    "unidentified_with_rope": "unidentified share with RoPE",
}


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, fmpq):
        return f"{percent_text(value)} = {rational_text(value)}"
    return grouped(value) if isinstance(value, int) else formula_text(value)


def _rules_table(schedule: HeadSchedule) -> Table:
    title = f"{schedule.name or 'schedule'} {schedule.text}, width {schedule.width}"
    table = Table(title=f"[bold]{escape(title)}", title_justify="left", box=None, pad_edge=False)
    for name in ("rule", "", "", "found"):
        table.add_column(name)
    for rule in schedule.rules():
        verdict = "[green]kept" if rule.holds else "[red]broken"
        found = f"{rule.detail} (by definition)" if rule.by_definition else rule.detail
        table.add_row(rule.name, verdict, rule.says, found)
    return table


def _figures_table(figures: list[dict[str, Any]]) -> Table:
    table = Table(title="\n[bold]all layers", title_justify="left", box=None, pad_edge=False)
    for name in ("", "schedule", "uniform")[: 1 + len(figures)]:
        table.add_column(name, justify="left" if not name else "right")
    for key, label in LABELS.items():
        table.add_row(label, *(_text(side[key]) for side in figures))
    return table


def _layers_table(schedule: HeadSchedule, *, bias: bool, causal: bool) -> Table:
    table = Table(title="\n[bold]one layer", title_justify="left", box=None, pad_edge=False)
    for name in (
        "heads",
        "layers",
        "head size",
        "parameters",
        "multiply-adds",
        "exponentials",
        "unidentified",
    ):
        table.add_column(name, justify="right")
    for heads, count in schedule.stages:
        if schedule.width % heads:
            table.add_row(str(heads), str(count), "–", "–", "–", "–", "–")
            continue
        cost = layer_cost(schedule.width, heads, bias=bias, causal=causal)
        share = unidentified_share(HeadSchedule(schedule.width, (heads,)), bias=bias)
        table.add_row(
            str(heads),
            str(count),
            str(schedule.width // heads),
            grouped(int(cost.parameters)),
            formula_text(cost.multiply_adds),
            formula_text(cost.exponentials),
            percent_text(share),
        )
    return table


def _data(
    schedule: HeadSchedule, figures: list[dict[str, Any]], *, bias: bool, causal: bool
) -> dict[str, Any]:
    """Polynomials and shares as text: "18432*T**2 + …", "7/96"."""

    def plain(side: dict[str, Any]) -> dict[str, Any]:
        return {k: v if v is None or isinstance(v, int) else str(v) for k, v in side.items()}

    return {
        "name": schedule.name or None,
        "schedule": schedule.text,
        "heads_per_layer": list(schedule.heads),
        "width": schedule.width,
        "base": schedule.base_heads,
        "bias": bias,
        "causal": causal,
        "rules": [
            {
                "rule": r.name,
                "says": r.says,
                "holds": r.holds,
                "found": r.detail,
                "by_definition": r.by_definition,
            }
            for r in schedule.rules()
        ],
        "figures": plain(figures[0]),
        "uniform": plain(figures[1]) if len(figures) > 1 else None,
    }
