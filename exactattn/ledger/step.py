"""One checked step of the evidence for a claim."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Step"]


@dataclass(frozen=True)
class Step:
    """A named statement that was checked, and whether it holds.

    ``how``: by what means ("symbolic identity", "exact evaluation", "certificate", …). ``detail``: what was
    compared, as text. ``checked`` counts the instances that were evaluated (0 for a symbolic step),
    ``vacuous`` those of them that do not satisfy the hypothesis and therefore say nothing.
    """

    says: str
    holds: bool
    how: str
    detail: str = ""
    checked: int = 0
    vacuous: int = 0
