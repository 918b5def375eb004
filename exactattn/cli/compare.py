"""exactattn compare: are the attention layers of two checkpoints the same functions?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from flint import arb
from rich.table import Table

from exactattn.certificate import equivalence_certificate, write_certificate
from exactattn.checkpoint import Checkpoint, open_checkpoint
from exactattn.checkpoint.bound_text import bound_text
from exactattn.checkpoint.compare import LayerComparison, Part, Sameness
from exactattn.checkpoint.compare_checkpoints import (
    NamedComparison,
    check_angles,
    compare_checkpoints,
    overall,
    stored_layer,
    unlike_tensors,
)
from exactattn.checkpoint.compare_separate import SeparatingInput
from exactattn.cli.console import print_json, progress_bars, stdout
from exactattn.exceptions import InputError, Interrupted
from exactattn.numbers import rational, rational_text

__all__ = ["compare"]


def compare(
    first: Annotated[Path, typer.Argument(help="Checkpoint: .safetensors, an index of shards, or a folder.")],
    second: Annotated[Path, typer.Argument(help="The other checkpoint.")],
    config: Annotated[
        Path | None, typer.Option(help="The config.json of both; default: the one beside each.")
    ] = None,
    config_b: Annotated[Path | None, typer.Option(help="The second checkpoint's, if it is another.")] = None,
    layer: Annotated[list[int] | None, typer.Option(help="Only this layer, from 0; may be repeated.")] = None,
    within: Annotated[
        str | None,
        typer.Option(
            help="How far a form may be off, as a share of the size of its factors; default: what rounding "
            "to the stored type explains."
        ),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="File for a certificate; for one small layer, see --layer.")
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Whether two checkpoints have the same attention layers, up to the symmetries of their parameters.

    Verdicts, layer by layer: "equal modulo gauge" and "equal within" (a certified distance) rest on exact
    distances of what the layers compute, "different" shows an input at which they certainly differ.
    """
    share = None if within is None else _share(within)
    one = open_checkpoint(first, config)
    config_b = config_b if config_b is not None else config
    other = open_checkpoint(second, config_b)
    check_angles(one, other, (config, config_b))
    found: list[NamedComparison] = []
    try:
        with progress_bars(not json_output) as progress:
            if progress is not None:
                progress.stage("layers", len(layer or one.layers))
            for each in compare_checkpoints(one, other, share, layer):
                found.append(each)
                if progress is not None:
                    progress.advance(1)
    except Interrupted:
        raise Interrupted("interrupted; choose fewer layers with --layer") from None
    if certificate is not None:
        _certify((one, other), found, certificate)
    unlike = unlike_tensors(one, other)
    if json_output:
        print_json(
            {
                "verdict": _verdict_text([each.comparison for each in found]),
                "layers": [_data(each) for each in found],
                "other_tensors_that_differ": unlike,
            }
        )
        return
    _show(found, unlike)


def _certify(checkpoints: tuple[Checkpoint, Checkpoint], found: list[NamedComparison], target: Path) -> None:
    if len(found) != 1:
        raise InputError("is for one layer; choose it with --layer", field="--certificate")
    (each,) = found
    first, second = (stored_layer(checkpoint, each.layer) for checkpoint in checkpoints)
    write_certificate(equivalence_certificate(first, second, each.comparison), target)


def _share(text: str) -> Any:
    try:
        share = rational(text)
    except InputError as error:
        raise InputError(str(error), field="--within") from None
    if share < 0:
        raise InputError(f"must be at least 0, not {text}", field="--within")
    return share


def _verdict_text(comparisons: list[LayerComparison]) -> str:
    verdict = overall(comparisons)
    text = str(verdict.value)
    if verdict is not Sameness.WITHIN:
        return text
    largest = max((each.share for each in comparisons), key=lambda x: float(x.upper()))
    return f"{text} {bound_text(largest)}"


def _show(found: list[NamedComparison], unlike: list[str]) -> None:
    table = Table(title="[bold]attention layers", title_justify="left", box=None, pad_edge=False)
    for name in ("layer", "verdict", "distance ≤", "rounding ≤", "farthest", "heads"):
        table.add_column(name, justify="left" if name in ("verdict", "farthest", "heads") else "right")
    for each in found:
        comparison = each.comparison
        table.add_row(
            each.name,
            comparison.verdict.value,
            bound_text(comparison.share),
            bound_text(arb(comparison.within)),
            _farthest(comparison),
            _order(comparison),
        )
    stdout.print(table)
    stdout.print(
        f"\nverdict: [bold]{_verdict_text([each.comparison for each in found])}[/bold] "
        "(distances as shares of the size of the factors)",
        highlight=False,
    )
    for each in found:
        if each.comparison.separating is not None:
            _show_input(each.name, each.comparison.separating)
        elif each.comparison.reason:
            stdout.print(f"\n{each.name}: {each.comparison.reason}", highlight=False, markup=False)
    if unlike:
        shown = ", ".join(unlike[:3]) + (", …" if len(unlike) > 3 else "")
        stdout.print(f"\ntensors outside attention that differ: {len(unlike)} ({shown})", markup=False)


def _farthest(comparison: LayerComparison) -> str:
    """The part with the largest distance."""
    named: list[tuple[str, Part]] = [
        (f"head {_numbers(head.first)} {part.name}", part) for head in comparison.heads for part in head.parts
    ]
    named += [(part.name, part) for part in comparison.parts]
    far = [entry for entry in named if not entry[1].equal]
    return max(far, key=lambda entry: float(entry[1].share.upper()))[0] if far else ""


def _order(comparison: LayerComparison) -> str:
    """Where each head is found in the second layer."""
    pairs = [(head.first, head.second) for head in comparison.heads]
    if all(a == b for a, b in pairs):
        return "in order" if pairs else ""
    return " ".join(f"{_numbers(a)}→{_numbers(b)}" for a, b in pairs)


def _numbers(heads: tuple[int, ...]) -> str:
    return "+".join(map(str, heads))


def _show_input(name: str, found: SeparatingInput) -> None:
    """The input at which two layers differ."""
    where = "leaving the norm before the layer, before its scale" if found.normed else "entering the layer"
    table = Table(
        title=f"\n[bold]{name}: an input that shows the difference",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    table.add_column("token", justify="right")
    table.add_column(f"entries ({where}; others are 0)")
    for number, token in enumerate(found.tokens):
        table.add_row(str(number), ", ".join(f"{j}: {rational_text(x)}" for j, x in token.items()))
    stdout.print(table)
    stdout.print(
        f"at the last token, coordinate {found.coordinate} of the output is\n  {found.first.str(12)} in the "
        f"first and\n  {found.second.str(12)} in the second",
        highlight=False,
        markup=False,
    )


def _data(each: NamedComparison) -> dict[str, Any]:
    comparison = each.comparison
    return {
        "layer": each.layer,
        "name": each.name,
        "verdict": _verdict_text([comparison]),
        "distance_at_most": bound_text(comparison.share),
        "within": rational_text(comparison.within),
        "heads": [
            {
                "first": list(h.first),
                "second": list(h.second),
                "parts": [_part(p) for p in h.parts],
                "changes_of_basis": {
                    name: [[rational_text(x) for x in row] for row in basis.tolist()]
                    for name, basis in h.bases.items()
                },
            }
            for h in comparison.heads
        ],
        "parts": [_part(part) for part in comparison.parts],
        "unmatched_heads": [list(heads) for heads in comparison.unmatched],
        "separating_input": None if comparison.separating is None else comparison.separating.data(),
        "reason": comparison.reason or None,
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        "name": part.name,
        "equal": part.equal,
        "distance_squared": rational_text(part.distance_squared),
        "share_at_most": bound_text(part.share),
    }
