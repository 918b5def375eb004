"""Exact values only: refusing floats, and writing what is exact as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from flint import fmpq, fmpq_mat, fmpz

from exactattn.exceptions import InputError

__all__ = ["exact_text", "require_exact", "to_sympy"]


def require_exact(value: Any, name: str = "value") -> None:
    """Raises InputError if ``value`` is a float or contains one: no verdict rests on a float.

    >>> require_exact([1, sympy.Rational(1, 3)])
    >>> require_exact([0.5])
    Traceback (most recent call last):
    ...
    exactattn.exceptions.InputError: value: 0.5 is a float; evidence must be exact
    """
    if isinstance(value, float | complex | np.floating):
        raise InputError(f"{value} is a float; evidence must be exact", field=name)
    if isinstance(value, sympy.Basic | sympy.MatrixBase):
        for number in value.atoms(sympy.Float):
            raise InputError(f"{number} is a float; evidence must be exact", field=name)
    elif isinstance(value, Mapping):
        for part in value.values():
            require_exact(part, name)
    elif isinstance(value, np.ndarray):
        require_exact(value.tolist(), name)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for part in value:
            require_exact(part, name)


def to_sympy(value: Any) -> Any:
    """A number of python-flint or a fraction as a sympy number; anything else through sympify.

    >>> to_sympy(fmpq(1, 3)) + sympy.Rational(2, 3)
    1
    """
    require_exact(value)
    if isinstance(value, fmpq):
        return sympy.Rational(int(value.p), int(value.q))
    if isinstance(value, fmpz):
        return sympy.Integer(int(value))
    if isinstance(value, Fraction):
        return sympy.Rational(value.numerator, value.denominator)
    return sympy.sympify(value)


def exact_text(value: Any, name: str = "value") -> str:
    """Text of an exact value; lists and matrices in brackets. Raises InputError for floats.

    >>> exact_text([fmpq(1, 2), 3])
    '[1/2, 3]'
    """
    require_exact(value, name)
    if isinstance(value, fmpq_mat | np.ndarray | sympy.MatrixBase):
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(exact_text(part, name) for part in value) + "]"
    return str(value)
