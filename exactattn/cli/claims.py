"""exactattn claims: the published claims, decided by running their evidence."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import sympy
import typer
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Table

from exactattn.certificate import write_certificate
from exactattn.cli.console import print_json, stderr, stdout
from exactattn.exceptions import InputError, Interrupted
from exactattn.ledger import Claim, Decided, Step, Verdict, decide, load_claims, select
from exactattn.ledger.render import decided_data, verdicts_markdown

__all__ = ["claims"]

COLOURS = {
    Verdict.PROVED: "green",
    Verdict.PROVED_FOR: "green",
    Verdict.REFUTED: "red",
    Verdict.UNKNOWN: "yellow",
    Verdict.OUT_OF_SCOPE: "bright_black",
}


def claims(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Claims to show in full; all in a table if none.")
    ] = None,
    paper: Annotated[
        str | None,
        typer.Option(help="Only claims of this paper: its letter (I, Q, Q1, A, P) or arXiv number."),
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="A Markdown table of verdicts.")] = False,
    certificate: Annotated[
        Path | None, typer.Option(help="Folder to write the certificates of the evidence to.")
    ] = None,
) -> None:
    """Decides published claims; exit code 1 if a verdict is not the one in the claim's file."""
    known = load_claims()
    chosen = select(known, ids or [], paper)
    with _progress() as begun:
        decided = list(decide(chosen, known, begun))
    if certificate is not None:
        _write_certificates(decided, certificate)
    if json_output:
        print_json([decided_data(each) for each in decided])
    elif markdown:
        sys.stdout.write(verdicts_markdown(decided))
    elif ids:
        for each in decided:
            _show(each)
    else:
        stdout.print(_table(decided))
    surprising = [each.claim.id for each in decided if not each.as_expected]
    if surprising:
        stderr.print(
            f"not as written in the claim's file: {', '.join(surprising)}", highlight=False, markup=False
        )
        raise typer.Exit(1)


@contextmanager
def _progress() -> Iterator[Callable[[Claim], None] | None]:
    """Names the claim whose evidence runs, on a terminal."""
    try:
        if not sys.stderr.isatty():
            yield None
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=stderr, transient=True) as bars:
            task = bars.add_task("", total=None)
            yield lambda claim: bars.update(task, description=escape(f"{claim.id}: {claim.says}")[:100])
    except KeyboardInterrupt:
        raise Interrupted("interrupted; no verdict was written") from None


def _table(decided: list[Decided]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("id", no_wrap=True)
    table.add_column("claim", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    for each in decided:
        table.add_row(each.claim.id, escape(each.claim.says), _coloured(each), f"{each.seconds:.2f}")
    counts = [
        f"{sum(each.outcome.verdict is verdict for each in decided)} {verdict.value}" for verdict in Verdict
    ]
    table.caption = f"{len(decided)} claims: {', '.join(counts)}"
    return table


def _coloured(each: Decided) -> str:
    verdict = each.outcome.verdict
    mark = "" if each.as_expected else f" (was: {each.claim.expected.value})"
    return f"[{COLOURS[verdict]}]{verdict.value}[/]{mark}"


def _show(each: Decided) -> None:
    """Everything about one claim."""
    claim, outcome = each.claim, each.outcome
    stdout.print(f"[bold]{claim.id}[/bold]  {_coloured(each)}", highlight=False)
    _lines("", [claim.says])
    _lines("source", [f"{claim.paper.source}; {claim.place}"])
    _statement(claim)
    _lines("hypotheses", claim.hypotheses)
    _lines("verdict", [f"{outcome.verdict.value}: {outcome.verdict.meaning}", outcome.by])
    _lines("proved for", outcome.scope)
    _lines("checked", [_step(step) for step in outcome.steps])
    if outcome.checked:
        _lines("instances", [f"{outcome.checked}, of which {outcome.vacuous} vacuous"])
    if outcome.counterexample is not None:
        found = outcome.counterexample
        values = [f"{name} = {text}" for name, text in found.texts().items()]
        _lines("counterexample", [found.says, *values, f"smallest: {found.smallest}"])
    _lines("corrected", [claim.corrected] if claim.corrected else [])
    _lines("does not establish", claim.does_not_establish)
    _lines("depends on", claim.depends_on)
    _lines("seconds", [f"{each.seconds:.2f}"])
    stdout.print()


def _step(step: Step) -> str:
    """A step in one line: its mark, what it says, how it was checked and on what."""
    detail = f": {step.detail}" if step.detail else ""
    return f"{'✓' if step.holds else '✗'} {step.says}  [{step.how}{detail}]"


def _statement(claim: Claim) -> None:
    for number, part in enumerate(claim.statement):
        text = sympy.pretty(part, use_unicode=True, wrap_line=False)
        _lines("statement" if number == 0 else "", text.split("\n"))


def _lines(name: str, lines: Sequence[str]) -> None:
    """A name and its lines, the first beside it."""
    for number, line in enumerate(lines):
        grid = Table.grid(padding=(0, 2))
        grid.add_column(width=18, no_wrap=True, style="bold")
        grid.add_column(overflow="fold")
        grid.add_row(name if number == 0 else "", escape(line))
        stdout.print(grid, highlight=False)


def _write_certificates(decided: list[Decided], folder: Path) -> None:
    """CLAIM-1.json, CLAIM-2.json, … for each claim whose evidence has certificates."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"is not a folder that can be written to ({error.strerror})", file=folder) from None
    written = 0
    for each in decided:
        for number, content in enumerate(each.outcome.certificates, 1):
            write_certificate(content, folder / f"{each.claim.id}-{number}.json")
            written += 1
    stderr.print(f"wrote {written} certificates to {folder}", highlight=False, markup=False, soft_wrap=True)
