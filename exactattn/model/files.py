"""Layers in files: a versioned JSON format, NumPy's .npz and .safetensors.

The JSON format is published as a JSON Schema (:func:`model_schema`). Files are read and checked entirely
before a layer exists, and written atomically.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.model.arrays import layer_from_npz, layer_from_safetensors
from exactattn.model.exact_json import parse_json
from exactattn.model.heads import Attention, Head
from exactattn.numbers import Vector, rational, rational_text

__all__ = ["layer_from_json", "layer_json", "load_layer", "model_schema", "save_layer", "write_file"]

FORMAT = "exactattn-model"
VERSION = 1
MAX_BYTES = 64 << 20
# Integers up to this size are written as JSON numbers: every JSON reader keeps them exact.
EXACT_EVERYWHERE = (1 << 53) - 1

KEYS = {"format", "version", "dim", "heads", "name"}
HEAD_KEYS = {"W", "v"}


def load_layer(path: str | os.PathLike[str]) -> Attention:
    """The layer in a file: .npz and .safetensors with arrays W (H, d, d) and v (H, d), anything else JSON.

    JSON entries are integers, decimals, or strings that :func:`~exactattn.numbers.rational` reads; a decimal
    is the decimal it says (0.1 is 1/10). Binary floats of an array file are exact dyadic rationals. Raises
    InputError, with file and field, on anything that is not such a file.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "layer.json"
    >>> save_layer(Attention.of([Head.of([["1/2"]], [3])]), file)
    >>> load_layer(file).heads
    (Head(W=((1/2,),), v=(3,)),)
    """
    file = Path(path)
    try:
        data = _read(file)
        match file.suffix.lower():
            case ".npz":
                return layer_from_npz(data)
            case ".safetensors":
                return layer_from_safetensors(data)
            case _:
                return layer_from_json(parse_json(data))
    except InputError as error:
        raise error.in_file(file) from None


def save_layer(layer: Attention, path: str | os.PathLike[str]) -> None:
    """Write a layer as JSON, so that ``load_layer`` gives it back; the file is replaced whole or not at all.

    Raises InputError if the file cannot be written, or its suffix promises another format.
    """
    file = Path(path)
    if file.suffix.lower() in {".npz", ".safetensors"}:
        raise InputError(
            f"layers are written as JSON, not as {file.suffix}; use a name that ends in .json", file=file
        )
    content = layer_json(layer)
    heads = content.pop("heads")
    lines = [json.dumps(content, indent=2)[:-2] + ',\n  "heads": [']
    lines.append(",\n".join(f"    {json.dumps(head)}" for head in heads))
    write_file("\n".join(line for line in lines if line) + "\n  ]\n}\n", file)


def write_file(content: str | bytes, path: str | os.PathLike[str]) -> None:
    """Write a file atomically, text in UTF-8: readers see the old content or the new, also after a kill.

    Raises InputError, with the file, if that is not possible.
    """
    file = Path(path)
    if file.exists() and not file.is_file():
        raise InputError("is not an ordinary file; name another one", file=file)
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        try:
            with temporary.open("wb") as stream:
                stream.write(content if isinstance(content, bytes) else content.encode("utf-8"))
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}; choose another place", file=file) from None


def layer_json(layer: Attention) -> dict[str, Any]:
    """The layer in the JSON format, as Python values.

    >>> layer_json(Attention.of([Head.of([["1/2"]], [3])]))["heads"]
    [{'W': [['1/2']], 'v': [3]}]
    """
    heads = [{"W": [_entries(row) for row in head.W], "v": _entries(head.v)} for head in layer.heads]
    name = {"name": layer.name} if layer.name else {}
    return {"format": FORMAT, "version": VERSION, **name, "dim": layer.dim, "heads": heads}


def layer_from_json(data: Any) -> Attention:
    """The layer from a value of :func:`~exactattn.model.exact_json.parse_json` in the JSON format.

    Raises InputError, with the field, if the value is not in the format.
    """
    _require_keys(data, KEYS, optional={"name"}, field=None)
    if data["format"] != FORMAT:
        raise InputError(f"is {_shown(data['format'])}; a model file says {FORMAT!r}", field="format")
    if type(data["version"]) is not int or data["version"] != VERSION:
        raise InputError(
            f"is {_shown(data['version'])}, but this program reads version {VERSION}", field="version"
        )
    dim, name = data["dim"], data.get("name", "")
    if type(dim) is not int or dim < 1:
        raise InputError(f"must be an integer of at least 1, not {_shown(dim)}", field="dim")
    if type(name) is not str:
        raise InputError(f"must be a text, not {_shown(name)}", field="name")
    if not isinstance(data["heads"], list):
        raise InputError("must be a list of heads", field="heads")
    return Attention(tuple(_head(h, dim, f"heads[{i}]") for i, h in enumerate(data["heads"])), dim, name)


def model_schema() -> dict[str, Any]:
    """The published JSON Schema (2020-12) of the JSON format.

    >>> model_schema()["title"]
    'exactattn model, version 1'
    """
    schema = resources.files("exactattn.model") / "schema" / "model.v1.json"
    content: dict[str, Any] = json.loads(schema.read_text(encoding="utf-8"))
    return content


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError("there is no such file; check the path") from None
    except IsADirectoryError:
        raise InputError("is a directory; name a file in it") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise InputError(f"is larger than the limit of {MAX_BYTES >> 20} MB; split the layer")
    return data


def _head(data: Any, dim: int, field: str) -> Head:
    _require_keys(data, HEAD_KEYS, optional=set(), field=field)
    rows = _list(data["W"], dim, f"{field}.W", "rows")
    W = tuple(_vector(row, dim, f"{field}.W[{i}]") for i, row in enumerate(rows))
    return Head(W, _vector(data["v"], dim, f"{field}.v"))


def _vector(data: Any, dim: int, field: str) -> Vector:
    return tuple(_entry(x, f"{field}[{i}]") for i, x in enumerate(_list(data, dim, field, "entries")))


def _list(data: Any, dim: int, field: str, parts: str) -> list[Any]:
    if not isinstance(data, list):
        raise InputError(f"must be a list of {dim} {parts}, not {_shown(data)}", field=field)
    if len(data) != dim:
        raise InputError(f"has {len(data)} {parts}, but dim is {dim}", field=field)
    return data


def _entry(x: Any, field: str) -> fmpq:
    try:
        return rational(x)
    except InputError as error:
        raise InputError(str(error), field=field) from None


def _require_keys(data: Any, keys: set[str], *, optional: set[str], field: str | None) -> None:
    if not isinstance(data, dict):
        raise InputError(
            f"must be an object with the keys {', '.join(sorted(keys))}, not {_shown(data)}", field=field
        )
    for key in sorted(keys - optional - set(data)):
        raise InputError(f"the key {key!r} is missing; add it", field=field)
    for key in sorted(set(data) - keys):
        raise InputError(
            f"the key {_shown(key)} is not known; a file may have {', '.join(sorted(keys))} here", field=field
        )


def _entries(row: Sequence[fmpq]) -> list[int | str]:
    return [int(x.p) if x.q == 1 and abs(x.p) <= EXACT_EVERYWHERE else rational_text(x) for x in row]


def _shown(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 40 else text[:37] + "..."
