"""The lemmas of recovery certificates, version 2, against exhaustive search."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from math import gcd

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactattn.checker.check import Refused
from exactattn.checker.first_row import check_linked
from exactattn.checker.half_probes import check_half_probe, new_part, threshold
from exactattn.checker.placements import Limit, placements
from exactattn.checker.staged import Seen, check_shared, power, require_identity

LARGE = 34


def test_new_parts() -> None:
    """Breaks: the part of 2^m + 1 without the primes of smaller ones is wrong, and with it every half
    probe."""
    for m in range(1, 80):
        part = (1 << m) + 1
        for j in range(m):
            while (shared := gcd(part, (1 << j) + 1)) > 1:
                part //= shared
        assert new_part(m) == part


@pytest.mark.parametrize("bound", [1, 30, 10**4, 10**9, 1 << 100])
def test_threshold(bound: int) -> None:
    """Breaks: small new parts beyond the threshold, or a threshold that is not the least."""
    t = threshold(bound)
    assert all(new_part(m) > bound for m in range(t + 1, t + 150))
    assert t == 0 or new_part(t) <= bound


def values(A: tuple[int, ...], exponents: tuple[int, ...]) -> list[Fraction]:
    return [
        sum((Fraction(a) / (k + power(e)) for a, e in zip(A, exponents, strict=True)), Fraction(0))
        for k in range(1, len(A) + 1)
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-30, 30)), min_size=1, max_size=2))
def test_half_probes_are_unique(heads: list[tuple[int, int]]) -> None:
    """Breaks: a half probe is accepted though other exponents give the same answers."""
    A, exponents = tuple(a for a, _ in heads), tuple(e for _, e in heads)
    try:
        check_half_probe("probe", [Fraction(a) for a in A], exponents, len(A))
    except Refused:
        return
    target = values(A, exponents)
    others = product(range(-LARGE, LARGE + 1), repeat=len(A))
    assert [e for e in others if values(A, e) == target] == [exponents]


@pytest.mark.parametrize(
    ("A", "exponents"),
    [((3, 3), (20, -40)), ((2, 5, 3), (30, 50, 50)), ((4,), (0,)), ((5, -7), (3, 60)), ((6, 0), (40, 50))],
)
def test_half_probes_decided(A: tuple[int, ...], exponents: tuple[int, ...]) -> None:
    """Breaks: exchangeable exponents pass, or determined ones (small, or of one size) do not."""
    unique = {(4,): True, (5, -7): True, (2, 5, 3): True}.get(A, False)
    try:
        check_half_probe("probe", [Fraction(a, 4) for a in A], exponents, len(A))
    except Refused:
        assert not unique
    else:
        assert unique


@given(st.integers(1, 5), st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4))))
def test_cycles_are_permutations(n: int, pairs: set[tuple[int, int]]) -> None:
    """Breaks: labels are called unique though heads can be exchanged, or the reverse."""
    fits = {(h, g) for h, g in pairs if h < n and g < n} | {(h, h) for h in range(n)}
    ways = sum(all((h, g) in fits for h, g in enumerate(p)) for p in permutations(range(n)))
    try:
        require_identity("probe", n, lambda h, g: (h, g) in fits)
    except Refused:
        assert ways > 1
    else:
        assert ways == 1


@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=4), st.lists(st.integers(-4, 4), min_size=1, max_size=3)
)
def test_placements_are_all(numbers: list[int], sums: list[int]) -> None:
    """Breaks: a way to give heads to levels is not tried. Compared with all assignments, of a head to no
    level or to one with a sign."""
    spare = len(numbers) - len(sums)
    if spare < 0:
        return

    def options(level: int, h: int) -> list[tuple[int, tuple[int, int]]]:
        return [(numbers[h], (level, 1)), (-numbers[h], (level, -1))]

    found = placements(sums, options, frozenset(range(len(numbers))), spare, Limit("probe"))
    ours = {tuple(sorted(p.items())) for p in found}
    choices = [None, *((level, sign) for level in range(len(sums)) for sign in (1, -1))]
    expected = set()
    for chosen in product(choices, repeat=len(numbers)):
        groups: list[list[int]] = [[] for _ in sums]
        for h, place in enumerate(chosen):
            if place is not None:
                groups[place[0]].append(place[1] * numbers[h])
        if all(group and sum(group) == total for group, total in zip(groups, sums, strict=True)):
            expected.add(tuple((h, place) for h, place in enumerate(chosen) if place is not None))
    assert ours == expected


def seen(exponents: list[tuple[int, int]], alpha: list[int], beta: list[int]) -> Seen:
    x, y = ([power(pair[n]) for pair in exponents] for n in (0, 1))
    S = [p * a + q * b for p, q, a, b in zip(x, y, alpha, beta, strict=True)]
    R = [p + q for p, q in zip(x, y, strict=True)]
    return Seen(exponents, R, S, y, [Fraction(a) for a in alpha], [Fraction(b) for b in beta])


def visible(exponents: tuple[tuple[int, int], ...], alpha: list[int], beta: list[int]) -> dict[int, int]:
    """Poles with residues that are not zero."""
    found: dict[int, int] = {}
    for (e, f), a, b in zip(exponents, alpha, beta, strict=True):
        found[2**e + 2**f] = found.get(2**e + 2**f, 0) + 2**e * a + 2**f * b
    return {R: S for R, S in found.items() if S}


@pytest.mark.parametrize(
    ("exponents", "alpha", "beta"),
    [
        (((3, 9), (9, 3)), [2, 7], [5, -3]),
        (((3, 9), (9, 3)), [2, 5], [5, 2]),
        (((3, 9), (3, 9)), [2, 5], [5, 2]),  # both may turn their pair around
        (((3, 9), (3, 9)), [2, -2], [5, -5]),  # the residues cancel
        (((3, 9), (9, 3)), [2, -2], [5, -5]),
        (((3, 9), (3, 9)), [1, 1], [2, -2]),
        (((2, 4), (2, 4)), [3, 5], [2, -1]),  # 3 4 + 2 16 + 5 4 - 16 = 3 16, and one may have residue 0
        (((2, 2), (2, 2)), [3, 1], [-2, 7]),
    ],
)
def test_shared_poles(exponents: tuple[tuple[int, int], ...], alpha: list[int], beta: list[int]) -> None:
    """Breaks: heads that share a pole are accepted though other exponents give the same poles and residues,
    or refused though none do."""
    target = visible(exponents, alpha, beta)
    every = product(product(range(12), repeat=2), repeat=2)
    same = [e for e in every if visible(e, alpha, beta) == target]
    try:
        check_shared("probe", "pair", seen(list(exponents), alpha, beta), [])
    except Refused:
        assert len(same) > 1 or not target
    else:
        assert same == [exponents]


def test_too_many_heads_at_one_pole() -> None:
    """Breaks: three heads share a pole, and what hides beside it is not looked for."""
    with pytest.raises(Refused, match="too many"):
        check_shared("probe", "pair", seen([(3, 9)] * 3, [2, 7, 11], [5, -3, 1]), [])
    check_shared("probe", "pair", seen([(3, 9), (3, 9), (4, 1)], [2, 7, 11], [5, -3, 1]), [])


def test_linked_rows() -> None:
    """Breaks: a first row without its base probe is accepted though its poles can be put together in another
    way, or refused though they cannot."""

    def row(*scores: tuple[int, int]) -> list[Seen]:
        """Heads with scores of a_1 and a_2; b_1 = a_1 + a_2."""
        return [seen([(s[j], sum(s)) for s in scores], [1] * len(scores), [1] * len(scores)) for j in (0, 1)]

    weights = [Fraction(1), Fraction(1)]
    check_linked(row((3, 5), (4, -9)), weights)
    check_linked(row((3, 5), (2, 6)), weights)  # one y, which a base probe would show as one head
    with pytest.raises(
        Refused, match="ambiguous"
    ):  # the heads (3, 5) and (2, 6) may exchange a pole: both y = 8
        check_linked(row((3, 5), (3, 5)), weights)
    with pytest.raises(Refused, match="residues do not determine"):
        check_linked(row((0, 0)), [Fraction(-1, 2), Fraction(-1, 2)])
