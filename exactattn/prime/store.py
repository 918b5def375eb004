"""Finished blocks of a run on disk: a run that was killed goes on where it was.

A folder holds ``run.json``, which says what run it is, and a .npz file for the first row and for each block,
written under another name and renamed, so that a file that is there is complete. Nothing is unpickled.
"""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from exactattn.exceptions import InputError
from exactattn.model.files import write_file
from exactattn.prime.field import PrimeField

__all__ = ["BlockStore"]

T = TypeVar("T")
RUN = "run.json"


class BlockStore:
    """The results of one run in ``folder``, which is made if it is missing.

    ``identity``: JSON values that tell this run from others. Raises InputError if the folder belongs to
    another run, or holds files that are no results.

    >>> import tempfile
    >>> from exactattn.prime.block import BlockResult
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = BlockStore(folder, {"seed": 1})
    ...     store.keep("block 1", BlockResult(1, np.zeros((1, 2, 3), dtype=np.uint64), mended=4))
    ...     found = BlockStore(folder, {"seed": 1}).kept("block 1", BlockResult)
    >>> found.start, found.exponents.shape, found.mended
    (1, (1, 2, 3), 4)
    """

    def __init__(self, folder: str | Path, identity: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        text = json.dumps(identity, sort_keys=True, indent=1) + "\n"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            run = self.folder / RUN
            known = run.read_text(encoding="utf-8") if run.exists() else None
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"cannot hold finished blocks ({error}); name a folder of your own", file=self.folder
            ) from None
        if known is None:
            if any(self.folder.iterdir()):
                raise InputError("is not empty and holds no run; name an empty folder", file=self.folder)
            write_file(text, run)
        elif known != text:
            raise InputError(
                "holds the blocks of another run; name an empty folder, or repeat that run", file=run
            )

    def keep(self, name: str, result: Any) -> None:
        """Writes a result (a dataclass of arrays, integers and a field)."""
        items = {f.name: getattr(result, f.name) for f in dataclasses.fields(result)}
        arrays: Any = {k: x.prime if isinstance(x, PrimeField) else x for k, x in items.items()}
        content = io.BytesIO()
        np.savez(content, **arrays)
        write_file(content.getvalue(), self._path(name))

    def kept(self, name: str, kind: type[T], *, compiled: bool = False) -> T | None:
        """A result that was kept, or None; ``compiled`` goes to its field. InputError for a broken file."""
        path = self._path(name)
        if not path.exists():
            return None
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
                items = {f.name: archive[f.name] for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise InputError(f"is no finished block ({error}); delete it", file=path) from None
        values: dict[str, Any] = {k: int(x) if x.ndim == 0 else x for k, x in items.items()}
        if "field" in values:
            values["field"] = PrimeField(values["field"], compiled)
        return kind(**values)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name.replace(' ', '-')}.npz"
