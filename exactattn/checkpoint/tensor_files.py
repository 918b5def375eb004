"""The tensors of a checkpoint: one file, or several (shards) with or without an index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from exactattn.checkpoint.tensor_file import TensorFile
from exactattn.exceptions import InputError
from exactattn.identify.config_file import load_object

__all__ = ["TensorFiles"]

SINGLE = "model.safetensors"
INDEX = ".safetensors.index.json"


class TensorFiles:
    """Named tensors in the files of a checkpoint; tensors are read when asked for.

    ``path``: a .safetensors or .npz file, an index of shards (``….safetensors.index.json``), or a directory
    with one of these. A directory with several .safetensors files and no index is their union. Raises
    InputError for anything else, a shard that is missing, or a tensor that stands in two files.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.index: Path | None = None
        if path.is_dir():
            paths = self._in_directory(path)
        elif path.name.endswith(INDEX):
            paths = self._from_index(path)
        else:
            paths = [path]
        self.files = [TensorFile(each) for each in paths]
        self._home: dict[str, TensorFile] = {}
        for file in self.files:
            for name in file.names:
                if name in self._home:
                    raise InputError(
                        f"stands in {self._home[name].path.name} too; keep one of the two",
                        file=file.path,
                        field=name,
                    )
                self._home[name] = file

    def _in_directory(self, directory: Path) -> list[Path]:
        indices = sorted(directory.glob(f"*{INDEX}"))
        if (directory / SINGLE).is_file() and not indices:
            return [directory / SINGLE]
        if len(indices) > 1:
            raise InputError("has several indices of shards; name one of them", file=directory)
        if indices:
            return self._from_index(indices[0])
        paths = sorted(directory.glob("*.safetensors"))
        if not paths:
            raise InputError("has no .safetensors files; name a checkpoint", file=directory)
        return paths

    def _from_index(self, index: Path) -> list[Path]:
        self.index = index
        places = load_object(index).get("weight_map")
        if not isinstance(places, dict) or not all(isinstance(name, str) for name in places.values()):
            raise InputError(
                "must be an object from tensors to files; write it again", file=index, field="weight_map"
            )
        names = sorted(set(places.values()))
        for name in names:
            if Path(name).name != name:
                raise InputError(
                    f"names {name[:60]!r}, which is not beside the index", file=index, field="weight_map"
                )
        return [index.with_name(name) for name in names]

    @property
    def names(self) -> list[str]:
        """All tensors."""
        return list(self._home)

    @property
    def directory(self) -> Path:
        """The directory that the files are in."""
        return self.path if self.path.is_dir() else self.path.parent

    @property
    def single(self) -> bool:
        """Whether the checkpoint was given as one file."""
        return self.path.is_file() and self.index is None

    def __contains__(self, name: str) -> bool:
        return name in self._home

    def home(self, name: str) -> TensorFile:
        """The file a tensor is in. Raises InputError, with its name, if there is none."""
        if name not in self._home:
            raise InputError("is missing; the checkpoint is not complete", file=self.path, field=name)
        return self._home[name]

    def tensor(self, name: str) -> NDArray[Any]:
        """One tensor, as :meth:`TensorFile.tensor` gives it."""
        return self.home(name).tensor(name)
