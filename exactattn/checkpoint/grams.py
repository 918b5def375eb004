"""How far two products AᵀB are apart, exactly, through Gram matrices as small as a head.

|A'ᵀB' − AᵀB|² = ⟨A'A'ᵀ, B'B'ᵀ⟩ + ⟨AAᵀ, BBᵀ⟩ − 2⟨A'Aᵀ, B'Bᵀ⟩ for the sum of squares of entries: no matrix as
wide as the layer is formed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq

from exactattn.checkpoint.dyadic import Dyadic, power_of_two

__all__ = [
    "Grams",
    "change_fourth",
    "plane_change_squared",
    "product_change_squared",
    "product_fourth",
    "product_squared",
]


@dataclass(frozen=True)
class Grams:
    """The Gram matrices of one side before (``old``), after (``new``) and between (``cross``: new·oldᵀ)."""

    old: Dyadic
    new: Dyadic
    cross: Dyadic

    @classmethod
    def of(cls, old: Dyadic, new: Dyadic) -> Grams:
        """Of the old and the new matrix, n×p."""
        return cls(old @ old.T, new @ new.T, new @ old.T)


def product_change_squared(a: Grams, b: Grams) -> fmpq:
    """|A'ᵀB' − AᵀB|², the sum of squares of entries.

    >>> import numpy as np
    >>> one, two = Dyadic.of(np.eye(2)), Dyadic.of(2 * np.eye(2))
    >>> product_change_squared(Grams.of(one, two), Grams.of(one, one))
    2
    """
    return a.new.inner(b.new) + a.old.inner(b.old) - 2 * a.cross.inner(b.cross)


def product_squared(a: Grams, b: Grams) -> fmpq:
    """|AᵀB|², before."""
    return a.old.inner(b.old)


def product_fourth(a: Grams, b: Grams) -> fmpq:
    """The sum of fourth powers of the singular values of AᵀB, before; its fourth root bounds the largest.

    >>> import numpy as np
    >>> both = Grams.of(Dyadic.of(np.diag([1.0, 2.0])), Dyadic.of(np.diag([1.0, 3.0])))
    >>> product_fourth(both, both), change_fourth(both, both)
    (257, 625)
    """
    return _trace_of_square(a.old @ b.old)


def change_fourth(a: Grams, b: Grams) -> fmpq:
    """The sum of fourth powers of the singular values of A'ᵀB' − AᵀB, which is (A'; A)ᵀ(B'; −B)."""
    return _trace_of_square(_joined(a, 1) @ _joined(b, -1))


def _joined(x: Grams, sign: int) -> Dyadic:
    """The Gram matrix of the new rows, and ``sign`` times the old ones below them."""
    cross = x.cross if sign == 1 else -x.cross
    return x.new.beside(cross).above(cross.T.beside(x.old))


def _trace_of_square(x: Dyadic) -> fmpq:
    return x.inner(x.T)


def plane_change_squared(a: Grams, b: Grams, planes: Sequence[tuple[int, int]]) -> list[fmpq]:
    """For each rotation plane (i, j), with complex rows α = A_i + iA_j and β likewise, the sum of squares of
    the change of the complex matrix ᾱᵀβ, whose real part is A_iᵀB_i + A_jᵀB_j: a score is the real part of
    it turned by the angle between positions.

    >>> import numpy as np
    >>> old, turned = Dyadic.of(np.eye(2)), Dyadic.of(np.array([[0.0, -1.0], [1.0, 0.0]]))
    >>> both, one = Grams.of(old, turned), Grams.of(old, old)
    >>> plane_change_squared(both, both, [(0, 1)]), plane_change_squared(both, one, [(0, 1)])
    ([0], [8])
    """
    factors = ((a.new, b.new, 1), (a.old, b.old, 1), (a.cross, b.cross, -2))
    return [sum((sign * _plane(x, y, i, j) for x, y, sign in factors), fmpq(0)) for i, j in planes]


def _plane(x: Dyadic, y: Dyadic, i: int, j: int) -> fmpq:
    """The inner products of the real and the imaginary parts of two such complex matrices, from Gram
    matrices x and y of the two sides: the imaginary part has the rows (B_j, −B_i) in place of (B_i, B_j)."""
    p, q = x.integers, y.integers
    real = sum(p[s, t] * q[s, t] for s in (i, j) for t in (i, j))
    imaginary = p[i, i] * q[j, j] + p[j, j] * q[i, i] - p[i, j] * q[j, i] - p[j, i] * q[i, j]
    return fmpq(real + imaginary) * power_of_two(x.exponent + y.exponent)
