"""Layers from array files: W of shape (H, d, d) and v of shape (H, d), floats as exact dyadic rationals."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactattn.exceptions import InputError
from exactattn.model.heads import Attention, Head
from exactattn.numbers import rational_vector

__all__ = ["layer_from_arrays", "layer_from_npz", "layer_from_safetensors", "safetensors_package"]

NAMES = ("W", "v")
MAX_BYTES = 128 << 20
MAX_ENTRIES = 1 << 24

_SAFETENSORS_TYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1",
}  # fmt: skip


def layer_from_arrays(arrays: dict[str, NDArray[Any]]) -> Attention:
    """The layer of the arrays W (H, d, d) and v (H, d): float16, float32, float64 or integers.

    Every float is taken as the dyadic rational it is. Raises InputError, with the array and the index, on
    missing or unknown arrays, wrong shapes or types, NaN and infinities.

    >>> layer_from_arrays({"W": np.array([[[0.5]]]), "v": np.array([[3]])}).heads
    (Head(W=((1/2,),), v=(3,)),)
    """
    _require_names(list(arrays))
    W, v = arrays["W"], arrays["v"]
    if W.ndim != 3 or W.shape[1] != W.shape[2] or W.shape[1] == 0:
        raise InputError(f"has shape {W.shape}; it must be (H, d, d) with d at least 1", field="W")
    if v.shape != W.shape[:2]:
        raise InputError(f"has shape {v.shape}, but W is {W.shape}, so it must be {W.shape[:2]}", field="v")
    if W.size > MAX_ENTRIES:
        raise InputError(f"has {W.size} entries, more than the limit of {MAX_ENTRIES}", field="W")
    for name in NAMES:
        _require_finite_numbers(arrays[name], name)
    # tolist() widens float16 and float32 to Python floats, which changes no value.
    heads = [
        Head(tuple(rational_vector(row) for row in rows), rational_vector(column))
        for rows, column in zip(W.tolist(), v.tolist(), strict=True)
    ]
    return Attention(tuple(heads), W.shape[1])


def layer_from_npz(data: bytes) -> Attention:
    """The layer in the bytes of a .npz file. Raises InputError if they are not one."""
    # np.load would take other data for a pickle or a single array; a .npz file is a zip archive.
    if not zipfile.is_zipfile(io.BytesIO(data)):
        raise InputError("is not a .npz file; write it with numpy.savez(file, W=..., v=...)")
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            _require_names(archive.files)
            if sum(member.file_size for member in archive.zip.infolist()) > MAX_BYTES:
                raise InputError(f"unpacks to more than the limit of {MAX_BYTES >> 20} MB; split the layer")
            arrays = {name: np.asarray(archive[name]) for name in NAMES}
    except (ValueError, OSError, EOFError, KeyError, MemoryError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"is a damaged .npz file, or holds Python objects ({error}); write it again"
        ) from None
    return layer_from_arrays(arrays)


def safetensors_package() -> Any:
    """The package safetensors. Raises InputError if it is not installed."""
    try:
        import safetensors
    except ImportError:
        raise InputError(
            "the package safetensors is not installed; run pip install 'exactattn[weights]'"
        ) from None
    return safetensors


def layer_from_safetensors(data: bytes) -> Attention:
    """The layer in the bytes of a .safetensors file, bfloat16 included.

    Raises InputError if they are not one, or if the package safetensors is not installed.
    """
    safetensors = safetensors_package()
    try:
        tensors = dict(safetensors.deserialize(data))
    except safetensors.SafetensorError as error:
        raise InputError(f"is not a .safetensors file ({error}); write it again") from None
    _require_names(list(tensors))
    return layer_from_arrays({name: _tensor(tensors[name], name) for name in NAMES})


def _tensor(tensor: Any, name: str) -> NDArray[Any]:
    kind = tensor["dtype"]
    if kind not in _SAFETENSORS_TYPES:
        raise InputError(f"has type {kind}; use F64, F32, F16, BF16 or integers", field=name)
    array = np.frombuffer(tensor["data"], dtype=_SAFETENSORS_TYPES[kind]).reshape(tensor["shape"])
    if kind == "BF16":  # the upper half of a float32
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array


def _require_names(names: list[str]) -> None:
    for name in NAMES:
        if name not in names:
            raise InputError(f"the array {name!r} is missing; a model file holds W (H, d, d) and v (H, d)")
    for name in names:
        if name not in NAMES:
            raise InputError(f"the array {name!r} is not known; a model file holds only W and v")
    if len(names) > len(NAMES):
        raise InputError("an array is stored twice; a model file holds W and v once each")


def _require_finite_numbers(array: NDArray[Any], name: str) -> None:
    if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        raise InputError(f"has type {array.dtype}; use float64, float32, float16 or integers", field=name)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        place = name + "".join(f"[{i}]" for i in index)
        raise InputError(f"is {float(array[index])}; replace it by a finite number", field=place)
