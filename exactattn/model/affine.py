"""Layers with biases, and what of the biases can be seen.

The score of query token x and key token y is (W_Q x + b_Q)·(W_K y + b_K). What depends on x alone is equal
for all keys and leaves softmax, so b_K vanishes; what is left is (1, x)^T W y with W of size (d+1)×d: the row
W_K^T b_Q, then W_Q^T W_K. Value and output biases join one constant c, as softmax rows sum to 1 (theory,
section 5):

    f(X) = c + Σ_h v_h · Σ_j softmax_j((1, x_n)^T W_h x_j) x_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.model.heads import Attention, Head
from exactattn.model.query import Query
from exactattn.numbers import Matrix, NumberSystem, Vector, dot, rational, rational_vector, to_matrix

__all__ = ["AffineAttention", "AffineHead", "BiasedHead", "evaluate_with_biases"]


@dataclass(frozen=True, order=True)
class AffineHead:
    """One head: W ((d+1)×d rationals, by rows, the query bias first) and v (d rationals).

    >>> AffineHead.of([[5], [1]], [2]).W
    ((5,), (1,))
    """

    W: Matrix
    v: Vector

    @classmethod
    def of(cls, W: Sequence[Sequence[Any]], v: Sequence[Any]) -> AffineHead:
        """A head from numbers that :func:`~exactattn.numbers.rational` reads. InputError on bad shapes."""
        vector, matrix = rational_vector(v), tuple(rational_vector(row) for row in W)
        d = len(vector)
        if d == 0 or len(matrix) != d + 1 or any(len(row) != d for row in matrix):
            raise InputError(f"v has {d} entries, so W must be {d + 1}×{d}, the query bias first", field="W")
        return cls(matrix, vector)


@dataclass(frozen=True)
class AffineAttention:
    """A layer with a query bias in each head and a constant output.

    >>> layer = AffineAttention.of([AffineHead.of([[5], [1]], [2]), AffineHead.of([[5], [1]], [3])], 7)
    >>> len(layer.canonical().heads), layer.constant
    (1, 7)
    """

    heads: tuple[AffineHead, ...]
    dim: int
    constant: fmpq
    name: str = field(default="", compare=False)

    @classmethod
    def of(cls, heads: Sequence[AffineHead], constant: Any = 0, dim: int | None = None) -> AffineAttention:
        """A layer of heads of one size. Raises InputError if sizes differ, or none is known."""
        sizes = {len(h.v) for h in heads} | ({dim} if dim is not None else set())
        if len(sizes) != 1:
            raise InputError(f"heads have token sizes {sorted(sizes)}; one size is needed")
        return cls(tuple(heads), sizes.pop(), rational(constant))

    def lifted(self) -> Attention:
        """The same function as a plain layer of tokens (1, x): a zero column in front of W, and the constant
        as the first entry of one v."""
        zero = fmpq(0)
        heads = [Head(tuple((zero, *row) for row in h.W), (zero, *h.v)) for h in self.heads]
        flat = ((zero,) * (self.dim + 1),) * (self.dim + 1)
        heads.append(Head(flat, (self.constant, *([zero] * self.dim))))
        return Attention(tuple(heads), self.dim + 1)

    def canonical(self) -> AffineAttention:
        """Equal W merged, zero v dropped, heads sorted: a representative unique for the function."""
        merged: dict[Matrix, list[fmpq]] = {}
        for head in self.heads:
            total = merged.setdefault(head.W, [fmpq(0)] * self.dim)
            for i, x in enumerate(head.v):
                total[i] += x
        kept = sorted(AffineHead(W, tuple(v)) for W, v in merged.items() if any(x != 0 for x in v))
        return AffineAttention(tuple(kept), self.dim, self.constant, self.name)


@dataclass(frozen=True)
class BiasedHead:
    """A head as it is stored: query and key projections (D×d) with biases (D), v (d), and what its value bias
    adds to the output.

    >>> head = BiasedHead.of([[1]], [2], [[3]], [4], [1])
    >>> head.affine().W   # the query bias 2·3, then 1·3; the key bias 4 is gone
    ((6,), (3,))
    """

    W_Q: Matrix
    b_Q: Vector
    W_K: Matrix
    b_K: Vector
    v: Vector

    @classmethod
    def of(cls, W_Q: Any, b_Q: Any, W_K: Any, b_K: Any, v: Any) -> BiasedHead:
        """A head from numbers. InputError on bad shapes."""
        query, key = (tuple(rational_vector(row) for row in M) for M in (W_Q, W_K))
        head = cls(query, rational_vector(b_Q), key, rational_vector(b_K), rational_vector(v))
        widths = {len(row) for row in (*query, *key)} | {len(head.v)}
        if len({len(query), len(key), len(head.b_Q), len(head.b_K)}) != 1 or len(widths) != 1:
            raise InputError("projections must be D×d, their biases of D entries and v of d entries")
        return head

    def score(self, last: Vector, tok: Vector) -> fmpq:
        """(W_Q x + b_Q)·(W_K y + b_K)."""
        query = tuple(dot(row, last) + b for row, b in zip(self.W_Q, self.b_Q, strict=True))
        key = tuple(dot(row, tok) + b for row, b in zip(self.W_K, self.b_K, strict=True))
        return dot(query, key)

    def affine(self) -> AffineHead:
        """What can be seen of it."""
        key, query = to_matrix(self.W_K), to_matrix(self.W_Q)
        bias = (key.transpose() * to_matrix([(b,) for b in self.b_Q])).entries()
        rows = (query.transpose() * key).tolist()
        return AffineHead((tuple(bias), *(tuple(row) for row in rows)), self.v)


def evaluate_with_biases(
    heads: Sequence[BiasedHead], constant: fmpq, query: Query, system: NumberSystem[Any, Any]
) -> Any:
    """The output at a query from stored projections, every bias in place.

    >>> from exactattn.model import token
    >>> from exactattn.numbers import LogLattice
    >>> head = BiasedHead.of([[1]], [0], [[1]], [9], [1])
    >>> evaluate_with_biases([head], fmpq(0), Query.of([(token(2), 1)], token(1)), LogLattice())
    5/3
    """
    with system.context():
        terms = [system.value(constant)]
        for head in heads:
            own = head.score(query.last, query.last)
            weighted = [(system.value(fmpq(1)), query.last)]
            weighted += [
                (system.exp(head.score(query.last, tok) - own) * count, tok) for tok, count in query.runs
            ]
            total = system.sum([w for w, _ in weighted])
            terms.append(system.sum([w * system.value(dot(head.v, tok)) for w, tok in weighted]) / total)
        return system.sum(terms)
