"""exactattn train: training runs that show what optimisers do to directions that do not matter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from exactattn.cli.console import print_json, progress_bars, stderr, stdout
from exactattn.exceptions import Interrupted
from exactattn.model.files import write_file

__all__ = ["train"]

FULL, QUICK = 1000, 150
COLUMNS = {"held-out loss": "held_out", "β at the end": "beta", "drift": "drift"}


def train(
    folder: Annotated[Path, typer.Argument(help="Folder that keeps finished runs; they are not made again.")],
    experiment: Annotated[
        list[str] | None,
        typer.Option(help="Only this one: optimisers, rates or schedules; may be repeated."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Seeds of each run: 0, 1, …")] = 5,
    steps: Annotated[int | None, typer.Option(help=f"Steps of each run; default {FULL}.")] = None,
    quick: Annotated[bool, typer.Option(help=f"{QUICK} steps and two seeds: a minute or two.")] = False,
    workers: Annotated[int, typer.Option(help="Processes, one thread each.")] = 2,
    json_output: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Trains small character models, measures β, ρ, τ, μ and bias gradients, and writes FOLDER/figures.json.

    Gradient descent, with weight decay, AdamW, AdamW with rebalancing; learning rates; head schedules.
    Figures are cross-checks with their spread over seeds, never verdicts. Needs the extra torch.
    """
    from exactattn.crosscheck.training.figures import figures
    from exactattn.crosscheck.training.settings import EXPERIMENTS, experiments
    from exactattn.crosscheck.training.store import run_all

    names = list(dict.fromkeys(experiment or EXPERIMENTS))
    length = steps if steps is not None else QUICK if quick else FULL
    chosen = experiments(names, seeds=2 if quick else seeds, steps=length)
    try:
        with progress_bars(not json_output) as progress:
            results = run_all(chosen, folder, workers=workers, progress=progress)
    except Interrupted:
        raise Interrupted("interrupted; finished runs are kept, run again to go on") from None
    found = figures(chosen, results)
    path = folder / "figures.json"
    write_file(json.dumps(found, indent=1, ensure_ascii=False) + "\n", path)
    if json_output:
        print_json(found)
        return
    for each in found["experiments"]:
        stdout.print(_table(each))
    stderr.print(
        f"wrote {path}; show it with exactattn report --training {path} -o report.html", markup=False
    )


def _table(experiment: dict[str, Any]) -> Table:
    """One row a run: mean ± standard deviation over seeds."""
    count = len(experiment["seeds"])
    start = experiment["runs"][0]["curves"]["beta"]
    title = f"{experiment['title']}, {count} seed{'s' if count > 1 else ''}"
    table = Table(title=f"\n[bold]{escape(title)}", title_justify="left", box=None, pad_edge=False)
    table.caption = f"β of the first run starts at {_with_spread(start, 0)}"
    table.add_column("run")
    for name in (*COLUMNS, "mean ρ", "key bias", "CPU s"):
        table.add_column(name, justify="right", no_wrap=True)
    for run in experiment["runs"]:
        curves = run["curves"]
        shares, gradients = curves["rho"]["mean"], curves["key_bias_gradient"]["mean"]
        table.add_row(
            escape(run["label"]),
            *(_with_spread(curves[name], -1) for name in COLUMNS.values()),
            f"{sum(shares) / len(shares):.1g}",
            f"{max(gradients):.0e}",
            f"{run['processor_seconds']:.0f}",
        )
    return table


def _with_spread(curve: dict[str, list[float]], place: int) -> str:
    return f"{curve['mean'][place]:.3g} ± {curve['spread'][place]:.1g}"
