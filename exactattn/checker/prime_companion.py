"""The companion file of a certificate: the integers of all heads, read once, piece by piece.

After one line of text come, in two's complement and little endian, the entries of the N_h, row by row, in a
row head by head (``score_width`` bytes each), then those of the v_h and the constant (``value_width`` bytes).
Of the N_h only residues are kept, four bytes each.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from array import array
from math import gcd, lcm, prod
from typing import Any, BinaryIO, NamedTuple

from .check import count, exactly, record, refuse

__all__ = ["HEADER", "Heads", "Shape", "check_companion", "read_heads_file"]

HEADER = b"exactattn heads 1\n"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
SHA256 = re.compile(r"[0-9a-f]{64}")
MAX_WIDTH = 64
PIECE = 1 << 20


class Shape(NamedTuple):
    """Numbers of heads, rows and columns, and bytes of one score and of one value."""

    heads: int
    rows: int
    dim: int
    score_width: int
    value_width: int

    @property
    def size(self) -> int:
        scores = self.heads * self.rows * self.dim * self.score_width
        return len(HEADER) + scores + (self.heads * self.dim + 1) * self.value_width


class Heads(NamedTuple):
    """Rows of the N_h modulo p - 1 at the witness, (K d) each, all v_h (K d), and the constant."""

    rows: list[array[int]]
    values: list[int]
    constant: int


def check_companion(x: Any, heads: int, rows: int, dim: int) -> Shape:
    """The description of the file, without opening it."""
    record(x, "companion", {"name", "bytes", "sha256", "score_width", "value_width"})
    if type(x["name"]) is not str or not NAME.fullmatch(x["name"]):
        refuse("companion.name", "must be the name of a file beside the certificate: letters, digits, . _ -")
    if type(x["sha256"]) is not str or not SHA256.fullmatch(x["sha256"]):
        refuse("companion.sha256", "must be 64 hexadecimal digits")
    widths = (count(x[key], f"companion.{key}", 1, MAX_WIDTH) for key in ("score_width", "value_width"))
    shape = Shape(heads, rows, dim, *widths)
    exactly(x["bytes"], "companion.bytes", shape.size)
    return shape


def read_heads_file(file: Any, given: dict[str, Any], shape: Shape, primes: list[int], p: int) -> Heads:
    """Reads the companion of the certificate ``file``; verified are its digest, the ranges of its integers,
    and that heads can be told apart across primes."""
    name = given["name"]
    path = os.path.join(os.path.dirname(file), name)
    try:
        status = os.stat(path)  # before it is opened: a pipe would not end
        if not stat.S_ISREG(status.st_mode) or status.st_size != shape.size:
            refuse("companion", f"the file {name} has not the {shape.size} bytes stated: it was altered")
        with open(path, "rb") as stream:
            return _Reader(stream, shape, primes).heads(p, given)
    except OSError as error:
        refuse("companion", f"the file {name} beside the certificate cannot be read ({error.strerror})")


class _Reader:
    def __init__(self, stream: BinaryIO, shape: Shape, primes: list[int]) -> None:
        self.stream = stream
        self.shape = shape
        self.primes = primes
        self.hash = hashlib.sha256()

    def heads(self, p: int, given: dict[str, Any]) -> Heads:
        shape, n = self.shape, p - 1
        L, P = lcm(*(q - 1 for q in self.primes)), prod(self.primes)
        header = self.take(len(HEADER))
        shared = self.shared_factors()
        alike = {g: [(h, k) for h in range(shape.heads) for k in range(h)] for g in shared}
        rows = []
        for _ in range(shape.rows):
            entries = self.integers(shape.heads * shape.dim, shape.score_width, L, "a score")
            rows.append(array("I", [x % n for x in entries]))
            for g, pairs in alike.items():
                alike[g] = [pair for pair in pairs if self.equal(entries, *pair, g)]
        values = self.integers(shape.heads * shape.dim, shape.value_width, P, "a value")
        (constant,) = self.integers(1, shape.value_width, P, "the constant")
        if self.hash.hexdigest() != given["sha256"]:
            refuse("companion", f"the file {given['name']} has not the SHA-256 stated: it was altered")
        if header != HEADER:
            refuse("companion", f"the file {given['name']} is not a file of heads")
        for g, pairs in alike.items():
            if pairs:
                refuse("primes", f"two heads are equal modulo {g}: they cannot be told apart across primes")
        return Heads(rows, values, constant)

    def take(self, size: int) -> bytes:
        data = self.stream.read(size)
        self.hash.update(data)
        return data

    def integers(self, number: int, width: int, modulus: int, what: str) -> list[int]:
        data = self.take(number * width)
        if len(data) != number * width:
            refuse("companion", "the file ended early: it was altered")
        found = [
            int.from_bytes(data[i : i + width], "little", signed=True) for i in range(0, len(data), width)
        ]
        if 2 * max(map(abs, found)) >= modulus:
            refuse("companion", f"{what} lies outside the range that the primes determine")
        return found

    def shared_factors(self) -> list[int]:
        """What each p - 1 has in common with those before it."""
        found, known = [], self.primes[0] - 1
        for q in self.primes[1:]:
            found.append(gcd(known, q - 1))
            known = lcm(known, q - 1)
        return found

    def equal(self, entries: list[int], h: int, k: int, g: int) -> bool:
        d = self.shape.dim
        one, other = entries[h * d : (h + 1) * d], entries[k * d : (k + 1) * d]
        return all((x - y) % g == 0 for x, y in zip(one, other, strict=True))
