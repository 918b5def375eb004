"""Layers with biases in files: a small JSON format of their own.

{"format": "exactattn-biased-model", "version": 1, "dim": d, "constant": c, "heads": [{"W": …, "v": …}, …]}, W
by rows, d + 1 of them: the query bias W_K^T b_Q, then W_Q^T W_K. Numbers as in the format of plain layers.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from exactattn.exceptions import InputError
from exactattn.model.affine import AffineAttention, AffineHead
from exactattn.model.exact_json import parse_json
from exactattn.numbers import rational

__all__ = ["affine_from_json", "load_affine_layer"]

FORMAT = "exactattn-biased-model"
KEYS = {"format", "version", "dim", "constant", "heads"}


def load_affine_layer(path: str | os.PathLike[str]) -> AffineAttention:
    """The layer with biases in a JSON file. Raises InputError, with file and field."""
    file = Path(path)
    try:
        return affine_from_json(parse_json(file.read_bytes()))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}; check the path", file=file) from None
    except InputError as error:
        raise error.in_file(file) from None


def affine_from_json(data: Any) -> AffineAttention:
    """The layer from a JSON value.

    >>> data = {"format": "exactattn-biased-model", "version": 1, "dim": 1, "constant": "1/2",
    ...         "heads": [{"W": [[1], [2]], "v": [3]}]}
    >>> affine_from_json(data).heads[0].W
    ((1,), (2,))
    """
    if not isinstance(data, dict) or data.keys() ^ KEYS or data["format"] != FORMAT or data["version"] != 1:
        raise InputError(
            f"is not a layer with biases: an object with the keys {', '.join(sorted(KEYS))}, format "
            f"{FORMAT!r} and version 1"
        )
    dim, heads = data["dim"], data["heads"]
    if type(dim) is not int or dim < 1:
        raise InputError("must be an integer of at least 1", field="dim")
    if not isinstance(heads, list):
        raise InputError("must be a list of heads", field="heads")
    found = []
    for n, head in enumerate(heads):
        field = f"heads[{n}]"
        if not isinstance(head, dict) or head.keys() != {"W", "v"}:
            raise InputError("must be an object with the keys W and v", field=field)
        W, v = head["W"], head["v"]
        if not isinstance(v, list) or not isinstance(W, list) or not all(isinstance(row, list) for row in W):
            raise InputError("W must be a list of rows and v a list", field=field)
        try:
            found.append(AffineHead.of(W, v))
        except InputError as error:
            raise InputError(str(error), field=field) from None
    return AffineAttention.of(found, rational(data["constant"]), dim)
