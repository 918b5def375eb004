"""A claim of a paper: what it says, under which hypotheses, and the evidence that decides it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from exactattn.exceptions import InputError
from exactattn.ledger.outcome import Outcome
from exactattn.ledger.papers import Paper
from exactattn.ledger.verdict import Verdict

__all__ = ["Claim"]

_ID = re.compile(r"([A-Z][0-9]?)-[0-9a-z]+([.-][0-9a-z]+)*")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim.

    ``id``: permanent, unique, never used again, such as "I-4.5-fraction"; it begins with the letter of the
    paper. ``place``: where in the paper. ``says``: the claim in our words. ``statement``: it as sympy
    relations or expressions (may be empty). ``expected``: the verdict the evidence gave when it was written,
    so that a change is noticed. ``corrected``: what is true instead, for a refuted claim. ``depends_on``:
    ids of claims whose results the evidence uses. Raises InputError for a field that breaks these rules.
    """

    id: str
    paper: Paper
    place: str
    says: str
    establish: Callable[[], Outcome] = field(repr=False)
    expected: Verdict
    does_not_establish: Sequence[str]
    hypotheses: Sequence[str] = ()
    statement: Sequence[Any] = ()
    corrected: str = ""
    depends_on: Sequence[str] = ()

    def __post_init__(self) -> None:
        match = _ID.fullmatch(self.id)
        if match is None or match[1] != self.paper.letter:
            raise InputError(
                f"{self.id!r} is not an id: write {self.paper.letter}-, then words of digits and small "
                "letters joined by . or -",
                field="id",
            )
        for name in ("place", "says"):
            if not getattr(self, name).strip():
                raise InputError("is empty", field=name)
        for name in ("does_not_establish", "hypotheses", "statement", "depends_on"):
            if isinstance(getattr(self, name), str):
                raise InputError("must be a list", field=name)
        if not self.does_not_establish:
            raise InputError("is empty; say what the evidence leaves open", field="does_not_establish")
        if (self.expected is Verdict.REFUTED) != bool(self.corrected):
            raise InputError("belongs to refuted claims, and to each of them", field="corrected")
