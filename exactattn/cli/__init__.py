"""The command line: one file a noun, thin; results on stdout, progress and messages on stderr.

Exit codes: 0 done, 1 a certificate was refused, 2 a named error (one sentence on stderr).
"""

from __future__ import annotations

import sys

import typer
from rich.console import Console
from rich.markup import escape

from exactattn.cli.allocate import allocate
from exactattn.cli.bound import bound
from exactattn.cli.budget import budget
from exactattn.cli.check import check
from exactattn.cli.claims import claims
from exactattn.cli.count import count
from exactattn.cli.model import app as model_app
from exactattn.cli.plan import plan
from exactattn.cli.recover import recover
from exactattn.cli.report import report
from exactattn.cli.schedule import schedule
from exactattn.exceptions import ExactAttnError

__all__ = ["app", "main"]

app = typer.Typer(
    help="Exact, certified statements about attention.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(model_app, name="model")
app.command()(recover)
app.command()(plan)
app.command()(check)
app.command()(count)
app.command()(claims)
app.command()(allocate)
app.command()(bound)
app.command()(budget)
app.command()(schedule)
app.command()(report)


def main() -> None:
    """Runs the command line; every named error becomes one sentence and exit code 2."""
    try:
        app()
    except ExactAttnError as error:
        sentence = escape(" ".join(str(error).split()))
        Console(stderr=True, soft_wrap=True).print(f"[red]error:[/red] {sentence}", highlight=False)
        sys.exit(2)
