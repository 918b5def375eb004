"""Distinct interpolation nodes, with the linear maps that depend on them alone.

Rational nodes are brought to a common denominator D and replaced by the integers X = D x; then
c / (x + r) = (c D) / (X + r D), so every computation may take the nodes to be integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import fmpq, fmpz, fmpz_mat, fmpz_poly, nmod, nmod_mat, nmod_poly

from exactattn.exceptions import InputError
from exactattn.numbers import common_denominator

__all__ = ["Nodes", "prepared_nodes"]

KEPT = 16


@dataclass(frozen=True, eq=False)
class Nodes:
    """N distinct nodes x_1, …, x_N, as the integers ``points`` = ``scale`` · x.

    >>> nodes = Nodes.of((fmpq(1, 2), fmpq(1, 3)))
    >>> nodes.points, nodes.scale
    ((3, 2), 6)
    """

    given: tuple[fmpq, ...]
    points: tuple[fmpz, ...]
    scale: int

    @classmethod
    def of(cls, given: tuple[fmpq, ...]) -> Nodes:
        """The nodes. Raises InputError if one is repeated."""
        scale = common_denominator(given)
        points = tuple((x * scale).p for x in given)
        if len(set(points)) < len(points):
            repeated = next(x for i, x in enumerate(given) if x in given[:i])
            raise InputError(f"the node {repeated} is given twice; nodes must be distinct", field="nodes")
        return cls(given, points, scale)

    def moment_map(self, prime: int) -> tuple[nmod_mat, nmod_poly] | None:
        """Modulo a prime: the N×N matrix that takes values to moments μ_k = Σ_m λ_m X_m^k g(m), k < N, with
        λ_m = 1/Π_{j≠m} (X_m − X_j) (theory, section 3), and the polynomial Π_m (X − X_m).

        None if two nodes, or a node and infinity, are equal modulo the prime.
        """
        if prime not in self._moment_maps:
            self._moment_maps[prime] = self._new_moment_map(prime)
        return self._moment_maps[prime]

    def _new_moment_map(self, prime: int) -> tuple[nmod_mat, nmod_poly] | None:
        vanishing = nmod_poly(product_of_linear_factors(self.points).coeffs(), prime)
        slope = vanishing.derivative()
        points = [nmod(x, prime) for x in self.points]
        slopes = [slope(x) for x in points]
        if self.scale % prime == 0 or not all(slopes):
            return None
        row = [1 / s for s in slopes]
        entries = list(row)
        for _ in range(1, len(points)):
            row = [w * x for w, x in zip(row, points, strict=True)]
            entries += row
        return nmod_mat(len(points), len(points), entries, prime), vanishing

    @cached_property
    def _moment_maps(self) -> dict[int, tuple[nmod_mat, nmod_poly] | None]:
        return {}

    @cached_property
    def _leading(self) -> dict[int, Nodes]:
        return {}

    @cached_property
    def lagrange_basis(self) -> tuple[fmpz_mat, fmpz]:
        """An N×N integer matrix B and an integer b ≠ 0: the polynomial of degree < N with the values w at
        the points has the coefficients B w / b."""
        vanishing = product_of_linear_factors(self.points)
        slope = vanishing.derivative()
        slopes = [slope(x) for x in self.points]
        common = fmpz(1)
        for s in slopes:
            common = common.lcm(s)
        columns = [
            ((common // s) * (vanishing // fmpz_poly([-x, 1]))).coeffs()
            for x, s in zip(self.points, slopes, strict=True)
        ]
        return fmpz_mat(columns).transpose(), common

    def leading(self, count: int) -> Nodes:
        """The first ``count`` points, as nodes of their own."""
        if count == len(self.points) and self.scale == 1:
            return self
        if count not in self._leading:
            points = self.points[:count]
            self._leading[count] = Nodes(tuple(map(fmpq, points)), points, 1)
        return self._leading[count]

    @cached_property
    def powers(self) -> list[list[fmpz]]:
        """1, X, …, X^⌊N/2⌋ for every point X."""
        rows = []
        for x in self.points:
            row = [fmpz(1)]
            for _ in range(len(self.points) // 2):
                row.append(row[-1] * x)
            rows.append(row)
        return rows


_recent: list[Nodes] = []


def prepared_nodes(given: Sequence[fmpq]) -> Nodes:
    """:meth:`Nodes.of`, remembering the last few: probes are asked at the same copy counts again and again.

    The list is searched by comparing, since hashing rationals costs more than small interpolations.
    """
    key = tuple(given)
    for nodes in _recent:
        if nodes.given == key:
            return nodes
    nodes = Nodes.of(key)
    _recent.insert(0, nodes)
    del _recent[KEPT:]
    return nodes


def product_of_linear_factors(points: Sequence[fmpz]) -> fmpz_poly:
    """Π (X − x) over the points x."""
    factors = [fmpz_poly([-x, 1]) for x in points] or [fmpz_poly([1])]
    while len(factors) > 1:
        odd = factors[len(factors) & ~1 :]
        factors = [f * g for f, g in zip(factors[::2], factors[1::2], strict=False)] + odd
    return factors[0]
