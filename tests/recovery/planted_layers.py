"""Layers of a given rank, for the tests and benchmarks of the methods."""

from __future__ import annotations

import random

import numpy as np
from flint import fmpq

from exactattn.model import Attention, Head
from exactattn.numbers import rational


def real_layer(heads: int, dim: int, rank: int, seed: int) -> Attention:
    """Normal float64 entries; matrices are exact products of normal factors, entries of unit variance."""
    rng = np.random.default_rng([heads, dim, rank, seed])
    found = []
    for _ in range(heads):
        scale = rank**-0.25
        left, right = rng.standard_normal((dim, rank)) * scale, rng.standard_normal((rank, dim)) * scale
        if rank == dim:
            W = [[rational(x) for x in row] for row in rng.standard_normal((dim, dim))]
        else:
            W = [
                [sum((rational(x) * rational(y) for x, y in zip(row, column, strict=True)), fmpq(0))
                 for column in right.T]
                for row in left
            ]  # fmt: skip
        found.append(Head.of(W, rng.standard_normal(dim)))
    return Attention.of(found)


def integral_layer(heads: int, dim: int, rank: int, seed: int) -> Attention:
    """Small integers; exactly this rank unless small numbers coincide; all v different."""
    rng = random.Random(f"{heads} {dim} {rank} {seed}")
    found: list[Head] = []
    while len(found) < heads:
        left = [[rng.randint(-2, 2) for _ in range(rank)] for _ in range(dim)]
        right = [[rng.randint(-2, 2) for _ in range(dim)] for _ in range(rank)]
        W = [
            [sum(a * b for a, b in zip(row, c, strict=True)) for c in zip(*right, strict=True)]
            for row in left
        ]
        v = [rng.randint(-9, 9) or 5 for _ in range(dim)]
        head = Head.of(W, v)
        if all(head.v != other.v and head.W != other.W for other in found):
            found.append(head)
    return Attention.of(found)
