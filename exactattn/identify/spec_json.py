"""An architecture as a JSON value, every field written out."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from flint import fmpq

from exactattn.identify.spec import AttentionSpec
from exactattn.numbers import rational_text

__all__ = ["spec_data"]


def spec_data(spec: AttentionSpec) -> dict[str, Any]:
    """The fields of a layer by name: integers, truth values, null, words, rationals as "p/q", ties sorted.

    >>> data = spec_data(AttentionSpec.of(width=4, heads=2))
    >>> data["head_size"], data["rotary"], data["ties"]
    (2, None, [])
    """
    data: dict[str, Any] = _plain(spec)
    return data


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, fmpq):
        return rational_text(value)
    if isinstance(value, frozenset):
        return sorted(_plain(x) for x in value)
    return value
