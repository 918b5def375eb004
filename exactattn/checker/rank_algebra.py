"""Elimination modulo a prime."""

from __future__ import annotations

from .check import dot, refuse
from .rank_layer import Rows

__all__ = ["kernel", "product", "rank"]


def echelon(rows: Rows, size: int, p: int) -> list[tuple[int, list[int]]]:
    """Pivots and rows of the reduced echelon form."""
    found: list[tuple[int, list[int]]] = []
    work = [row[:] for row in rows]
    for column in range(size):
        at = next((k for k, row in enumerate(work) if row[column]), None)
        if at is None:
            continue
        pivot = work.pop(at)
        inverse = pow(pivot[column], -1, p)
        pivot = [x * inverse % p for x in pivot]
        for row in [*work, *(row for _, row in found)]:
            if row[column]:
                factor = p - row[column]
                row[:] = [(x + factor * y) % p for x, y in zip(row, pivot, strict=True)]
        found.append((column, pivot))
    return found


def rank(rows: Rows, p: int) -> int:
    """The number of independent rows."""
    found = 0
    while rows and rows[0]:
        at = next((k for k, row in enumerate(rows) if row[0]), None)
        if at is None:
            rows = [row[1:] for row in rows]
            continue
        inverse = p - pow(rows[at][0], -1, p)
        pivot = [x * inverse % p for x in rows[at][1:]]
        others = rows[:at] + rows[at + 1 :]
        rows = [[(x + row[0] * y) % p for x, y in zip(row[1:], pivot, strict=True)] for row in others]
        found += 1
    return found


def kernel(rows: Rows, size: int, p: int) -> Rows:
    """A basis of the vectors orthogonal to all rows, which must have the greatest rank they can have: then
    the dimension is the same at almost every point."""
    reduced = echelon(rows, size, p)
    if len(reduced) < min(len(rows), size):
        refuse("seed", "a projection has less than full rank at this point")
    basis = []
    for free in sorted(set(range(size)) - {pivot for pivot, _ in reduced}):
        vector = [int(k == free) for k in range(size)]
        for pivot, row in reduced:
            vector[pivot] = -row[free] % p
        basis.append(vector)
    return basis


def product(X: Rows, Y: Rows, p: int) -> Rows:
    columns = list(zip(*Y, strict=True))
    return [[dot(row, column) % p for column in columns] for row in X]
