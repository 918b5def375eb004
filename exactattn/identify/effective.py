"""A layer with the norms around it absorbed: the widths and biases the projections effectively have.

A norm before the layer feeds γ∘n + β. For an RMS norm n spans all of R^E and each projection absorbs γ.
Layer norm subtracts the mean, so n lies in the hyperplane 1^T n = 0 of E − 1 dimensions: a projection W
acts as the affine map n ↦ (WΓ) n + Wβ (+ bias) on it. Without shift one column direction of W is lost; with
a shift that direction carries Wβ, so that a projection without a bias effectively has one, and with a bias
one direction is free. The values n satisfy no relation of degree (1, 1), so nothing else is lost (theory,
section 8).
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from exactattn.identify.features import NormKind
from exactattn.identify.spec import AttentionSpec
from exactattn.identify.symbols import Symbols

__all__ = ["Effective"]


@dataclass(frozen=True)
class Effective:
    """The effective widths and biases of a layer.

    >>> from flint import fmpq
    >>> from exactattn.identify import Norm
    >>> norm = Norm(kind=NormKind.LAYER, eps=fmpq(0), shift=True)
    >>> layer = Effective(AttentionSpec.of(width=8, heads=2, norm_before=norm))
    >>> layer.query_width, layer.query_bias, layer.output_width
    (E - 1, True, E)
    """

    spec: AttentionSpec

    @property
    def letters(self) -> Symbols:
        """The symbols of the layer."""
        return Symbols(self.spec)

    @property
    def mean_subtracted(self) -> bool:
        """Whether layer norm comes before the layer."""
        return self.spec.norm_before is not None and self.spec.norm_before.kind is NormKind.LAYER

    @property
    def shifted(self) -> bool:
        """Whether that norm has a shift."""
        return self.spec.norm_before is not None and self.spec.norm_before.shift

    @property
    def query_width(self) -> sympy.Expr:
        """Dimensions of what queries are projected from (a latent counts as such)."""
        if self.spec.query_latent is not None:
            return self.letters.r_q
        return self.letters.E - 1 if self.mean_subtracted else self.letters.E

    @property
    def key_width(self) -> sympy.Expr:
        """Dimensions of what keys and values are projected from."""
        if self.spec.key_value_latent is not None:
            return self.letters.r
        return self.letters.E - 1 if self.mean_subtracted and not self.spec.cross else self.letters.F

    @property
    def output_width(self) -> sympy.Expr:
        """Dimensions of the output that can be seen."""
        after = self.spec.norm_after
        return self.letters.E - 1 if after is not None and after.kind is NormKind.LAYER else self.letters.E

    @property
    def query_bias(self) -> bool:
        """Whether queries are affine in the normed input."""
        return self.spec.query_bias or self.shifted

    @property
    def key_bias(self) -> bool:
        """Whether keys are."""
        return self.spec.key_bias or (self.shifted and not self.spec.cross)

    @property
    def value_bias(self) -> bool:
        """Whether values are."""
        return self.spec.value_bias or (self.shifted and not self.spec.cross)

    @property
    def lost_directions(self) -> sympy.Expr:
        """How many numbers of W_Q, W_K, W_V the subtracted mean makes free."""
        if not self.mean_subtracted:
            return sympy.Integer(0)
        spec, s = self.spec, self.letters
        lost = sympy.Integer(0)
        projections = [(spec.query_bias, s.H * s.D)]
        if not spec.cross:
            projections += [(spec.key_bias, s.G * s.D), (spec.value_bias, s.G * s.C)]
        for bias, size in projections:
            if bias or not self.shifted:
                lost += size
        return lost

    @property
    def row_constants_visible(self) -> bool:
        """Whether a constant added to a row of scores changes the output."""
        return self.spec.sinks is not None or self.spec.soft_cap is not None
