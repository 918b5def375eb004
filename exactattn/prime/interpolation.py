"""Partial fractions of many probes at once: values at fixed nodes in, exponents and residues out.

g(m) = Σ_h c_h/(m + r_h) with r_h = g^{e_h}. Moments at the nodes are a fixed linear map (theory, section 3);
their recurrence has the roots r_h. With D(x) = Π (x + r_h), N = g D is a polynomial of degree below K known
at K nodes, and c_h = N(−r_h)/D'(−r_h).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exactattn.prime.arithmetic import Array, product, times
from exactattn.prime.field import PrimeField

__all__ = ["Fractions", "Interpolation"]


@dataclass(frozen=True)
class Fractions:
    """Exponents e_h of the r_h and residues c_h, (K, P) each, in any order of the heads in each column;
    columns in ``bad`` are not K distinct poles with non-zero residues, or could not be solved this way."""

    exponents: Array
    residues: Array
    bad: NDArray[np.bool_]

    @classmethod
    def join(cls, parts: Sequence[Fractions]) -> Fractions:
        """Side by side."""
        return cls(
            np.concatenate([part.exponents for part in parts], axis=1),
            np.concatenate([part.residues for part in parts], axis=1),
            np.concatenate([part.bad for part in parts]),
        )


@dataclass(frozen=True)
class Interpolation:
    """Interpolation with K = ``rank`` poles at the nodes ``copies`` (N ≥ 2K small distinct integers).

    >>> solver = Interpolation(PrimeField(), (1, 2), 1)
    >>> f = PrimeField()
    >>> values = f.residues(np.array([[5 * pow(1 + 31, -1, f.prime)], [5 * pow(2 + 31, -1, f.prime)]]))
    >>> found = solver(values)
    >>> found.exponents.tolist(), found.residues.tolist(), found.bad.tolist()    # 5/(m + g), g = 31
    ([[1]], [[5]], [False])
    """

    field: PrimeField
    copies: tuple[int, ...]
    rank: int

    @cached_property
    def _moments(self) -> Array:
        """Row k holds λ_m (−m)^k, λ_m = 1/Π_{j≠m} (m − j)."""
        p, nodes = self.field.prime, self.copies
        rows = []
        row = []
        for m in nodes:
            weight = 1
            for j in nodes:
                if j != m:
                    weight = weight * (m - j) % p
            row.append(pow(weight, -1, p))
        for _ in nodes:
            rows.append(row)
            row = [w * -m % p for w, m in zip(row, nodes, strict=True)]
        return np.array(rows, dtype=np.uint64)

    @cached_property
    def _at_nodes(self) -> Array:
        """Takes coefficients z^0 … z^K to values at z = −m, for the first K nodes."""
        p = self.field.prime
        rows = [[pow(-m, k, p) for k in range(self.rank + 1)] for m in self.copies[: self.rank]]
        return np.array(rows, dtype=np.uint64)

    @cached_property
    def _from_nodes(self) -> Array:
        """Takes values at z = −m, for the first K nodes, to coefficients z^0 … z^{K−1}."""
        p, K = self.field.prime, self.rank
        nodes = [-m % p for m in self.copies[:K]]
        vanishing = [1]
        for x in nodes:
            shifted = [0, *vanishing]
            vanishing = [(s - x * c) % p for s, c in zip(shifted, [*vanishing, 0], strict=True)]
        columns = []
        for x in nodes:
            quotient, value, slope = [0] * K, 0, 0
            for k in range(K, 0, -1):  # division by z − x
                value = (vanishing[k] + x * value) % p
                quotient[k - 1] = value
            for c in reversed(quotient):
                slope = (slope * x + c) % p
            columns.append([c * pow(slope, -1, p) % p for c in quotient])
        return np.array(columns, dtype=np.uint64).T

    def __call__(self, values: Array) -> Fractions:
        """Values (N, P) of g at the nodes. With N > 2K nodes all further moments are checked."""
        p = self.field.p
        moments = product(self._moments, values, p)
        polynomials, bad = self.field.kernels.recurrences(moments, self.rank, self.field)
        exponents, roots, no_roots = self.field.kernels.root_exponents(polynomials, self.field)
        bad |= no_roots
        residues = self._residues(values, polynomials, roots)
        bad |= (residues == 0).any(axis=0)
        return Fractions(exponents, residues, bad)

    def _residues(self, values: Array, polynomials: Array, roots: Array) -> Array:
        """−Ñ(r)/Q'(r), with Q(z) = Π (z − r_h) and Ñ(−m) = g(m) Q(−m)."""
        p, K = self.field.p, self.rank
        if K == 0:
            return np.zeros((0, values.shape[1]), dtype=np.uint64)
        at_nodes = times(product(self._at_nodes, polynomials, p), values[:K], p)
        numerator = product(self._from_nodes, at_nodes, p)
        return self.field.kernels.residue_quotients(numerator, polynomials, roots, self.field)
