"""The command line: one file a noun, thin; results on stdout, progress and messages on stderr.

Exit codes: 0 done, 1 a certificate was refused or a verdict is not the pinned one, 2 a named error (one
sentence on stderr).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module

import typer
from rich.console import Console
from rich.markup import escape

from exactattn.exceptions import ExactAttnError

__all__ = ["COMMANDS", "command_line", "main"]

COMMANDS = (
    "model",
    "recover",
    "plan",
    "check",
    "bound",
    "count",
    "claims",
    "report",
    "allocate",
    "budget",
    "schedule",
    "compare",
    "train",
    "rebalance",
    "canonicalize",
)


def command_line(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The commands of these names, each from the file of its name; only these files are imported."""
    app = typer.Typer(
        help="Exact, certified statements about attention.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(lambda: None)  # one command alone still goes by its name
    for name in names:
        found = getattr(import_module(f"exactattn.cli.{name}"), name)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.command(name)(found)
    return app


def main() -> None:
    """Runs the command line; every named error becomes one sentence and exit code 2."""
    wanted = sys.argv[1:2]
    try:
        command_line(wanted if wanted and wanted[0] in COMMANDS else COMMANDS)()
    except ExactAttnError as error:
        sentence = escape(" ".join(str(error).split()))
        Console(stderr=True, soft_wrap=True).print(f"[red]error:[/red] {sentence}", highlight=False)
        sys.exit(2)
