"""The first row on the log-lattice without its base probe, where that one would not show every head.

Probes with a_1 … a_d, filler 0 and last token b_1 = Σ c_j a_j show R_j = x_j + y and S_j = x_j v·a_j +
y v·b_1 with x_j = exp(b_1^T W a_j) and y = exp(b_1^T W b_1) = Π x_j^{c_j}. Every R_j is a sum of two powers
of two, one of which is y, in every probe; the last equation says so, too. Then v·a_1 … v·a_d follow from d
linear equations. So heads need neither different y nor v·b_1 ≠ 0, and the number of queries is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product
from math import prod
from typing import Any

from flint import fmpq, fmpq_mat

from exactattn.numbers import NumberSystem, Vector, to_matrix
from exactattn.recovery.methods.two_powers import two_exponents, two_to
from exactattn.recovery.partial_fractions import PartialFractions

__all__ = ["FirstStage", "base_may_hide", "linked_first_row"]

MAX_LINKS = 1 << 18
SHORT_BITS = 16
Link = tuple[int, tuple[int, ...], tuple[int, ...]]


class FirstStage:
    """What the first row shows of every head, in one order: exp(b_1^T W_h b_1), v_h·b_1, the row b_1^T W_h,
    and v_h."""

    def __init__(self, y: Sequence[Any], value: Sequence[Any]) -> None:
        self.y = y
        self.value = value
        self.row: list[tuple[Any, ...]] = []
        self.v: list[tuple[Any, ...]] = []

    @classmethod
    def of_base(cls, base: PartialFractions) -> FirstStage:
        """From a base probe, with R = y and S = y v·b_1."""
        return cls(base.poles, [s / y for s, y in zip(base.residues, base.poles, strict=True)])

    def of_token(self, g: PartialFractions, labels: Sequence[int]) -> tuple[list[Any], list[Any]]:
        """x = R − y and v·a = (S − y v·b_1)/x of every head, for a token a whose probe shows g; head h has
        pole labels[h] (theory, section 5)."""
        xs = [g.poles[k] - y for k, y in zip(labels, self.y, strict=True)]
        values = [
            (g.residues[k] - y * value) / x
            for k, y, value, x in zip(labels, self.y, self.value, xs, strict=True)
        ]
        return xs, values


def base_may_hide(probes: Sequence[PartialFractions]) -> bool:
    """Whether, by what probes with tokens a_2 … a_d show, two heads may have one y, or a head v·b_1 = 0.

    The first: in every probe two poles have a power of two in common, the same in all of them. The second: in
    every probe some residue is a short multiple of a power of two in its pole, as x v·a is. That errs on the
    safe side for numbers v·a of a few bits; a longer one is hardly ever orthogonal to b_1.
    """
    exponents = [[two_exponents(R) for R in g.poles] for g in probes]
    if not probes or any(pair is None for pairs in exponents for pair in pairs):
        return False
    shared = [{e for e in set(sum(p, ())) if sum(e in pair for pair in p) > 1} for p in _known(exponents)]
    if set.intersection(*shared):
        return True
    return all(
        any(_is_short(S, pair) for S, pair in zip(g.residues, p, strict=True))
        for g, p in zip(probes, _known(exponents), strict=True)
    )


def _known(exponents: Sequence[Sequence[tuple[int, int] | None]]) -> list[list[tuple[int, ...]]]:
    return [[pair for pair in pairs if pair is not None] for pairs in exponents]


def _is_short(S: fmpq, pair: tuple[int, ...]) -> bool:
    limit = SHORT_BITS + (pair[1] - pair[0]) // 2
    return any((S / two_to(e)).height_bits() <= limit for e in pair)


def linked_first_row(
    probes: Sequence[PartialFractions],
    tokens: Sequence[Vector],
    last: Vector,
    system: NumberSystem[Any, Any],
) -> FirstStage | None:
    """The first row of every head from probes with tokens a_1 … a_d. None if poles are no sums of two powers,
    or can be put together to heads in no way, or in several."""
    exponents = [[two_exponents(R) for R in g.poles] for g in probes]
    if any(pair is None for pairs in exponents for pair in pairs):
        return None
    weights = to_matrix(tokens).transpose().solve(fmpq_mat(len(last), 1, list(last))).entries()
    links = _links(_known(exponents), weights)
    chosen = None if links is None else _one_cover(links, len(probes[0].poles))
    if chosen is None:
        return None
    first = FirstStage([two_to(e) for e, _, _ in chosen], [])
    values = []
    for (_, poles, row), y in zip(chosen, first.y, strict=True):
        entries = [
            y * c + (two_to(s) if i == j else 0) for i, s in enumerate(row) for j, c in enumerate(weights)
        ]
        residues = [g.residues[k] for g, k in zip(probes, poles, strict=True)]
        try:
            along = fmpq_mat(len(row), len(row), entries).solve(fmpq_mat(len(row), 1, residues)).entries()
        except ZeroDivisionError:
            return None
        values.append(along)
    basis = to_matrix(tokens)
    first.row = [_solved(basis, [system.log(two_to(s)) for s in row]) for _, _, row in chosen]
    first.v = [_solved(basis, along) for along in values]
    first.value = [sum((a * b for a, b in zip(v, last, strict=True)), fmpq(0)) for v in first.v]
    return first


def _solved(matrix: fmpq_mat, right: Sequence[fmpq]) -> tuple[fmpq, ...]:
    return tuple(matrix.solve(fmpq_mat(len(right), 1, list(right))).entries())


def _links(exponents: Sequence[Sequence[tuple[int, ...]]], weights: Sequence[fmpq]) -> list[Link] | None:
    """Everything that may be a head: an exponent that occurs in a pole of every probe, these poles, and their
    other exponents, if they fit together. None if there is too much to try."""
    found = []
    for e in sorted({e for pair in exponents[0] for e in pair}):
        fitting = [[(k, sum(pair) - e) for k, pair in enumerate(pairs) if e in pair] for pairs in exponents]
        if prod(map(len, fitting)) > MAX_LINKS:
            return None
        for chosen in product(*fitting):
            row = tuple(s for _, s in chosen)
            if sum((c * s for c, s in zip(weights, row, strict=True)), fmpq(0)) == e:
                found.append((e, tuple(k for k, _ in chosen), row))
    return found


def _one_cover(links: Sequence[Link], heads: int) -> list[Link] | None:
    """The one choice that uses every pole of every probe once."""

    def ways(h: int, used: tuple[frozenset[int], ...]) -> Any:
        if h == heads:
            yield []
            return
        for link in links:
            if link[1][0] == h and all(k not in u for k, u in zip(link[1], used, strict=True)):
                after = tuple(u | {k} for k, u in zip(link[1], used, strict=True))
                yield from ([link, *rest] for rest in ways(h + 1, after))

    empty: tuple[frozenset[int], ...] = (frozenset(),) * (len(links[0][1]) if links else 0)
    found = list(islice(ways(0, empty), 2))
    return found[0] if len(found) == 1 else None
