"""exactattn budget: heads against dimensions at a fixed H · d."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from exactattn.allocate import budget_chart, budget_line, pareto_front
from exactattn.cli.console import print_json, stdout
from exactattn.identify.notation import grouped, percent_text
from exactattn.model.files import write_file
from exactattn.numbers import rational_text

__all__ = ["budget"]


def budget(
    width: Annotated[int, typer.Argument(help="Width E of the layer.")],
    total: Annotated[int | None, typer.Option(help="The budget H·d; default: the width.")] = None,
    picture: Annotated[Path | None, typer.Option(help="SVG file to draw the line to.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Every split of a budget of heads times head size: rank of a head against identified parameters."""
    points = budget_line(width, width if total is None else total)
    front = set(pareto_front(points))
    if picture is not None:
        write_file(budget_chart(points), picture)
    if json_output:
        rows = [
            {
                "heads": p.heads,
                "head_size": p.head_size,
                "rank": p.rank,
                "parameters": p.parameters,
                "identified": p.identified,
                "share": rational_text(p.share),
                "pareto": p in front,
            }
            for p in points
        ]
        print_json(rows)
        return
    table = Table(
        title=f"[bold]width {width}, heads × size = {total or width}", title_justify="left", box=None
    )
    for name in ("heads", "head size", "rank", "query/key parameters", "identified", "share", "Pareto front"):
        table.add_column(name, justify="right")
    for p in points:
        numbers = (grouped(p.parameters), grouped(p.identified), percent_text(p.share))
        table.add_row(
            str(p.heads), str(p.head_size), str(p.rank), *numbers, "yes" if p in front else "dominated"
        )
    stdout.print(table)
