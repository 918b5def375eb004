"""Writing a transformed checkpoint: files are copied whole, then only the tensors that changed are replaced.

Types and shapes stay, so that the tables at the head of the files, their metadata and all other tensors are
the same byte for byte. Everything happens in temporary files beside the output, which is put in place in one
step at the end; memory holds one layer at a time.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from flint import fmpq

from exactattn.checkpoint.change import LayerChange, layer_change
from exactattn.checkpoint.checkpoint import Checkpoint, open_checkpoint
from exactattn.checkpoint.moved import Moved
from exactattn.checkpoint.place import Array, assign
from exactattn.checkpoint.rebalance import imbalance
from exactattn.checkpoint.rounding import stored_bytes
from exactattn.checkpoint.tensor_file import TensorFile
from exactattn.checkpoint.tensor_files import INDEX
from exactattn.checkpoint.weights import AttentionWeights
from exactattn.exceptions import InputError

__all__ = ["WrittenLayer", "transform_checkpoint"]

OTHER_WEIGHTS = frozenset(
    {".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".npz", ".gguf", ".onnx"}
)


@dataclass(frozen=True)
class WrittenLayer:
    """A layer as it was written: what changed (certified), β before and after (in floats), and notes."""

    change: LayerChange
    imbalance_before: float
    imbalance_after: float
    notes: tuple[str, ...]


def transform_checkpoint(
    checkpoint: Checkpoint,
    transformation: Callable[[AttentionWeights], Moved],
    output: str | Path,
    *,
    config: str | Path | None = None,
    token_norm: fmpq | None = None,
) -> Iterator[WrittenLayer]:
    """Transform all layers, round to the types that are stored, and write to ``output``; yields each layer
    once it is written, with the certified effect of the transformation and its rounding.

    The output is a file where the input is one, else a directory (which must not exist) with the same files.
    It appears when the last layer is done: stopped before, nothing is left. ``config`` as for
    :func:`~exactattn.checkpoint.checkpoint.open_checkpoint`. Raises InputError if the output is the
    input, exists as a directory, or cannot be written, or if the input is not .safetensors.
    """
    target = Path(output)
    _check(checkpoint, target)
    try:
        with _copied(checkpoint, target) as copy:
            place = checkpoint.files.directory / "config.json" if config is None else config
            index = checkpoint.files.index
            written = open_checkpoint(copy if index is None else copy / index.name, place)
            for layer in checkpoint.layers:
                yield _write_layer(checkpoint, written, layer, transformation, token_norm)
            for file in written.files.files:
                _flush(file.path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot be written: {reason}; choose another place", file=target) from None


def _check(checkpoint: Checkpoint, target: Path) -> None:
    files = checkpoint.files
    for file in files.files:
        if not file.safetensors:
            raise InputError("is not a .safetensors file; convert it first", file=file.path)
        if target.exists() and (target.samefile(file.path) or target.samefile(file.path.parent)):
            raise InputError("is the input; name another output", file=target)
    if files.single and target.suffix != ".safetensors":
        raise InputError("must be a file that ends in .safetensors, as the input is", file=target)
    if files.single and target.exists() and not target.is_file():
        raise InputError("is not an ordinary file; name another one", file=target)
    if not files.single and target.exists():
        raise InputError("exists; name a directory that does not", file=target)
    if not target.absolute().parent.is_dir():
        raise InputError("is in a directory that does not exist; create it", file=target)


@contextmanager
def _copied(checkpoint: Checkpoint, target: Path) -> Iterator[Path]:
    """A copy of the input's files beside the target, which becomes the target unless an error is met."""
    suffix = target.suffix if checkpoint.files.single else ""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp{suffix}")
    try:
        if checkpoint.files.single:
            shutil.copyfile(checkpoint.files.files[0].path, temporary)
        else:
            sources = list(_files_of(checkpoint))
            temporary.mkdir()
            for source in sources:
                place = temporary / source.relative_to(checkpoint.files.directory)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, place)
        yield temporary
        temporary.replace(target)
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary)
        temporary.unlink(missing_ok=True)


def _files_of(checkpoint: Checkpoint) -> Iterator[Path]:
    """The files of a checkpoint and what is beside and below them, but no weights that would stay as they
    were, and no hidden directories."""
    own = {file.path for file in checkpoint.files.files}
    if checkpoint.files.index is not None:
        own.add(checkpoint.files.index)
    for folder, directories, names in os.walk(checkpoint.files.directory):
        directories[:] = sorted(name for name in directories if not name.startswith("."))
        for path in (Path(folder) / name for name in sorted(names)):
            other_weights = path.suffix.lower() in OTHER_WEIGHTS or path.name.endswith(INDEX)
            if path.is_file() and (path in own or not other_weights):
                yield path


def _write_layer(
    old: Checkpoint,
    new: Checkpoint,
    layer: int,
    transformation: Callable[[AttentionWeights], Moved],
    token_norm: fmpq | None,
) -> WrittenLayer:
    before = old.attention(layer)
    notes = _replace_layer(new, layer, before, transformation(before))
    after = new.attention(layer)
    bound = token_norm if token_norm is not None else old.token_norm(layer)
    return WrittenLayer(layer_change(before, after, bound), imbalance(before), imbalance(after), notes)


def _replace_layer(new: Checkpoint, layer: int, before: AttentionWeights, moved: Moved) -> tuple[str, ...]:
    """Put the arrays that changed in their places; gives the notes."""
    places = new.stored[layer].places
    tensors: dict[str, Array] = {}
    for name, array in moved.weights.parameters.items():
        if np.array_equal(array, before.parameters[name]):
            continue
        for place in places[name]:
            if place.tensor not in tensors:
                tensors[place.tensor] = np.array(new.files.tensor(place.tensor), dtype=np.float64)
        assign(places[name], array, tensors)
    for name, tensor in tensors.items():
        _replace(new.files.home(name), name, tensor)
    return moved.notes


def _replace(file: TensorFile, name: str, tensor: Array) -> None:
    """Put a tensor in its place in a file."""
    begin, end = file.place(name)
    try:
        content = stored_bytes(tensor, file.stored_type(name))
    except InputError as error:
        raise InputError(str(error), field=name) from None
    assert len(content) == end - begin
    with file.path.open("r+b") as stream:
        stream.seek(begin)
        stream.write(content)


def _flush(path: Path) -> None:
    with path.open("r+b") as stream:
        os.fsync(stream.fileno())
