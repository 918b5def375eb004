"""exactattn allocate: the smallest certified rank of every head of a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from flint import arb, fmpq
from rich.markup import escape
from rich.table import Table

from exactattn.allocate import LayerAllocation, allocation_chart, open_model
from exactattn.allocate import allocate as run_allocation
from exactattn.allocate.allocation import upper_text
from exactattn.cli.console import print_json, progress_bars, stdout
from exactattn.exceptions import InputError, Interrupted
from exactattn.identify.notation import grouped, percent_text
from exactattn.model.files import write_file
from exactattn.numbers import rational, rational_text

__all__ = ["allocate"]


def allocate(
    weights: Annotated[
        Path,
        typer.Argument(help="Weights (.safetensors, .npz) of a BERT-, GPT-2-, BLOOM- or ViT-like model."),
    ],
    tolerance: Annotated[
        str, typer.Option(help="Largest bound, as a share of the diameter of a head's values (0 to 1).")
    ],
    absolute: Annotated[
        bool, typer.Option(help="The tolerance is a distance in the layer's output instead.")
    ] = False,
    heads: Annotated[int | None, typer.Option(help="Number of heads of a layer.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="The model's config.json; default: the one beside WEIGHTS.")
    ] = None,
    token_norm: Annotated[
        str | None, typer.Option(help="Bound on the norm of tokens, instead of the model's own layer norms.")
    ] = None,
    layer: Annotated[list[int] | None, typer.Option(help="Only this layer, from 0; may be repeated.")] = None,
    picture: Annotated[Path | None, typer.Option(help="SVG file for spectra and ranks over layers.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """The smallest rank of each head whose certified output bound meets the tolerance.

    The bound holds for all sequences of tokens that the layer can meet, however long.
    """
    limit = _number("--tolerance", tolerance)
    norm = None if token_norm is None else _number("--token-norm", token_norm)
    model = open_model(weights, heads=heads, config=config)
    try:
        with progress_bars(not json_output) as progress:
            found = []
            if progress is not None:
                progress.stage("layers", len(layer or range(model.depth)))
            for each in run_allocation(model, limit, token_norm=norm, absolute=absolute, layers=layer):
                found.append(each)
                if progress is not None:
                    progress.advance(1)
    except Interrupted:
        raise Interrupted("interrupted; choose fewer layers with --layer") from None
    if json_output:
        print_json(
            {
                "layout": model.layout.name,
                "tolerance": rational_text(limit),
                "measure": "distance in the output" if absolute else "share of the diameter of the values",
                "token_norm": None if norm is None else rational_text(norm),
                "parameters": sum(x.parameters for x in found),
                "saved": sum(x.saved for x in found),
                "layers": [x.data() for x in found],
            }
        )
    else:
        _show(found, f"{model.layout.name}, {model.heads} heads, tolerance {tolerance}")
    if picture is not None:
        write_file(allocation_chart(found), picture)


def _show(found: list[LayerAllocation], title: str) -> None:
    total, saved = sum(x.parameters for x in found), sum(x.saved for x in found)
    stdout.print(_table(found, title))
    stdout.print(
        f"\nquery/key weights saved: {grouped(saved)} of {grouped(total)}"
        f" ({percent_text(rational(saved) / total)})",
        highlight=False,
    )
    if saved == 0:
        stdout.print(_why_nothing(found), highlight=False, markup=False)


def _number(option: str, text: str) -> fmpq:
    """The number an option gives. Raises InputError with the option."""
    try:
        return rational(text)
    except InputError as error:
        raise InputError(str(error), field=option) from None


def _table(layers: list[LayerAllocation], title: str) -> Table:
    """One row a layer: the ranks of its heads, the largest bounds, and what is saved."""
    table = Table(title=f"[bold]{escape(title)}", title_justify="left", box=None, pad_edge=False)
    for name in ("layer", "head size", "certified rank of each head", "scores ±", "attention", "saved"):
        table.add_column(name, justify="left" if "rank" in name else "right")
    for layer in layers:
        kept = layer.heads
        table.add_row(
            str(layer.index),
            str(kept[0].bounds.weights.size),
            " ".join(str(head.rank) for head in kept),
            upper_text(max((h.bounds.score_change(h.rank) for h in kept), key=_upper), 4),
            upper_text(max((h.bounds.attention_change(h.rank) for h in kept), key=_upper), 4),
            grouped(layer.saved),
        )
    return table


def _why_nothing(layers: list[LayerAllocation]) -> str:
    """The head that comes closest to losing a dimension, and by how much its scores could then move."""
    change, layer, head = min(
        (_upper(head.bounds.score_change(head.rank - 1)), layer.index, number)
        for layer in layers
        for number, head in enumerate(layer.heads)
    )
    return (
        f"one dimension fewer moves scores by up to ±{upper_text(arb(change), 3)} (layer {layer}, head "
        f"{head}, the least); the bound covers every token the layer can meet, --token-norm smaller ones"
    )


def _upper(x: arb) -> fmpq:
    return x.upper().mid().fmpq()
