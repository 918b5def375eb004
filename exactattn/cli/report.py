"""exactattn report: decided claims and checked certificates on one page."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exactattn.cli.console import progress_bars, stderr
from exactattn.exceptions import InputError, Interrupted
from exactattn.identify import count_model, read_config
from exactattn.ledger import Decided, decide, load_claims, proofs_folder, select
from exactattn.model.files import write_file

if TYPE_CHECKING:
    from exactattn.certificate.report import Report

__all__ = ["report"]


def report(
    certificates: Annotated[list[Path] | None, typer.Argument(help="Certificate files to check.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="HTML file to write.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Markdown file to write.")] = None,
    claims: Annotated[
        bool, typer.Option("--claims/--no-claims", help="Decide the published claims and show them.")
    ] = True,
    claim: Annotated[list[str] | None, typer.Option(help="Only this claim (an id); may be repeated.")] = None,
    paper: Annotated[
        str | None,
        typer.Option(help="Only claims of this paper: its letter (I, Q, Q1, A, P) or arXiv number."),
    ] = None,
    config: Annotated[
        list[Path] | None, typer.Option(help="A model's config.json, counted; may be repeated.")
    ] = None,
    allocation: Annotated[
        list[Path] | None, typer.Option(help="Output of exactattn allocate --json; may be repeated.")
    ] = None,
    training: Annotated[
        list[Path] | None, typer.Option(help="Figures of exactattn train; may be repeated.")
    ] = None,
) -> None:
    """Writes one self-contained page: verdicts, evidence, certificates, charts, versions and digests.

    Exit code as for check: 1 if a certificate was refused or a verdict is not the one in its claim's file,
    2 if a file is unreadable; the page is written and says so.
    """
    from exactattn.certificate.report import (
        Report,
        read_allocation,
        read_training,
        report_html,
        report_markdown,
    )

    given = [*(certificates or ()), *(config or ()), *(allocation or ()), *(training or ())]
    outputs = _outputs(output, markdown, given)
    if not claims and (claim or paper):
        raise InputError("leaves no claims to choose; drop it, or --claim and --paper", field="--no-claims")
    models = [count_model(read_config(path)) for path in config or ()]
    allocations = [read_allocation(path) for path in allocation or ()]
    trainings = [read_training(path) for path in training or ()]
    decided = _decided(claim or (), paper) if claims else []
    found = Report.of(decided, certificates or (), models, allocations, _facts(claims), trainings)
    for path, write in ((output, report_html), (markdown, report_markdown)):
        if path is not None:
            write_file(write(found), path)
    stderr.print(_summary(found, outputs), highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(found.worst_code)


def _outputs(output: Path | None, markdown: Path | None, given: Sequence[Path]) -> list[Path]:
    """The files to write. Raises InputError if there is none, or if one is also read or written twice."""
    outputs = [path for path in (output, markdown) if path is not None]
    if not outputs:
        raise InputError("name the page to write, such as -o report.html", field="--output")
    places = [path.resolve() for path in (*outputs, *given)]
    for place in places[: len(outputs)]:
        if places.count(place) > 1:
            raise InputError("would be overwritten; choose another name for the report", file=place)
    return outputs


def _decided(ids: Sequence[str], paper: str | None) -> list[Decided]:
    known = load_claims()
    chosen = select(known, list(ids), paper)
    decided = []
    try:
        with progress_bars(True) as progress:
            if progress is not None:
                progress.stage("claims", len(chosen))
            for each in decide(chosen, known):
                decided.append(each)
                if progress is not None:
                    progress.advance(1)
    except Interrupted:
        raise Interrupted("interrupted; no report was written") from None
    return decided


def _facts(claims: bool) -> list[tuple[str, str]]:
    from exactattn.certificate.report import ledger_digest, made_with

    facts = made_with(["exactattn", *sys.argv[1:]])
    return [*facts, ("claim files", ledger_digest(proofs_folder()))] if claims else facts


def _summary(found: Report, outputs: Sequence[Path]) -> str:
    parts = [f"wrote {' and '.join(map(str, outputs))}"]
    if found.decided:
        parts.append(f"{len(found.decided)} claims")
    if found.files:
        valid = sum(file.valid for file in found.files)
        parts.append(f"{valid} of {len(found.files)} certificate files valid")
    if found.surprising:
        parts.append(f"not as written in the claim's file: {', '.join(found.surprising)}")
    return "; ".join(parts)
