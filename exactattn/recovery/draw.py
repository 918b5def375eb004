"""Query vectors drawn from a seed, in a way that anyone can repeat.

Entry k of vector ``name``_index in its given version is the SHA-256 digest of
"exactattn draw 1|seed|name|index|version|k", read as a big-endian integer, reduced to −radius … radius and
divided by the stated denominator. A certificate discloses seed and versions, so a reader can see that the
vectors were not chosen after the answers. A higher version of a vector is its replacement after a redraw.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations, product
from typing import Any

from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.numbers import Vector

__all__ = ["TokenRange", "draw_vector", "has_proportional_entries", "has_short_relation"]

# Entries up to this size for d = 2, 3, 4; for larger d up to 1, and at most two of them.
SHORT_ENTRIES = {2: 9, 3: 2, 4: 1}


@dataclass(frozen=True)
class TokenRange:
    """Entries are k/denominator with |k| ≤ radius·(version + 1): replacements come from a wider range.

    ``last`` is the radius for the last tokens b, ``difference`` the one for the differences u; ``first``,
    unless it is 0, that for b_1 in plans in two stages.
    """

    last: int
    difference: int
    denominator: int = 1
    first: int = 0

    def __post_init__(self) -> None:
        if min(self.last, self.difference, self.denominator) < 1:
            raise InputError("radii and denominator of the token range must be at least 1")

    def to_json(self) -> dict[str, int]:
        """The integers, for transcripts and certificates."""
        first = {"first": self.first} if self.first else {}
        return {"last": self.last, "difference": self.difference, "denominator": self.denominator, **first}

    @classmethod
    def for_lattice(cls, heads: int, dim: int) -> TokenRange:
        """Integral tokens wide enough that accidental coincidences of small integral heads are rare.

        A coincidence of two scores in some probe is about as likely as (number of probes)·(pairs of heads)
        / (|b||u|·size of W); a vanishing residue as (heads)·(2d)/(|u|·size of v). Larger tokens cost longer
        numbers, so the last tokens stay small and the differences take most of the width.
        """
        pairs = heads * (heads - 1) // 2
        probes = 2 * dim * dim - 1
        last = 2 if dim <= 2 else 3
        return cls(last=last, difference=max(32, 12 * heads, 1 + probes * pairs // (dim * last)))

    @classmethod
    def for_stages(cls, heads: int, *, full_rank: bool = True) -> TokenRange:
        """Integral tokens for the plans in two stages: scores b_1^T W_h b_1 tell heads apart, so b_1 is
        wide; labels need distinct v_h·u_j, so the differences are. At a lower rank the last tokens of other
        rows are wide, too: r of them must see all of W_h."""
        return cls(last=6 if full_rank else 12, difference=max(32, 12 * heads), first=24)

    @classmethod
    def for_balls(cls, dim: int) -> TokenRange:
        """Dyadic tokens of length about 2, so that scores of unit-size heads stay moderate."""
        denominator = 256
        radius = max(16, int(denominator * 3.5 / dim**0.5))
        return cls(last=radius, difference=radius, denominator=denominator)


def draw_vector(
    seed: int, name: str, index: int, version: int, dim: int, radius: int, denominator: int = 1
) -> Vector:
    """One vector of the stream.

    >>> draw_vector(1, "u", 1, 0, 3, 8) == draw_vector(1, "u", 1, 0, 3, 8)
    True
    """
    width = radius * (version + 1)

    def entry(k: int) -> Any:
        text = f"exactattn draw 1|{seed}|{name}|{index}|{version}|{k}"
        number = int.from_bytes(sha256(text.encode("ascii")).digest(), "big")
        return fmpq(number % (2 * width + 1) - width, denominator)

    return tuple(entry(k) for k in range(dim))


def has_short_relation(x: Vector) -> bool:
    """Whether a short integral vector is orthogonal to x. How short is chosen by d so that about half of all
    x of radius 24 have none.

    >>> has_short_relation((fmpq(12), fmpq(-8))), has_short_relation((fmpq(13), fmpq(-11)))
    (True, False)
    """
    if len(x) == 1:
        return False
    size = SHORT_ENTRIES.get(len(x))
    if size is None:
        squares = sorted((int(t.p) ** 2, int(t.q) ** 2) for t in x)
        return any(p == 0 for p, _ in squares) or any(s == t for s, t in combinations(squares, 2))
    relations = product(range(-size, size + 1), repeat=len(x))
    return any(any(p) and sum((a * t for a, t in zip(p, x, strict=True)), fmpq(0)) == 0 for p in relations)


def has_proportional_entries(x: Vector, y: Vector) -> bool:
    """Whether two entries of x are proportional to those of y, which are not both 0.

    >>> has_proportional_entries((fmpq(2), fmpq(6), fmpq(5)), (fmpq(1), fmpq(3), fmpq(7)))
    True
    """
    entries = combinations(zip(x, y, strict=True), 2)
    return any(p * t == q * s and (s != 0 or t != 0) for (p, s), (q, t) in entries)
