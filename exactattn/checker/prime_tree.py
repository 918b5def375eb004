"""The hash tree over answers, one leaf a row of probes, and the sample of rows that its root chooses.

SHA-256 of a leaf begins with byte 0 and the number of the row (4 bytes, big endian), that of a node with
byte 1; a node without a neighbour goes up unchanged. Answers are 4 bytes each, little endian.
"""

from __future__ import annotations

import hashlib
from typing import Any

from .check import digest

__all__ = ["SAMPLE", "leaf", "path_of", "root_from_path", "root_of", "sample_rows"]

SAMPLE = 16


def leaf(row: int, answers: bytes) -> bytes:
    return hashlib.sha256(b"\0" + row.to_bytes(4, "big") + answers).digest()


def levels(leaves: list[bytes]) -> list[list[bytes]]:
    """The tree from its leaves to its root."""
    found = [leaves]
    while len(found[-1]) > 1:
        below = found[-1]
        pairs = zip(below[::2], below[1::2], strict=False)
        above = [hashlib.sha256(b"\1" + x + y).digest() for x, y in pairs]
        found.append(above + below[2 * len(above) :])
    return found


def root_of(leaves: list[bytes]) -> bytes:
    return levels(leaves)[-1][0]


def path_of(leaves: list[bytes], row: int) -> list[bytes]:
    """The neighbours of a leaf and of the nodes above it, where there are any."""
    path = []
    for level in levels(leaves)[:-1]:
        if row ^ 1 < len(level):
            path.append(level[row ^ 1])
        row //= 2
    return path


def root_from_path(row: int, rows: int, hashed: bytes, path: list[bytes]) -> bytes | None:
    """The root above a leaf; None if the path has not the length it must have."""
    rest = list(path)
    while rows > 1:
        if row ^ 1 < rows:
            if not rest:
                return None
            other = rest.pop(0)
            left, right = (other, hashed) if row % 2 else (hashed, other)
            hashed = hashlib.sha256(b"\1" + left + right).digest()
        row, rows = row // 2, (rows + 1) // 2
    return None if rest else hashed


def sample_rows(stated: dict[str, Any], rows: int) -> list[int]:
    """Row 0 and up to 16 others, chosen by the digest of all that is stated, the root included."""
    wanted = min(SAMPLE, rows - 1)
    seed, chosen, k = digest(stated), set[int](), 0
    while len(chosen) < wanted:
        text = f"exactattn sample 1|{seed}|{k}"
        number = int.from_bytes(hashlib.sha256(text.encode("ascii")).digest(), "big")
        chosen.add(1 + number % (rows - 1))
        k += 1
    return [0, *sorted(chosen)]
