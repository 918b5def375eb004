"""What the commands share: consoles, progress bars, JSON output."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flint import fmpq
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from exactattn.exceptions import Interrupted
from exactattn.numbers import rational_text
from exactattn.recovery import Progress as ProgressReport

__all__ = [
    "conclude",
    "facts_table",
    "head_tables",
    "number_text",
    "print_heads",
    "print_json",
    "progress_bars",
    "stderr",
    "stdout",
]

SHOWN = 8

stdout = Console()
stderr = Console(stderr=True)


class _Bars:
    """Progress bars on stderr, one a stage."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._task: Any = None

    def stage(self, name: str, total: int) -> None:
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(name, total=total)

    def advance(self, steps: int) -> None:
        self._bars.advance(self._task, steps)


@contextmanager
def progress_bars(
    shown: bool, keeps: str = "a transcript keeps every answer"
) -> Iterator[ProgressReport | None]:
    """Progress bars while the block runs (none when ``shown`` is false or stderr is not a terminal).

    Ctrl-C in the block raises Interrupted, which says what ``keeps`` the work done.
    """
    columns = (TextColumn("{task.description:>8}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        if shown and sys.stderr.isatty():
            with Progress(*columns, console=stderr, transient=True) as bars:
                yield _Bars(bars)
        else:
            yield None
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {keeps}, run again to go on") from None


def facts_table(title: str, facts: list[tuple[str, str]]) -> Table:
    """Two aligned columns: names and values."""
    table = Table(
        title=f"[bold]{escape(title)}", title_justify="left", show_header=False, box=None, pad_edge=False
    )
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        table.add_row(name, escape(value))
    return table


def head_tables(
    heads: Sequence[tuple[Sequence[Sequence[Any]], Sequence[Any]]], labels: Sequence[str] = ()
) -> Iterator[Table]:
    """One table a head, W beside v; at most eight heads and eight rows and columns of each."""
    for number, (W, v) in enumerate(heads[:SHOWN], 1):
        label = labels[number - 1] if labels else f"head {number}"
        table = Table(title=f"\n[bold]{escape(label)}", title_justify="left", box=None, pad_edge=False)
        for column in range(min(len(v), SHOWN)):
            table.add_column("W" if column == 0 else "", justify="right", no_wrap=True)
        table.add_column("  v", justify="right", no_wrap=True)
        for row, entry in list(zip(W, v, strict=True))[:SHOWN]:
            table.add_row(*(number_text(x) for x in row[:SHOWN]), f"  {number_text(entry)}")
        if len(v) > SHOWN:
            table.caption = f"the first {SHOWN} of {len(v)} rows and columns"
        yield table
    if len(heads) > SHOWN:
        yield Table(title=f"… and {len(heads) - SHOWN} more heads", title_justify="left", box=None)


def print_heads(heads: Sequence[tuple[Sequence[Sequence[Any]], Sequence[Any]]]) -> None:
    """The tables of heads on stdout; query biases, a first row of W that v has no entry for, come before."""
    for number, (W, v) in enumerate(heads, 1):
        if len(W) > len(v):
            bias = ", ".join(number_text(x) for x in W[0])
            stdout.print(f"query bias of head {number}: ({bias})", markup=False, highlight=False)
    for table in head_tables([(W[-len(v) :], v) for W, v in heads]):
        stdout.print(table)


def conclude(
    certificate: Path | None,
    json_output: bool,
    *,
    certify: Callable[[Path], None],
    summary: Callable[[], Any],
    show: Callable[[], None],
) -> None:
    """The end of a run: the certificate is written, if one is wanted, then the result printed.

    That order keeps the certificate when the reader closes the pipe; the result is printed also if there is
    no certificate to be had, before the reason.
    """
    try:
        if certificate is not None:
            certify(certificate)
    finally:
        if json_output:
            print_json(summary())
        else:
            show()
    if certificate is not None and not json_output:
        stdout.print(
            f"\ncertificate: {certificate} (check it with: exactattn check {certificate})", markup=False
        )


def number_text(x: Any) -> str:
    """An exact rational in full, a ball to ten digits."""
    return rational_text(x) if isinstance(x, fmpq) else str(x.str(10, radius=False))


def print_json(data: Any) -> None:
    """Machine-readable output on stdout."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
