"""Symmetries of a layer's parameters: finite transformations, and their tangent vectors at a point.

Two kinds. A :class:`LinearSymmetry` is a group of matrices g that multiplies some arrays of parameters by g
and others by its inverse or transposed inverse, so that the products which the layer forms stay the same. A
:class:`ShiftSymmetry` adds multiples of vectors that depend on arrays it leaves alone. Entries of parameters
may be any exact numbers: rationals (fmpq), residues (nmod) or balls (arb).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from exactattn.identify.parameters import Array, Parameters

__all__ = ["LinearSymmetry", "Move", "Piece", "PieceKind", "ShiftSymmetry", "Side", "Tangent", "TangentsOnly"]

Tangent = dict[str, dict[tuple[int, ...], Any]]
"""A sparse vector in parameter space: array, index, entry."""

Generator = dict[tuple[int, int], int]


class PieceKind(Enum):
    """A group of matrices on some coordinates."""

    LINEAR = "all invertible matrices"
    ORTHOGONAL = "rotations of all coordinates"
    CENTRED = "rotations that keep the sum of coordinates"
    SIZE = "one positive factor"
    PLANE = "rotation and factor of a plane"
    TURN = "rotation of a plane"


@dataclass(frozen=True)
class Piece:
    """A group on the coordinates listed; for planes they are the first and the second one.

    >>> len(list(Piece(PieceKind.ORTHOGONAL, (0, 1, 2)).generators()))
    3
    """

    kind: PieceKind
    coordinates: tuple[int, ...]

    def generators(self) -> Iterator[Generator]:
        """A basis of the Lie algebra, as sparse integral matrices."""
        c = self.coordinates
        if self.kind is PieceKind.LINEAR:
            yield from ({(i, j): 1} for i in c for j in c)
        elif self.kind is PieceKind.ORTHOGONAL:
            yield from ({(i, j): 1, (j, i): -1} for k, i in enumerate(c) for j in c[k + 1 :])
        elif self.kind is PieceKind.CENTRED:
            yield from (_cycle(c[0], i, j) for k, i in enumerate(c[1:]) for j in c[k + 2 :])
        if self.kind in (PieceKind.SIZE, PieceKind.PLANE):
            yield {(i, i): 1 for i in c}
        if self.kind in (PieceKind.PLANE, PieceKind.TURN):
            yield {(c[0], c[1]): -1, (c[1], c[0]): 1}

    def random_block(self, source: random.Random) -> fmpq_mat:
        """A random element, rational, on the coordinates of this piece."""
        n = len(self.coordinates)
        if self.kind is PieceKind.SIZE:
            return _diagonal(n, fmpq(source.randint(2, 9), source.randint(2, 9)))
        if self.kind is PieceKind.LINEAR:
            return _cayley(_random_matrix(n, source)) * _diagonal(n, fmpq(source.randint(2, 5)))
        skew = fmpq_mat(n, n)
        for generator in Piece(_REST.get(self.kind, self.kind), tuple(range(n))).generators():
            factor = fmpq(source.randint(-9, 9), 7)
            for (i, j), x in generator.items():
                skew[i, j] += factor * x
        turned = _cayley(skew)
        return turned * fmpq(source.randint(2, 5), 3) if self.kind is PieceKind.PLANE else turned


_REST = {PieceKind.PLANE: PieceKind.TURN}


def _cycle(i: int, j: int, k: int) -> Generator:
    """A skew matrix with vanishing rows and columns sums: it turns around the direction (1, …, 1)."""
    return {(i, j): 1, (j, k): 1, (k, i): 1, (j, i): -1, (k, j): -1, (i, k): -1}


def _diagonal(n: int, x: fmpq) -> fmpq_mat:
    return fmpq_mat(n, n, [x if i == j else fmpq(0) for i in range(n) for j in range(n)])


def _random_matrix(n: int, source: random.Random) -> fmpq_mat:
    return fmpq_mat(n, n, [fmpq(source.randint(-9, 9), 11) for _ in range(n * n)])


def _cayley(a: fmpq_mat) -> fmpq_mat:
    """(1 − A)^(-1) (1 + A), a rotation for skew A, with the same invariant vectors of value 0 fixed."""
    one = _diagonal(a.nrows(), fmpq(1))
    return (one - a).inv() * (one + a)


class Side(Enum):
    """How an element g acts on an array X of parameters."""

    LEFT = "g X"
    LEFT_DUAL = "g^-T X"
    RIGHT = "X g^-1"
    RIGHT_DUAL = "X g^T"


@dataclass(frozen=True)
class Move:
    """What g does to one array: which rows (columns, on the right) its coordinates are.

    ``within``: g acts on the right as diag(s) g^(-1) diag(s)^(-1), s the array of that name, which a norm
    multiplies in between.
    """

    array: str
    side: Side
    places: tuple[int, ...]
    within: str | None = None

    @property
    def right(self) -> bool:
        """Whether columns are combined."""
        return self.side in (Side.RIGHT, Side.RIGHT_DUAL)

    def derivative(self, generator: Generator, parameters: Parameters, tangent: Tangent) -> None:
        """Adds the infinitesimal action of a generator to a tangent vector."""
        x = parameters[self.array]
        into = tangent.setdefault(self.array, {})
        for (i, j), a in generator.items():
            # g -> A, g^-T -> -A^T, g^-1 -> -A, g^T -> A^T; entry (i, j) moves place j into place i
            sign = 1 if self.side in (Side.LEFT, Side.RIGHT_DUAL) else -1
            swapped = self.side in (Side.LEFT_DUAL, Side.RIGHT)
            source, target = (i, j) if swapped else (j, i)
            factor: Any = sign * a
            if self.within is not None:
                scales = parameters[self.within]
                factor = scales[source] * factor / scales[target]
            for rest in _others(x, self.right):
                here = (rest, self.places[target]) if self.right else (self.places[target], *rest)
                there = (rest, self.places[source]) if self.right else (self.places[source], *rest)
                into[here] = into[here] + x[there] * factor if here in into else x[there] * factor

    def apply(self, g: Array, inverse: Array, parameters: Parameters) -> None:
        """Replaces the array by what g makes of it; g and its inverse in the numbers of the parameters."""
        x = parameters[self.array].copy()
        places = list(self.places)
        if self.right:
            factor = inverse if self.side is Side.RIGHT else g.T
            if self.within is not None:
                scales = parameters[self.within]
                factor = scales[:, None] * factor / scales[None, :]
            x[:, places] = x[:, places] @ factor
        else:
            x[places] = (g if self.side is Side.LEFT else inverse.T) @ x[places]
        parameters[self.array] = x


def _others(x: Array, right: bool) -> Iterator[Any]:
    if right:
        yield from range(x.shape[0])
    elif x.ndim == 1:
        yield ()
    else:
        yield from ((k,) for k in range(x.shape[1]))


@dataclass(frozen=True)
class LinearSymmetry:
    """A group, the product of its pieces on disjoint coordinates, and its action on arrays of parameters."""

    name: str
    pieces: tuple[Piece, ...]
    moves: tuple[Move, ...]

    def tangents(self, parameters: Parameters) -> Iterator[Tangent]:
        """The tangent vectors of a basis of the Lie algebra."""
        for piece in self.pieces:
            for generator in piece.generators():
                tangent: Tangent = {}
                for move in self.moves:
                    move.derivative(generator, parameters, tangent)
                yield tangent

    def transformed(
        self, parameters: Parameters, source: random.Random, number: Callable[[fmpq], Any]
    ) -> Parameters:
        """The parameters moved by a random element."""
        size = 1 + max(c for piece in self.pieces for c in piece.coordinates)
        g, inverse = (np.array(_diagonal(size, fmpq(1)).tolist(), dtype=object) for _ in range(2))
        for piece in self.pieces:
            block = piece.random_block(source)
            at = np.ix_(piece.coordinates, piece.coordinates)
            g[at], inverse[at] = block.tolist(), block.inv().tolist()
        to_number = np.vectorize(number, otypes=[object])
        moved = dict(parameters)
        for move in self.moves:
            move.apply(to_number(g), to_number(inverse), moved)
        return moved


@dataclass(frozen=True)
class ShiftSymmetry:
    """Vectors any combination of which may be added: they do not depend on what they change."""

    name: str
    vectors: tuple[Tangent, ...]

    def tangents(self, parameters: Parameters) -> Iterator[Tangent]:
        """The vectors themselves."""
        yield from self.vectors

    def transformed(
        self, parameters: Parameters, source: random.Random, number: Callable[[fmpq], Any]
    ) -> Parameters:
        """The parameters plus a random combination of the vectors."""
        moved = {name: array.copy() for name, array in parameters.items()}
        for vector in self.vectors:
            factor = number(fmpq(source.randint(1, 9), 5))
            for name, entries in vector.items():
                for index, x in entries.items():
                    moved[name][index] = moved[name][index] + factor * x
        return moved


@dataclass(frozen=True)
class TangentsOnly:
    """Tangents of a symmetry whose elements are not worked out: sums of these change the function to second
    order.
    """

    name: str
    vectors: tuple[Tangent, ...]

    def tangents(self, parameters: Parameters) -> Iterator[Tangent]:
        """The vectors themselves."""
        yield from self.vectors
