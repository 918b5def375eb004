"""What the function of an attention layer depends on: bilinear forms and vectors, exactly.

A bilinear form is kept as two factors, LᵀR, never multiplied out: the distance of two forms comes from the
Gram matrices of their factors, |LᵀR − L'ᵀR'|² = ⟨LLᵀ, RRᵀ⟩ − 2⟨LL'ᵀ, RR'ᵀ⟩ + ⟨L'L'ᵀ, R'R'ᵀ⟩, which are as
small as a head. It is an exact rational, and 0 exactly when the forms are equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from flint import fmpq, fmpz, fmpz_mat

from exactattn.checkpoint.dyadic import Dyadic, power_of_two

__all__ = ["Form", "HeadForms", "LayerForms", "joined", "turned"]


@dataclass(frozen=True)
class Form:
    """LᵀR for factors L (r×m) and R (r×n); or, ``turned``, for each rotation plane (rows 2p, 2p + 1) the two
    forms LₐᵀRₐ + L_bᵀR_b and LₐᵀR_b − L_bᵀRₐ that multiply cosine and sine of the relative angle.

    >>> import numpy as np
    >>> a, b = Dyadic.of(np.array([[1.0, 2.0]])), Dyadic.of(np.array([[3.0, 1.0]]))
    >>> twice = Dyadic.of(np.array([[2.0, 4.0]]))
    >>> Form(a, b).distance_squared(Form(twice, b))
    50
    """

    left: Dyadic
    right: Dyadic
    turned: bool = False

    def inner(self, other: Form) -> fmpq:
        """The sum of products of all entries of the forms."""
        left, right = self.left @ other.left.T, self.right @ other.right.T
        return left.inner(turned(right, self.right.shape[0]) if self.turned else right)

    @cached_property
    def _grams(self) -> tuple[Dyadic, Dyadic]:
        return self.left @ self.left.T, self.right @ self.right.T

    @cached_property
    def squared(self) -> fmpq:
        """The sum of squares of all entries."""
        left, right = self._grams
        return left.inner(turned(right, right.shape[0]) if self.turned else right)

    @cached_property
    def factors_squared(self) -> fmpq:
        """|L|²|R|², at least the sum of squares: what rounding of the factors is measured against."""
        left, right = self._grams
        return trace(left) * trace(right)

    def distance_squared(self, other: Form) -> fmpq:
        """The sum of squares of all entries of the difference."""
        return self.squared - 2 * self.inner(other) + other.squared

    def with_rows_of(self, other: Form) -> Form:
        """The sum of both forms."""
        return Form(joined(self.left, other.left), joined(self.right, other.right), self.turned)


@dataclass(frozen=True)
class HeadForms:
    """One canonical head: score forms and vectors by name, the form of its outputs, and the label (slope of
    ALiBi, by number of the head) that heads must share to be the same. ``members`` are the heads of the layer
    that it is made of.
    """

    scores: Mapping[str, Form]
    vectors: Mapping[str, Dyadic]
    output: Form
    label: int = 0
    members: tuple[int, ...] = ()

    def same_scores(self, other: HeadForms) -> bool:
        """Whether both heads have the same attention weights on every input."""
        return (
            self.label == other.label
            and all(form.distance_squared(other.scores[name]) == 0 for name, form in self.scores.items())
            and all(vectors_equal(x, other.vectors[name]) for name, x in self.vectors.items())
        )


@dataclass(frozen=True)
class LayerForms:
    """All heads of a layer, and what they share: the constant that is added to every output, with a bound on
    the squared size of the terms that it is the sum of, and vectors.
    """

    heads: tuple[HeadForms, ...]
    constant: Dyadic
    constant_squared: fmpq
    vectors: Mapping[str, Dyadic] = field(default_factory=dict)


def trace(x: Dyadic) -> fmpq:
    """The sum of the diagonal."""
    total = sum((x.integers[i, i] for i in range(x.shape[0])), start=fmpz(0))
    return fmpq(total) * power_of_two(x.exponent)


def vectors_equal(x: Dyadic, y: Dyadic) -> bool:
    """Whether two arrays are equal, entry by entry."""
    return x.shape == y.shape and (x - y).frobenius_squared() == 0


def joined(upper: Dyadic, lower: Dyadic) -> Dyadic:
    """One matrix below the other.

    >>> import numpy as np
    >>> joined(Dyadic.of(np.array([[1.0]])), Dyadic.of(np.array([[0.5]]))).integers.tolist()
    [[2], [1]]
    """
    exponent = min(upper.exponent, lower.exponent)
    entries = [
        entry
        for part in (upper, lower)
        for entry in (part.integers * (1 << (part.exponent - exponent))).entries()
    ]
    rows = upper.shape[0] + lower.shape[0]
    return Dyadic(fmpz_mat(rows, upper.shape[1], entries), exponent)


def turned(gram: Dyadic, rows: int) -> Dyadic:
    """G + J G Jᵀ on each plane, 0 off the planes, J the quarter turn of rows 2p, 2p + 1; the Gram matrix may
    be one of several factors with ``rows`` rows below each other.
    """
    height, width = gram.shape
    g = gram.integers
    made = fmpz_mat(height, width)
    for i in range(height):
        for j in range(width):
            if (i % rows) // 2 == (j % rows) // 2:
                across = g[i ^ 1, j ^ 1]
                made[i, j] = g[i, j] + (across if i % 2 == j % 2 else -across)
    return Dyadic(made, gram.exponent)
