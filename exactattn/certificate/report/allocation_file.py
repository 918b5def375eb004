"""What ``exactattn allocate --json`` wrote, read again for a report."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from flint import arb

from exactattn.certificate.report.json_file import Reader
from exactattn.exceptions import InputError

__all__ = ["AllocationFile", "read_allocation"]

READER = Reader("exactattn allocate --json")
MAX_LAYERS, MAX_HEADS, MAX_SIZE = 1000, 1000, 10_000


@dataclass(frozen=True)
class AllocationFile:
    """Ranks and spectra of the heads of a checkpoint; ``layers`` have what the chart of an allocation reads
    (see :func:`exactattn.allocate.allocation_chart`)."""

    name: str
    layout: str
    tolerance: str
    measure: str
    parameters: int
    saved: int
    layers: tuple[Any, ...]


def read_allocation(path: str | os.PathLike[str]) -> AllocationFile:
    """Reads the file. Raises InputError, with file and field, if it is not one."""
    file = Path(path)
    data = READER.document(file)
    try:
        return AllocationFile(
            name=str(file),
            layout=READER.text(data, "layout"),
            tolerance=READER.text(data, "tolerance"),
            measure=READER.text(data, "measure"),
            parameters=READER.count(data, "parameters", ""),
            saved=READER.count(data, "saved", ""),
            layers=tuple(
                _layer(x, f"layers[{k}]") for k, x in enumerate(READER.items(data, "layers", "", MAX_LAYERS))
            ),
        )
    except InputError as error:
        raise error.in_file(file) from None


def _layer(data: Any, place: str) -> Any:
    heads = [
        _head(head, f"{place}.heads[{k}]")
        for k, head in enumerate(READER.items(data, "heads", place, MAX_HEADS))
    ]
    return SimpleNamespace(index=READER.count(data, "layer", place), heads=heads)


def _head(data: Any, place: str) -> Any:
    values = []
    for text in READER.items(data, "singular_values", place, MAX_SIZE):
        try:
            value = arb(text) if isinstance(text, str) and len(text) <= 100 else None
        except ValueError:
            value = None
        if value is None or not value.is_finite():
            raise InputError("must be decimals in quotes", field=f"{place}.singular_values")
        values.append(value)
    weights = SimpleNamespace(size=READER.count(data, "size", place))
    bounds = SimpleNamespace(spectrum=SimpleNamespace(values=values), weights=weights)
    return SimpleNamespace(rank=READER.count(data, "rank", place), bounds=bounds)
