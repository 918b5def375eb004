"""Attention heads with exact parameters, and their canonical form.

f(X) = Σ_h v_h · Σ_j softmax_j(x_n^T W_h x_j) x_j, x_n the last token. Scores carry no 1/√d_h: it is absorbed
in W_h. The canonical form merges heads with equal W_h (their v_h are added) and drops merged heads with
v = 0; it is all that value queries can see, and unique up to permutation (theory, section 1; multi-head
query paper, arXiv 2608.03294).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.numbers import Matrix, Vector, common_denominator, rational_vector

__all__ = ["Attention", "Head"]


@dataclass(frozen=True, order=True)
class Head:
    """One head: W (d×d rationals, by rows) and v (d rationals).

    >>> Head.of([[1, 0], ["1/2", 3]], [1, -1]).v
    (1, -1)
    """

    W: Matrix
    v: Vector

    @classmethod
    def of(cls, W: Sequence[Sequence[Any]], v: Sequence[Any]) -> Head:
        """A head from numbers that :func:`~exactattn.numbers.rational` reads. InputError on bad shapes."""
        vector = rational_vector(v)
        matrix = tuple(rational_vector(row) for row in W)
        d = len(vector)
        if d == 0:
            raise InputError("v is empty; the token size must be at least 1", field="v")
        if len(matrix) != d or any(len(row) != d for row in matrix):
            shape = f"{len(matrix)}×{'/'.join(sorted({str(len(row)) for row in matrix})) or 0}"
            raise InputError(f"W is {shape}, but v has {d} entries, so W must be {d}×{d}", field="W")
        return cls(matrix, vector)

    @property
    def dim(self) -> int:
        """The token size d."""
        return len(self.v)

    def _repr_latex_(self) -> str:
        from exactattn.model.latex import heads_latex

        return heads_latex([(self.W, self.v)])


@dataclass(frozen=True)
class Attention:
    """Multi-head softmax attention read out at the last token; parameters are exact rationals.

    ``heads`` may be empty (the zero function); ``dim`` is the token size d ≥ 1.

    >>> layer = Attention.of([Head.of([[1]], [2]), Head.of([[1]], [3]), Head.of([[0]], [0])])
    >>> layer.canonical().heads == (Head.of([[1]], [5]),)
    True
    """

    heads: tuple[Head, ...]
    dim: int
    name: str = field(default="", compare=False)

    @classmethod
    def of(cls, heads: Sequence[Head], dim: int | None = None, name: str = "") -> Attention:
        """A layer of heads of one size. Raises InputError if sizes differ, or none is known."""
        sizes = {h.dim for h in heads} | ({dim} if dim is not None else set())
        if len(sizes) != 1:
            raise InputError(
                f"heads have token sizes {sorted(sizes)}; all must be equal"
                if sizes
                else "no head and no size d"
            )
        size = sizes.pop()
        if size < 1:
            raise InputError(f"the token size must be at least 1, not {size}", field="dim")
        return cls(tuple(heads), size, name)

    @cached_property
    def _canonical_heads(self) -> tuple[Head, ...]:
        merged: dict[Matrix, list[fmpq]] = {}
        for head in self.heads:
            total = merged.setdefault(head.W, [fmpq(0)] * self.dim)
            for i, x in enumerate(head.v):
                total[i] += x
        kept = [Head(W, tuple(v)) for W, v in merged.items() if any(x != 0 for x in v)]
        return tuple(sorted(kept))

    def canonical(self) -> Attention:
        """Equal W merged, zero v dropped, heads sorted: a representative unique for the function."""
        return Attention(self._canonical_heads, self.dim, self.name)

    def same_function(self, other: Attention) -> bool:
        """Whether both layers are the same function of every input: equal canonical forms."""
        return self.dim == other.dim and self.canonical() == other.canonical()

    def denominator(self) -> int:
        """The common denominator of the entries of all W: the D of the log-lattice for integral tokens."""
        return common_denominator([x for h in self.heads for row in h.W for x in row])

    def _repr_latex_(self) -> str:
        from exactattn.model.latex import layer_latex

        return layer_latex(self)
