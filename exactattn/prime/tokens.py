"""The tokens of plans over a prime field: the rows of unimodular matrices.

B = I + x y^T and U = I + x' y'^T with y·x = y'·x' = 0 are dense, small and integral, and their inverses are
I − x y^T and I − x' y'^T, so no determinant stands in the way modulo p − 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from exactattn.exceptions import InputError
from exactattn.prime.layer import Tokens
from exactattn.recovery.draw import draw_vector

__all__ = ["MOST_HEADS", "RADIUS", "UnimodularPlan", "orthogonal", "unimodular"]

RADIUS = 12
MOST_HEADS = 255  # labels are bytes


def unimodular(seed: int, name: str, dim: int) -> tuple[Tokens, Tokens]:
    """x and y with y·x = 0 and small entries, most of them not 0.

    >>> x, y = unimodular(1, "u", 5)
    >>> int(x @ y), bool((x != 0).all())
    (0, True)
    """
    drawn = [int(c.p) for c in draw_vector(seed, name, 0, 0, dim, RADIUS)]
    x = np.array([c or RADIUS + 1 for c in drawn], dtype=np.int64)
    return x, orthogonal(x)


def orthogonal(x: Tokens) -> Tokens:
    """A vector y with y·x = 0, made of pairs and at most one triple of entries.

    >>> orthogonal(np.array([1, 2, 3, 4, 5])).tolist()
    [2, -1, -1, 2, -1]
    """
    dim = len(x)
    y = np.zeros(dim, dtype=np.int64)
    even = dim - dim % 2
    y[0:even:2], y[1:even:2] = x[1:even:2], -x[0:even:2]
    if dim % 2 and dim > 1:
        a, b, c = x[-3:]
        y[-3:] = (b - c, c - a, a - b)
    return y


class UnimodularPlan(ABC):
    """What both kinds of plans share: directions u_1 … u_d and last tokens b_1, b_2, … from such matrices.

    With a bias there is one last token more, b_1, and the rows of B are added to it.
    """

    heads: int
    dim: int
    seed: int
    bias: bool

    @property
    def rows(self) -> int:
        """The number of last tokens: d, or d + 1 with a bias."""
        return self.dim + self.bias

    @property
    @abstractmethod
    def u_factors(self) -> tuple[Tokens, Tokens]:
        """x' and y'."""

    @property
    @abstractmethod
    def b_factors(self) -> tuple[Tokens, Tokens]:
        """x and y."""

    @abstractmethod
    def first_token(self) -> Tokens:
        """b_1 (d) of a plan with a bias."""

    @cached_property
    def u(self) -> Tokens:
        """The differences u_1 … u_d, by rows."""
        return np.eye(self.dim, dtype=np.int64) + np.outer(*self.u_factors)

    @cached_property
    def b(self) -> Tokens:
        """The last tokens, by rows."""
        rows = np.eye(self.dim, dtype=np.int64) + np.outer(*self.b_factors)
        if not self.bias:
            return rows
        first = self.first_token()[None]
        return np.concatenate([first, rows + first])

    def require_sizes(self) -> None:
        """Raises InputError for numbers of heads or token sizes that no plan has."""
        for name, number in (("heads", self.heads), ("dim", self.dim)):
            if number < 1:
                raise InputError(f"must be at least 1, not {number}", field=name)
        if self.heads > MOST_HEADS:
            raise InputError(f"must be at most {MOST_HEADS}, not {self.heads}", field="heads")
