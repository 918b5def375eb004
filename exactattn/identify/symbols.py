"""The letters of the formulas, and the numbers they stand for in one layer.

G is written H where there are as many groups as heads, C is written D where both head sizes are equal, F is
written E where keys and values come from the same width, so that formulas stay as short as the layer is
plain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import sympy

from exactattn.exceptions import InputError
from exactattn.identify.spec import AttentionSpec

__all__ = ["LEGEND", "Symbols", "product_fibre"]

LEGEND: Mapping[str, str] = {
    "E": "width",
    "F": "width of the other sequence (cross-attention)",
    "H": "query heads",
    "G": "key/value groups",
    "D": "query/key head size",
    "C": "value head size",
    "R": "rotated dimensions of a head",
    "r": "rank of the key/value latent",
    "r_q": "rank of the query latent",
    "B": "relative-bias buckets",
    "U": "relative-bias buckets that no pair of positions reaches",
}


@dataclass(frozen=True)
class Symbols:
    """Sympy symbols for the sizes of one architecture, with their numbers.

    >>> letters = Symbols(AttentionSpec.of(width=8, heads=2))
    >>> letters.G, letters.R, letters.number(letters.E * letters.D)
    (H, 0, 32)
    """

    spec: AttentionSpec

    @cached_property
    def values(self) -> dict[sympy.Expr, int]:
        """Number of each symbol in use."""
        spec = self.spec
        sizes = {"E": spec.width, "H": spec.heads, "D": spec.head_size}
        if spec.key_width != spec.width:
            sizes["F"] = spec.key_width
        if spec.groups != spec.heads:
            sizes["G"] = spec.groups
        if spec.value_size != spec.head_size:
            sizes["C"] = spec.value_size
        if spec.rotary is not None:
            sizes["R"] = spec.rotated
        if spec.key_value_latent is not None:
            sizes["r"] = spec.key_value_latent.rank
        if spec.query_latent is not None:
            sizes["r_q"] = spec.query_latent.rank
        if spec.relative_bias is not None:
            sizes["B"] = spec.relative_bias.buckets
            unreached = spec.relative_bias.buckets - len(spec.relative_bias.reached(causal=spec.causal))
            if unreached:
                sizes["U"] = unreached
        return {sympy.Symbol(name, integer=True, positive=True): value for name, value in sizes.items()}

    def _symbol(self, name: str, otherwise: str | int = 0) -> sympy.Expr:
        for symbol in self.values:
            if str(symbol) == name:
                return symbol
        return sympy.Integer(otherwise) if isinstance(otherwise, int) else self._symbol(otherwise)

    @property
    def E(self) -> sympy.Expr:
        """Width."""
        return self._symbol("E")

    @property
    def F(self) -> sympy.Expr:
        """Width of what keys and values are projected from."""
        return self._symbol("F", "E")

    @property
    def H(self) -> sympy.Expr:
        """Query heads."""
        return self._symbol("H")

    @property
    def G(self) -> sympy.Expr:
        """Key/value groups."""
        return self._symbol("G", "H")

    @property
    def D(self) -> sympy.Expr:
        """Query/key head size."""
        return self._symbol("D")

    @property
    def C(self) -> sympy.Expr:
        """Value head size."""
        return self._symbol("C", "D")

    @property
    def R(self) -> sympy.Expr:
        """Rotated dimensions of a head; D itself where all of it is rotated."""
        return self.D if self.spec.rotated == self.spec.head_size else self._symbol("R")

    @property
    def r(self) -> sympy.Expr:
        """Rank of the key/value latent."""
        return self._symbol("r")

    @property
    def r_q(self) -> sympy.Expr:
        """Rank of the query latent."""
        return self._symbol("r_q")

    @property
    def B(self) -> sympy.Expr:
        """Buckets of the relative-bias table."""
        return self._symbol("B")

    @property
    def U(self) -> sympy.Expr:
        """Buckets never reached."""
        return self._symbol("U")

    def number(self, expression: sympy.Expr) -> int:
        """The integer an expression in these symbols stands for."""
        value = sympy.sympify(expression).subs(self.values)
        if not value.is_Integer:
            raise InputError(f"the formula {expression} has no integer value here")
        return int(value)

    def minimum(self, *expressions: sympy.Expr) -> sympy.Expr:
        """That of the expressions which is smallest at these sizes; the first of equal ones."""
        return min(expressions, key=self.number)

    def fibre(self, size: sympy.Expr, left: sympy.Expr, right: sympy.Expr) -> sympy.Expr:
        """:func:`product_fibre` in the regime of these sizes."""
        return product_fibre(size, left, right, self.minimum(size, left, right))


def product_fibre(size: sympy.Expr, left: sympy.Expr, right: sympy.Expr, rank: sympy.Expr) -> sympy.Expr:
    """Dimension of the generic fibre of (A, B) ↦ A B, A of left×size, B of size×right, rank = min of the
    three.

    Products are the matrices of that rank, a variety of dimension rank·(left + right − rank).

    >>> E, D = sympy.symbols("E D")
    >>> product_fibre(D, E, E, D), product_fibre(D, E, E, E)
    (D**2, 2*D*E - E**2)
    """
    if rank == size:
        return size**2
    return sympy.expand(size * (left + right) - rank * (left + right - rank))
