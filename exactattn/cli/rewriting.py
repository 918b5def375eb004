"""What the commands that rewrite a checkpoint share: the options, the run, and the table of layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from flint import arb, fmpq
from rich.table import Table

from exactattn.checkpoint import (
    AttentionWeights,
    Moved,
    WrittenLayer,
    bound_text,
    open_checkpoint,
    transform_checkpoint,
)
from exactattn.cli.console import print_json, progress_bars, stdout
from exactattn.exceptions import InputError, Interrupted
from exactattn.numbers import rational

__all__ = ["Config", "Input", "Json", "Output", "Rewriting", "TokenNorm"]

Input = Annotated[
    Path, typer.Argument(metavar="IN", help="A .safetensors file, an index of shards, or their directory.")
]
Output = Annotated[Path, typer.Option("-o", "--output", help="Where to write; never the input.")]
Config = Annotated[Path | None, typer.Option(help="The model's config.json; default: the one beside IN.")]
TokenNorm = Annotated[
    str | None, typer.Option(help="Bound on the norm of tokens, where the model's own norms give none.")
]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]


@dataclass(frozen=True)
class Rewriting:
    """One run: what is done to every layer of ``source``."""

    source: Path
    output: Path
    config: Path | None
    token_norm: str | None
    transformation: Callable[[AttentionWeights], Moved]

    def run(self, done: str, json_output: bool) -> None:
        """Rewrite the checkpoint, and print what was done to each layer."""
        norm = None if self.token_norm is None else _norm(self.token_norm)
        checkpoint = open_checkpoint(self.source, self.config)
        layers: list[WrittenLayer] = []
        try:
            with progress_bars(not json_output) as progress:
                if progress is not None:
                    progress.stage("layers", len(checkpoint.layers))
                for layer in transform_checkpoint(
                    checkpoint, self.transformation, self.output, config=self.config, token_norm=norm
                ):
                    layers.append(layer)
                    if progress is not None:
                        progress.advance(1)
        except Interrupted:
            raise Interrupted("interrupted; nothing was written") from None
        if json_output:
            print_json({"output": str(self.output), "layers": [_data(layer) for layer in layers]})
        else:
            stdout.print(_table(layers, f"{checkpoint.model.family}, {len(layers)} layers {done}"))
            for note in _notes(layers):
                stdout.print(note, highlight=False, markup=False)
            stdout.print(f"written to {self.output}", highlight=False, markup=False)


def _norm(text: str) -> fmpq:
    try:
        return rational(text)
    except InputError as error:
        raise InputError(str(error), field="--token-norm") from None


def _table(layers: list[WrittenLayer], title: str) -> Table:
    table = Table(title=f"[bold]{title}", title_justify="left", box=None, pad_edge=False)
    for name in ("layer", "β before", "β after", "|Δ scores| ≤", "|Δ W_O W_V| ≤", "|Δ output| ≤"):
        table.add_column(name, justify="left" if name == "layer" else "right")
    for layer in layers:
        change = layer.change
        scores = [head.score_bound for head in change.heads]
        table.add_row(
            change.name,
            f"{layer.imbalance_before:.2g}",
            f"{layer.imbalance_after:.2g}",
            _largest(scores),
            _largest([arb(head.value_squared).sqrt() for head in change.heads]),
            bound_text(change.output_bound),
        )
    return table


def _notes(layers: list[WrittenLayer]) -> list[str]:
    """Each thing to note once, with the layers it is about."""
    found: dict[str, list[str]] = {}
    for layer in layers:
        reasons = [f"no bound on the output: {layer.change.no_bound}"] if layer.change.no_bound else []
        for note in [*layer.notes, *reasons]:
            found.setdefault(note, []).append(layer.change.name)
    return [
        f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {note}"
        for note, names in found.items()
    ]


def _largest(bounds: list[arb | None]) -> str:
    known = [x for x in bounds if x is not None]
    return "–" if len(known) < len(bounds) else bound_text(max(known, key=lambda x: x.upper().mid().fmpq()))


def _data(layer: WrittenLayer) -> dict[str, Any]:
    change = layer.change
    return {
        "layer": change.layer,
        "name": change.name,
        "imbalance_before": layer.imbalance_before,
        "imbalance_after": layer.imbalance_after,
        "exactly_unchanged": change.unchanged,
        "output_bound": None if change.output_bound is None else bound_text(change.output_bound),
        "no_bound": change.no_bound,
        "constant_change": _root(change.constant_squared),
        "inner_change": _root(change.inner_squared),
        "heads": [
            {
                "head": number,
                "score_matrix_change": _root(head.score_squared),
                "value_output_change": _root(head.value_squared),
                "score_bound": None if head.score_bound is None else bound_text(head.score_bound),
                "output_bound": None if head.output_bound is None else bound_text(head.output_bound),
            }
            for number, head in enumerate(change.heads)
        ],
        "notes": list(layer.notes),
    }


def _root(squared: fmpq) -> str:
    return bound_text(arb(squared).sqrt())
