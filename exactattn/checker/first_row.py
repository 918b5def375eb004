"""The first row without its base probe: tokens a_1 ... a_d, filler 0, last token b_1 = sum c_j a_j.

Why it determines the heads. Head k of another layer, with integer exponents, has in probe j a pole
2^s_j + 2^e, where s_j = D b_1^T W' a_j and e = D b_1^T W' b_1 = sum c_j s_j. A number is a sum of two powers
of 2 in one way at most, so k is a *link*: an exponent e, and in every probe a pole of the listed layer,
2^e + 2^s_j in some order, with e = sum c_j s_j. In every probe there are K poles, so the K heads use every
pole once. There is only one such choice of links (verified), so the exponents are those of the listed heads.
Residues are S_j = 2^s_j v'.a_j + 2^e sum c_i v'.a_i; the matrix of these equations for v'.a_1 ... v'.a_d has
the determinant 2^(s_1 + ... + s_d) (1 + 2^e sum c_j 2^-s_j), not zero (verified).

Near the listed layer, with exponents that need not be integers, the same matrix is that of the derivatives of
the poles by log 2^s_1 ... log 2^s_d.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from .check import dot, refuse
from .placements import Limit
from .staged import Seen, power

__all__ = ["check_linked"]

MAX_HEADS = 64
Link = tuple[int, tuple[int, ...]]  # e, and the head whose pole it is in every probe


def check_linked(probes: Sequence[Seen], weights: Sequence[Fraction]) -> None:
    """That the listed heads are the only ones with these poles and residues; weights are c_1 ... c_d."""
    name = "the first row"
    pairs = [seen.exponents for seen in probes]
    heads = range(len(pairs[0]))
    if len(heads) > MAX_HEADS:
        refuse("heads", f"{name}: more than {MAX_HEADS} heads need a base probe")
    for h in heads:
        e = pairs[0][h][1]
        if 1 + power(e) * dot(weights, [power(-of_probe[h][0]) for of_probe in pairs]) == 0:
            refuse("heads", f"{name}: the residues do not determine v of a head")
    limit = Limit(name)
    found: dict[int, list[Link]] = {h: [] for h in heads}
    for link in links(pairs, weights, limit):
        found[link[1][0]].append(link)
    truth = [(pairs[0][h][1], (h,) * len(pairs)) for h in heads]
    if any(cover != truth for cover in covers(found, 0, [set() for _ in pairs], limit)):
        refuse("heads", f"{name}: the labels of two heads are ambiguous")


def links(
    pairs: Sequence[list[tuple[int, int]]], weights: Sequence[Fraction], limit: Limit
) -> Iterator[Link]:
    """Everything that may be a head."""
    for e in sorted({e for pair in pairs[0] for e in pair}):
        fitting = [[(h, sum(pair) - e) for h, pair in enumerate(of_probe) if e in pair] for of_probe in pairs]
        for chosen in product(*fitting):
            limit.step()
            if dot(weights, [s for _, s in chosen]) == e:
                yield e, tuple(h for h, _ in chosen)


def covers(found: dict[int, list[Link]], h: int, used: list[set[int]], limit: Limit) -> Iterator[list[Link]]:
    """All choices of links that use every pole of every probe once."""
    if h == len(found):
        yield []
        return
    for link in found[h]:
        limit.step()
        if all(k not in taken for k, taken in zip(link[1], used, strict=True)):
            after = [taken | {k} for k, taken in zip(link[1], used, strict=True)]
            yield from ([link, *rest] for rest in covers(found, h + 1, after, limit))
