"""What ``exactattn allocate --json`` wrote, read again for a report."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from flint import arb

from exactattn.exceptions import InputError

__all__ = ["AllocationFile", "read_allocation"]

MAX_BYTES = 64 << 20
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
    try:
        with file.open("rb") as stream:
            text = stream.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            raise InputError(f"is larger than {MAX_BYTES >> 20} MB", file=file)
        data = json.loads(text)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from None
    except (ValueError, RecursionError):
        raise InputError("is not JSON; write it with exactattn allocate --json", file=file) from None
    try:
        if not isinstance(data, dict):
            raise InputError("is not an object; write it with exactattn allocate --json")
        return AllocationFile(
            name=str(file),
            layout=_text(data, "layout"),
            tolerance=_text(data, "tolerance"),
            measure=_text(data, "measure"),
            parameters=_count(data, "parameters", ""),
            saved=_count(data, "saved", ""),
            layers=tuple(
                _layer(x, f"layers[{k}]") for k, x in enumerate(_items(data, "layers", "", MAX_LAYERS))
            ),
        )
    except InputError as error:
        raise error.in_file(file) from None


def _layer(data: Any, place: str) -> Any:
    heads = [
        _head(head, f"{place}.heads[{k}]") for k, head in enumerate(_items(data, "heads", place, MAX_HEADS))
    ]
    return SimpleNamespace(index=_count(data, "layer", place), heads=heads)


def _head(data: Any, place: str) -> Any:
    values = []
    for text in _items(data, "singular_values", place, MAX_SIZE):
        try:
            value = arb(text) if isinstance(text, str) and len(text) <= 100 else None
        except ValueError:
            value = None
        if value is None or not value.is_finite():
            raise InputError("must be decimals in quotes", field=f"{place}.singular_values")
        values.append(value)
    weights = SimpleNamespace(size=_count(data, "size", place))
    bounds = SimpleNamespace(spectrum=SimpleNamespace(values=values), weights=weights)
    return SimpleNamespace(rank=_count(data, "rank", place), bounds=bounds)


def _field(data: Any, key: str, place: str) -> Any:
    field = f"{place}.{key}".lstrip(".")
    if not isinstance(data, dict) or key not in data:
        raise InputError("is missing; write the file with exactattn allocate --json", field=field)
    return data[key]


def _text(data: Any, key: str) -> str:
    value = _field(data, key, "")
    if not isinstance(value, str):
        raise InputError("must be a text", field=key)
    return value


def _count(data: Any, key: str, place: str) -> int:
    value = _field(data, key, place)
    if type(value) is not int or value < 0 or value >= 1 << 63:
        raise InputError("must be an integer of at least 0", field=f"{place}.{key}".lstrip("."))
    return value


def _items(data: Any, key: str, place: str, most: int) -> list[Any]:
    value = _field(data, key, place)
    if not isinstance(value, list) or not 1 <= len(value) <= most:
        raise InputError(f"must be a list of 1 to {most} items", field=f"{place}.{key}".lstrip("."))
    return value
