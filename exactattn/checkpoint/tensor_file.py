"""Reading single tensors out of a .safetensors or .npz file, exactly, without loading the whole file."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactattn.exceptions import InputError
from exactattn.model.arrays import safetensors_package

__all__ = ["TensorFile"]

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
MAX_ENTRIES = 1 << 28
# products of four such numbers are still far from the end of float64
LARGEST = 1e30


class TensorFile:
    """Named tensors of floats in a file; bfloat16 is widened to float32, which changes no value.

    Raises InputError, with the file, for anything that is not such a file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            problem = "is not a file" if path.exists() else "there is no such file"
            raise InputError(f"{problem}; name a .safetensors or .npz file", file=path)
        try:
            match path.suffix.lower():
                case ".safetensors":
                    self._header, self._start = _safetensors_header(path)
                    self.names = [name for name in self._header if name != "__metadata__"]
                case ".npz":
                    with np.load(path, allow_pickle=False) as archive:
                        self.names = list(archive.files)
                case _:
                    raise InputError("is no weights file; name a .safetensors or .npz file", file=path)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise InputError(f"cannot be read ({error}); check the file", file=path) from None
        self._known = frozenset(self.names)

    def __contains__(self, name: str) -> bool:
        return name in self._known

    @property
    def safetensors(self) -> bool:
        """Whether this is a .safetensors file, whose tensors have a place in it."""
        return self.path.suffix.lower() == ".safetensors"

    def tensor(self, name: str) -> NDArray[Any]:
        """One tensor. Raises InputError, with its name, if it is missing, has another type than float64,
        float32, float16 or bfloat16, or holds NaN, infinities or numbers beyond 10³⁰."""
        if name not in self:
            raise InputError("is missing; the file is not complete", file=self.path, field=name)
        array = self._from_safetensors(name) if self.safetensors else self._from_npz(name)
        if array.dtype.kind != "f" or array.dtype.itemsize > 8:
            raise InputError(f"has type {array.dtype}; save it as float32", file=self.path, field=name)
        if not np.isfinite(array).all():
            raise InputError("holds NaN or infinities; replace them", file=self.path, field=name)
        if array.size and float(np.abs(array).max()) > LARGEST:
            raise InputError(f"holds numbers beyond {LARGEST:g}; scale them down", file=self.path, field=name)
        return array

    def stored_type(self, name: str) -> str:
        """The type of a tensor of a .safetensors file: F64, F32, F16 or BF16.

        Raises InputError, with its name, for another type."""
        kind: str = self._header[name]["dtype"]
        if kind not in _TYPES:
            raise InputError(f"has type {kind}; save it as float32 or bfloat16", file=self.path, field=name)
        return kind

    def place(self, name: str) -> tuple[int, int]:
        """Where the bytes of a tensor of a .safetensors file begin and end in the file."""
        begin, end = self._header[name]["data_offsets"]
        return self._start + begin, self._start + end

    def _from_npz(self, name: str) -> NDArray[Any]:
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                return np.asarray(archive[name])
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise InputError(
                f"cannot be read ({error}); write it again", file=self.path, field=name
            ) from None

    def _from_safetensors(self, name: str) -> NDArray[Any]:
        kind = self.stored_type(name)
        dtype = np.dtype(_TYPES[kind])
        begin, end = self.place(name)
        if end - begin > MAX_ENTRIES * dtype.itemsize:
            raise InputError(f"has more than {MAX_ENTRIES} entries", file=self.path, field=name)
        with self.path.open("rb") as stream:
            stream.seek(begin)
            array = np.frombuffer(stream.read(end - begin), dtype=dtype).reshape(self._header[name]["shape"])
        if kind == "BF16":  # the upper half of a float32
            array = (array.astype(np.uint32) << 16).view(np.float32)
        return array


def _safetensors_header(path: Path) -> tuple[dict[str, Any], int]:
    """The table of tensors, and where their bytes begin; safetensors itself checks the table."""
    safetensors = safetensors_package()
    try:
        with safetensors.safe_open(path, framework="numpy"):
            pass
    except safetensors.SafetensorError as error:
        raise InputError(f"is not a .safetensors file ({error}); write it again", file=path) from None
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header: dict[str, Any] = json.loads(stream.read(length))
    return header, 8 + length
