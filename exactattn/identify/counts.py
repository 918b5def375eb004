"""Total, identified and unidentified parameters of a layer, with formulas (theory, section 8).

Unidentified: the dimension of the generic fibre of (parameters → function), the function being the outputs
at all positions for all inputs. For plain heads this is 2·D² of 4·E·D a head, a ratio 1 − 1/(2H) identified
where D = E/H, as published ("Multi-Head Self Attention is a Parameter Identification Mechanism", arXiv
2609.01231).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import sympy
from flint import fmpq

from exactattn.identify.effective import Effective
from exactattn.identify.parts import Part
from exactattn.identify.scores import score_parts
from exactattn.identify.spec import AttentionSpec
from exactattn.identify.supported import check_supported
from exactattn.identify.values import latent_parts, norm_parts, value_parts

__all__ = ["Count", "count_block", "count_layer"]


@dataclass(frozen=True)
class Count:
    """The count of one layer: parts with formulas, and the numbers of the symbols in them.

    >>> count = count_layer(AttentionSpec.of(width=768, heads=12))
    >>> count.parameters, count.unidentified, count.identified, count.ratio
    (2359296, 98304, 2260992, 23/24)
    >>> count.unidentified_formula
    2*D**2*H
    """

    spec: AttentionSpec
    parts: tuple[Part, ...]

    @property
    def values(self) -> Mapping[sympy.Expr, int]:
        """The number of each symbol."""
        return Effective(self.spec).letters.values

    def number(self, formula: sympy.Expr) -> int:
        """A formula with the numbers of this layer put in."""
        return Effective(self.spec).letters.number(formula)

    @property
    def parameters_formula(self) -> sympy.Expr:
        """The total, in symbols."""
        return sympy.Add(*(part.parameters for part in self.parts))

    @property
    def unidentified_formula(self) -> sympy.Expr:
        """The unidentified directions, in symbols, for the ε of this layer."""
        return sympy.Add(*(part.unidentified for part in self.parts))

    @property
    def unidentified_at_zero_formula(self) -> sympy.Expr:
        """The same with every ε = 0."""
        return sympy.Add(*(part.unidentified_at_zero for part in self.parts))

    @property
    def parameters(self) -> int:
        """All learned numbers."""
        return self.number(self.parameters_formula)

    @property
    def unidentified(self) -> int:
        """Directions in parameter space that change nothing, exact for the ε of this layer."""
        return self.number(self.unidentified_formula)

    @property
    def unidentified_at_zero(self) -> int:
        """The same with every ε = 0: beyond :attr:`unidentified`, what is identified through ε alone."""
        return self.number(self.unidentified_at_zero_formula)

    @property
    def identified(self) -> int:
        """parameters − unidentified, the generic rank of the Jacobian."""
        return self.parameters - self.unidentified

    @property
    def ratio(self) -> fmpq:
        """identified / parameters."""
        return fmpq(self.identified, self.parameters)


@lru_cache(maxsize=512)
def count_block(spec: AttentionSpec) -> Count:
    """The count of a layer with its norms before and after. Raises InputError where none is derived."""
    layer = Effective(spec)
    check_supported(layer)
    parts = score_parts(layer) + value_parts(layer) + latent_parts(layer) + norm_parts(layer)
    return Count(spec, tuple(parts))


def count_layer(spec: AttentionSpec) -> Count:
    """The count of the bare layer, without the norms around it. Raises InputError where none is derived."""
    return count_block(spec.bare())
