"""The published plan over F_p as the checker derives it again, and the primes themselves.

Entries of vectors are drawn by SHA-256 from the seed. b_i = e_i + x_i y (plus b_1 with a bias) and
u_j = e_j + x'_j y' with y.x = y'.x' = 0, so both matrices have determinant 1: nothing more is needed for them
to be bases, over the reals and modulo any number, and scores of all pairs cost a few steps each.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from .check import Vector, count, dot, items, record, refuse

__all__ = ["Field", "Plan", "derived_plan", "read_primes", "residue_field"]

LARGEST_FACTOR = 31
LEAST_PRIME, MOST_PRIME = 1 << 11, 1 << 31
MAX_PRIMES = 16
LOW_BITS = 16


class Plan(NamedTuple):
    """Token size, whether there is a bias, x and y of the b_i, x' and y' of the u_j, and b_1 with a bias."""

    dim: int
    bias: bool
    b: tuple[Vector, Vector]
    u: tuple[Vector, Vector]
    first: Vector

    @property
    def rows(self) -> int:
        return self.dim + self.bias

    def last(self, i: int) -> Vector:
        """b_i, counted from 0."""
        k = i - self.bias
        unit = [0] * self.dim if k < 0 else [(k == j) + self.b[0][k] * y for j, y in enumerate(self.b[1])]
        return tuple(p + q for p, q in zip(unit, self.first, strict=True))


def derived_plan(seed: int, radius: int, dim: int, *, bias: bool) -> Plan:
    """The plan of a seed."""

    def draw(name: str, index: int) -> Vector:
        texts = (f"exactattn draw 1|{seed}|{name}|{index}|0|{k}" for k in range(dim))
        digests = (int.from_bytes(hashlib.sha256(t.encode("ascii")).digest(), "big") for t in texts)
        return tuple(x % (2 * radius + 1) - radius for x in digests)

    def factors(name: str) -> tuple[Vector, Vector]:
        x = tuple(c or radius + 1 for c in draw(name, 0))
        y = orthogonal(x)
        if dot(x, y):
            refuse("plan", "a base has a determinant other than 1")
        return x, y

    first = draw("b", 1) if bias else (0,) * dim
    return Plan(dim, bias, factors("b"), factors("u"), first)


def orthogonal(x: Vector) -> Vector:
    """y with y.x = 0, from pairs of entries, and the last three if their number is odd."""
    y = [0] * len(x)
    for k in range(0, len(x) - 1, 2):
        y[k], y[k + 1] = x[k + 1], -x[k]
    if len(x) % 2 and len(x) > 1:
        a, b, c = x[-3:]
        y[-3:] = (b - c, c - a, a - b)
    return tuple(y)


class Field(NamedTuple):
    """p, and the tables of g^e for e < 2^16 and of g^(2^16 e)."""

    prime: int
    low: list[int]
    high: list[int]

    def exp(self, e: int) -> int:
        return self.low[e & 0xFFFF] * self.high[e >> LOW_BITS] % self.prime


def residue_field(prime: int, generator: int) -> Field:
    def powers(base: int, length: int) -> list[int]:
        found = [1]
        for _ in range(length - 1):
            found.append(found[-1] * base % prime)
        return found

    steps = ((prime - 1) >> LOW_BITS) + 1
    return Field(prime, powers(generator, 1 << LOW_BITS), powers(pow(generator, 1 << LOW_BITS, prime), steps))


def read_primes(x: Any) -> list[tuple[int, int]]:
    """Pairs of a prime and a generator of its multiplicative group, which proves both (Lucas)."""
    found: list[tuple[int, int]] = []
    for path, given in items(x, "primes", 1, MAX_PRIMES):
        record(given, path, {"prime", "generator"})
        p = count(given["prime"], f"{path}.prime", LEAST_PRIME, MOST_PRIME - 1)
        g = count(given["generator"], f"{path}.generator", 2, p - 1)
        rest, factors = p - 1, []
        for q in range(2, LARGEST_FACTOR + 1):
            if rest % q == 0:
                factors.append(q)
            while rest % q == 0:
                rest //= q
        if rest > 1:
            refuse(f"{path}.prime", f"{p} - 1 has a prime factor above {LARGEST_FACTOR}")
        if pow(g, p - 1, p) != 1 or any(pow(g, (p - 1) // q, p) == 1 for q in factors):
            refuse(f"{path}.generator", f"{g} does not have the order {p} - 1 modulo {p}")
        if any(p == q for q, _ in found):
            refuse(f"{path}.prime", f"{p} is listed twice")
        found.append((p, g))
    return found
