"""The change of basis between two pairs of factors of one bilinear form."""

from __future__ import annotations

from flint import fmpq, fmpq_mat

from exactattn.checkpoint.compare_forms import Form
from exactattn.checkpoint.dyadic import Dyadic, power_of_two

__all__ = ["change_of_basis"]


def change_of_basis(first: Form, second: Form) -> fmpq_mat | None:
    """The invertible S with L' = S L and R' = S⁻ᵀ R exactly, for factors L, R of ``first`` and L', R' of
    ``second``. None if there is none, or more than one (rows of L or of R' that depend on each other).

    >>> import numpy as np
    >>> one, two = Dyadic.of(np.array([[1.0, 2.0]])), Dyadic.of(np.array([[2.0, 4.0]]))
    >>> change_of_basis(Form(one, two), Form(two, one)).tolist()
    [[2]]
    """
    if first.left.shape != second.left.shape or first.right.shape != second.right.shape:
        return None
    left, left_new, right, right_new = (
        _rationals(x) for x in (first.left, second.left, first.right, second.right)
    )
    if left.rank() < left.nrows() or right_new.rank() < right_new.nrows():
        return None
    # S L = L' has one solution, read off its normal equations, if it has any
    gram = left * left.transpose()
    found = gram.solve(left * left_new.transpose()).transpose()
    fits = found * left == left_new and found.transpose() * right_new == right
    return found if fits and found.det() != 0 else None


def _rationals(x: Dyadic) -> fmpq_mat:
    made: fmpq_mat = fmpq_mat(x.integers) * fmpq(power_of_two(x.exponent))
    return made
