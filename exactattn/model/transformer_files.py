"""Transformers in files: a JSON format of their own.

{"format": "exactattn-transformer", "version": 1, "dim": d, "residual": false, "matrices": [W_1, …],
 "neurons": [{"a": …, "beta": [block, …]}, …], "bypass": [block, …] or absent, "name": … or absent}

Numbers as in the format of layers; a block has d numbers, one block a head, then one for the last token if
"residual" is true. The format is published as a JSON Schema (:func:`transformer_schema`).
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
from exactattn.model.exact_json import parse_json
from exactattn.model.files import write_file
from exactattn.model.relu_form import Blocks, ReluForm
from exactattn.model.transformer import Neuron, Transformer
from exactattn.numbers import Matrix, rational_text, rational_vector

__all__ = [
    "form_json",
    "is_transformer_file",
    "load_transformer",
    "save_transformer",
    "transformer_from_json",
    "transformer_json",
    "transformer_schema",
]

FORMAT = "exactattn-transformer"
KEYS = {"format", "version", "dim", "residual", "matrices", "neurons"}
OPTIONAL = {"bypass", "name"}
MAX_BYTES = 64 << 20


def is_transformer_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file says that it is a Transformer; False for any other file, readable or not."""
    file = Path(path)
    if file.suffix.lower() in {".npz", ".safetensors"} or not file.is_file():
        return False
    try:
        data = parse_json(_read(file))
    except (InputError, OSError):
        return False
    return isinstance(data, dict) and data.get("format") == FORMAT


def load_transformer(path: str | os.PathLike[str]) -> Transformer:
    """The Transformer in a JSON file. Raises InputError, with file and field.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.json"
    >>> model = Transformer.of([[["1/2"]]], [Neuron.of(1, [[2]])], dim=1)
    >>> save_transformer(model, file)
    >>> load_transformer(file) == model
    True
    """
    file = Path(path)
    try:
        return transformer_from_json(parse_json(_read(file)))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}; check the path", file=file) from None
    except InputError as error:
        raise error.in_file(file) from None


def save_transformer(model: Transformer, path: str | os.PathLike[str]) -> None:
    """Write a Transformer as JSON, so that ``load_transformer`` gives it back; whole or not at all."""
    write_file(json.dumps(transformer_json(model), indent=1) + "\n", path)


def transformer_json(model: Transformer) -> dict[str, Any]:
    """The Transformer in the JSON format, as Python values."""
    return {
        "format": FORMAT,
        "version": 1,
        **({"name": model.name} if model.name else {}),
        "dim": model.dim,
        "residual": model.residual,
        "matrices": [_texts(W) for W in model.matrices],
        "neurons": [{"a": _text(neuron.a), "beta": _texts(neuron.beta)} for neuron in model.neurons],
        **({"bypass": _texts(model.bypass)} if model.bypass is not None else {}),
    }


def form_json(form: ReluForm) -> dict[str, Any]:
    """A canonical form as JSON values: W_h, v, and the pairs (σ_k, D_k)."""
    return {
        "dim": form.dim,
        "residual": form.residual,
        "matrices": [_texts(W) for W in form.matrices],
        "linear": _texts(form.linear),
        "kinks": [{"sign": sign, "direction": _texts(D)} for sign, D in form.kinks],
    }


def transformer_from_json(data: Any) -> Transformer:
    """The Transformer from a JSON value. Raises InputError, with the field, if it is none.

    >>> transformer_from_json({"format": "exactattn-transformer", "version": 1, "dim": 1, "residual": False,
    ...     "matrices": [[[1]]], "neurons": [{"a": -1, "beta": [["1/3"]]}]}).neurons
    (Neuron(a=-1, beta=((1/3,),)),)
    """
    if not isinstance(data, dict) or not KEYS <= data.keys() <= KEYS | OPTIONAL or data["format"] != FORMAT:
        raise InputError(
            f"is not a Transformer: an object with format {FORMAT!r}, the keys {', '.join(sorted(KEYS))} and "
            f"perhaps {', '.join(sorted(OPTIONAL))}"
        )
    if type(data["version"]) is not int or data["version"] != 1:
        raise InputError("must be 1; this program reads version 1", field="version")
    dim, residual, name = data["dim"], data["residual"], data.get("name", "")
    if type(dim) is not int or dim < 1:
        raise InputError("must be an integer of at least 1", field="dim")
    if not isinstance(residual, bool):
        raise InputError("must be true or false", field="residual")
    if not isinstance(name, str):
        raise InputError("must be a text", field="name")
    matrices = [_rows(W, f"matrices[{h}]") for h, W in enumerate(_list(data["matrices"], "matrices"))]
    neurons = []
    for k, neuron in enumerate(_list(data["neurons"], "neurons")):
        if not isinstance(neuron, dict) or neuron.keys() != {"a", "beta"}:
            raise InputError("must be an object with the keys a and beta", field=f"neurons[{k}]")
        (a,) = _numbers([neuron["a"]], f"neurons[{k}].a")
        neurons.append(Neuron(a, _rows(neuron["beta"], f"neurons[{k}].beta")))
    bypass = _rows(data["bypass"], "bypass") if "bypass" in data else None
    return Transformer.of(matrices, neurons, dim=dim, residual=residual, bypass=bypass, name=name)


def transformer_schema() -> dict[str, Any]:
    """The published JSON Schema (2020-12) of the format.

    >>> transformer_schema()["title"]
    'exactattn Transformer, version 1'
    """
    schema = resources.files("exactattn.model") / "schema" / "transformer.v1.json"
    content: dict[str, Any] = json.loads(schema.read_text(encoding="utf-8"))
    return content


def _read(file: Path) -> bytes:
    with file.open("rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError(f"is larger than the limit of {MAX_BYTES >> 20} MB", file=file)
    return data


def _list(data: Any, field: str) -> list[Any]:
    if not isinstance(data, list):
        raise InputError("must be a list", field=field)
    return data


def _rows(data: Any, field: str) -> Matrix:
    return tuple(_numbers(_list(row, field), field) for row in _list(data, field))


def _numbers(row: Sequence[Any], field: str) -> tuple[fmpq, ...]:
    try:
        return rational_vector(row)
    except InputError as error:
        raise InputError(str(error), field=field) from None


def _text(x: fmpq) -> int | str:
    return int(x.p) if x.q == 1 and abs(x.p) < 1 << 53 else rational_text(x)


def _texts(rows: Matrix | Blocks) -> list[list[int | str]]:
    return [[_text(x) for x in row] for row in rows]
