"""Partial fractions Σ_h c_h / (x + r_h): what interpolation returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exactattn.model.latex import entry_latex
from exactattn.numbers import NumberSystem

__all__ = ["PartialFractions"]


@dataclass(frozen=True)
class PartialFractions:
    """The function g(x) = Σ_h c_h / (x + r_h) with distinct r_h and non-zero c_h.

    ``poles`` holds the r_h (the poles are at x = −r_h), ``residues`` the c_h, both in one number system:
    exact rationals, or balls. ``rank_proved`` says whether the number of poles is proved; over balls it is
    not when fewer poles than allowed were found, since no ball computation proves that a number is zero.
    """

    poles: tuple[Any, ...]
    residues: tuple[Any, ...]
    rank_proved: bool = True

    @property
    def rank(self) -> int:
        """The number of poles: the rank of the Hankel matrix of the moments."""
        return len(self.poles)

    def __call__(self, x: Any, system: NumberSystem[Any, Any]) -> Any:
        """g(x) for a value x of the system."""
        with system.context():
            return system.sum([c / (x + r) for r, c in zip(self.poles, self.residues, strict=True)])

    def _repr_latex_(self) -> str:
        terms = [
            rf"\frac{{{entry_latex(c)}}}{{x + {entry_latex(r)}}}"
            for r, c in zip(self.poles, self.residues, strict=True)
        ]
        return f"$$g(x) = {' + '.join(terms) or '0'}$$"
