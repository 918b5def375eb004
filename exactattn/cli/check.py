"""exactattn check: the independent checker on certificate files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exactattn.checker.check import main as run_checker

__all__ = ["check"]


def check(
    files: Annotated[list[Path], typer.Argument(help="Certificates.")],
    sample: Annotated[
        bool,
        typer.Option("--sample", help="Recoveries in prime fields: only the rows opened, no companion file."),
    ] = False,
) -> None:
    """Checks certificates; exit code 0 valid, 1 refused with the reason, 2 unreadable."""
    raise typer.Exit(run_checker([*(["--sample"] if sample else []), *(str(f) for f in files)]))
