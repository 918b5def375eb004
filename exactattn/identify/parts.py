"""One line of a count: numbers of one kind in a layer, how many there are and how many no data determine."""

from __future__ import annotations

from dataclasses import dataclass, field

import sympy

__all__ = ["Part"]


@dataclass(frozen=True, kw_only=True)
class Part:
    """Parameters that one symmetry moves: their number and the number of directions they are free in.

    ``unidentified`` is exact for the ε of the layer's norms; ``only_at_zero`` counts the directions that
    are free besides when every ε is 0. ``reason`` names the transformations.

    >>> E, H, D = sympy.symbols("E H D")
    >>> Part(name="query/key", parameters=2 * E * H * D, unidentified=H * D**2, reason="GL(D) a group").name
    'query/key'
    """

    name: str
    parameters: sympy.Expr
    unidentified: sympy.Expr = field(default=sympy.Integer(0))
    only_at_zero: sympy.Expr = field(default=sympy.Integer(0))
    reason: str = ""

    @property
    def unidentified_at_zero(self) -> sympy.Expr:
        """The free directions when every ε is 0."""
        return self.unidentified + self.only_at_zero
