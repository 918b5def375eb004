"""Matching: which pole of one probe belongs to the same head as which pole of another.

On a shared last token b, scores and residues add: ℓ_h(b, u) + ℓ_h(b, u') = ℓ_h(b, u + u') and
c_h(u) + c_h(u') = c_h(u + u'). On a shared difference u, ℓ_h(b, u) + ℓ_h(b', u) = ℓ_h(b + b', u) and the
residue v_h·u is the same in all three (theory, section 4). Both relations are used: products of poles alone
collide on a lattice with small exponents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from exactattn.numbers import Decision, NumberSystem

__all__ = ["AmbiguousMatch", "NoMatch", "ProbeHeads", "match"]


class AmbiguousMatch(Exception):
    """A pole has more than one possible partner (over balls: more than one that is not excluded)."""


class NoMatch(Exception):
    """A pole provably has no partner."""


@dataclass(frozen=True)
class ProbeHeads:
    """What one probe shows of the heads: scores ℓ_h = log r_h and residues c_h, in some order."""

    scores: tuple[Any, ...]
    residues: tuple[Any, ...]

    def ordered(self, labels: Sequence[int]) -> ProbeHeads:
        """The same with entry h taken from position labels[h]."""
        return ProbeHeads(tuple(self.scores[k] for k in labels), tuple(self.residues[k] for k in labels))


def match(
    x: ProbeHeads,
    y: ProbeHeads,
    z: ProbeHeads,
    shared: Literal["last", "difference"],
    system: NumberSystem[Any, Any],
) -> tuple[list[int], list[int]]:
    """For every head h of ``x`` its position in ``y`` and in the probe ``z`` of the sum.

    A partner is accepted only if all others are excluded. Raises NoMatch and AmbiguousMatch.
    """
    possible = (Decision.YES, Decision.CANNOT_TELL)
    in_y: list[int] = []
    in_z: list[int] = []
    for score, residue in zip(x.scores, x.residues, strict=True):
        partners = []
        for g, (other_score, other_residue) in enumerate(zip(y.scores, y.residues, strict=True)):
            if shared == "difference" and system.equal(residue, other_residue) is Decision.NO:
                continue
            total = score + other_score
            expected = residue if shared == "difference" else residue + other_residue
            partners += [
                (g, k)
                for k, (s, c) in enumerate(zip(z.scores, z.residues, strict=True))
                if system.equal_scores(total, s) in possible and system.equal(expected, c) in possible
            ]
        if not partners:
            raise NoMatch
        if len(partners) > 1:
            raise AmbiguousMatch
        in_y.append(partners[0][0])
        in_z.append(partners[0][1])
    if len(set(in_y)) < len(in_y) or len(set(in_z)) < len(in_z):
        raise NoMatch  # every true partner is among the accepted ones, so a repeated one has no truth
    return in_y, in_z
