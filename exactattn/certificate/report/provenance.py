"""What made a report: programs, versions, the command, and the digest of the claim files."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import flint

__all__ = ["ledger_digest", "made_with"]

LIBRARIES = ("exactattn", "python-flint", "sympy", "mpmath", "numpy", "jinja2", "matplotlib")


def made_with(command: Sequence[str]) -> list[tuple[str, str]]:
    """Names and values: the command line, versions of libraries and of Python, the machine.

    >>> dict(made_with(["exactattn", "report", "a b.json"]))["command"]
    "exactattn report 'a b.json'"
    """
    return [
        ("command", shlex.join(command)),
        *((name, version(name)) for name in LIBRARIES),
        ("FLINT", flint.__FLINT_VERSION__),
        ("Python", platform.python_version()),
        ("machine", f"{platform.system()} {platform.machine()}"),
    ]


def ledger_digest(folder: Path) -> str:
    """SHA-256 over the names and contents of all claim files of a folder, in order.

    >>> from exactattn.ledger import proofs_folder
    >>> ledger_digest(proofs_folder())[:7]
    'sha256:'
    """
    total = sha256()
    for file in sorted(folder.glob("*/*.py")):
        name = f"{file.parent.name}/{file.name}".encode()
        for part in (name, file.read_bytes()):
            total.update(len(part).to_bytes(8, "big") + part)
    return f"sha256:{total.hexdigest()}"
