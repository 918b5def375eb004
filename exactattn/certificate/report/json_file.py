"""Output of a command with ``--json``, read again for a report: sizes and types are checked strictly."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exactattn.exceptions import InputError

__all__ = ["Reader"]

MAX_BYTES = 64 << 20


@dataclass(frozen=True)
class Reader:
    """Reads what one command wrote; ``command`` is named in every complaint.

    >>> Reader("exactattn allocate --json").count({"saved": 3}, "saved", "")
    3
    """

    command: str

    def document(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """The object in a file. Raises InputError if there is none."""
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
            raise InputError(f"is not JSON; write it with {self.command}", file=file) from None
        if not isinstance(data, dict):
            raise InputError(f"is not an object; write it with {self.command}", file=file)
        return data

    def field(self, data: Any, key: str, place: str) -> Any:
        """A field that must be there."""
        if not isinstance(data, dict) or key not in data:
            raise InputError(f"is missing; write the file with {self.command}", field=_named(place, key))
        return data[key]

    def text(self, data: Any, key: str, place: str = "") -> str:
        """A text."""
        value = self.field(data, key, place)
        if not isinstance(value, str):
            raise InputError("must be a text", field=_named(place, key))
        return value

    def count(self, data: Any, key: str, place: str) -> int:
        """An integer from 0 to 2⁶³ − 1."""
        value = self.field(data, key, place)
        if type(value) is not int or value < 0 or value >= 1 << 63:
            raise InputError("must be an integer of at least 0", field=_named(place, key))
        return value

    def items(self, data: Any, key: str, place: str, most: int) -> list[Any]:
        """A list of 1 to ``most`` items."""
        value = self.field(data, key, place)
        if not isinstance(value, list) or not 1 <= len(value) <= most:
            raise InputError(f"must be a list of 1 to {most} items", field=_named(place, key))
        return value

    def number(self, value: Any, field: str) -> float:
        """A finite number of at most 10³⁰⁰ in size."""
        if type(value) not in (int, float) or not abs(value) <= 1e300:
            raise InputError("must be a finite number", field=field)
        return float(value)


def _named(place: str, key: str) -> str:
    return f"{place}.{key}".lstrip(".")
