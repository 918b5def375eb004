"""exactattn model new, exactattn model show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exactattn.cli.console import facts_table, head_tables, print_json, stdout
from exactattn.cli.transformer import new_transformer, show_transformer
from exactattn.exceptions import InputError
from exactattn.model import Attention, load_layer, random_layer, save_layer
from exactattn.model.transformer_files import is_transformer_file

__all__ = ["model"]

model = typer.Typer(help="Make and show layers with exact parameters.", no_args_is_help=True)


@model.command()
def new(
    heads: Annotated[int, typer.Option(help="Number of heads H.")],
    dim: Annotated[int, typer.Option(help="Token size d.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write (JSON).")],
    seed: Annotated[int, typer.Option(help="Seed of all random choices.")] = 0,
    duplicates: Annotated[int, typer.Option(help="Heads that repeat the W of another head.")] = 0,
    cancel: Annotated[int, typer.Option(help="Heads that cancel another head.")] = 0,
    size: Annotated[int, typer.Option(help="Entries are k/denominator with |k| ≤ size.")] = 5,
    denominator: Annotated[int, typer.Option(help="Common denominator of the entries.")] = 1,
    neurons: Annotated[
        int | None, typer.Option(help="Makes a Transformer: attention followed by so many ReLU neurons.")
    ] = None,
    residual: Annotated[bool, typer.Option("--residual", help="Transformer: with the last token.")] = False,
    bypass: Annotated[
        bool, typer.Option("--bypass", help="Transformer: with a linear path around the network.")
    ] = False,
) -> None:
    """Makes a random layer with planted duplicate and cancelling heads, or a random Transformer."""
    if neurons is not None:
        if duplicates or cancel or denominator != 1:
            raise InputError("goes without --duplicates, --cancel and --denominator", field="--neurons")
        new_transformer(heads, dim, neurons, output, seed=seed, size=size, residual=residual, bypass=bypass)
        return
    if residual or bypass:
        raise InputError("needs --neurons", field="--residual" if residual else "--bypass")
    layer = random_layer(
        heads, dim, seed=seed, duplicates=duplicates, cancel=cancel, size=size, denominator=denominator
    )
    save_layer(layer, output)
    stdout.print(f"wrote {output}: {_summary(layer)}, seed {seed}", highlight=False, markup=False)


@model.command()
def show(
    file: Annotated[Path, typer.Argument(help="Model file: .json, .npz or .safetensors.")],
    canonical: Annotated[bool, typer.Option(help="Show the canonical form instead.")] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Shows a layer: sizes, heads, and which heads are merged or cancelled; or a Transformer's form."""
    if is_transformer_file(file):
        show_transformer(file, json_output=json_output)
        return
    layer = load_layer(file)
    chosen = layer.canonical() if canonical else layer
    if json_output:
        print_json(
            {
                "name": layer.name,
                "dim": layer.dim,
                "heads": len(layer.heads),
                "canonical_heads": len(layer.canonical().heads),
                "denominator": str(layer.denominator()),
            }
        )
        return
    stdout.print(facts_table(str(file), [("layer", _summary(layer)), ("name", layer.name or "–")]))
    for table in head_tables([(h.W, h.v) for h in chosen.heads]):
        stdout.print(table)


def _summary(layer: Attention) -> str:
    count, kept = len(layer.heads), len(layer.canonical().heads)
    return f"{count} heads of token size {layer.dim}, {kept} in canonical form"
