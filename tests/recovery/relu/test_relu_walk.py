"""The walk on piecewise-linear functions whose kinks are known, and the lines and fractions it is made of."""

from __future__ import annotations

from itertools import pairwise

import pytest
from flint import fmpq
from hypothesis import assume, given
from hypothesis import strategies as st

from exactattn.recovery.relu.draws import Draws
from exactattn.recovery.relu.paths import integral_direction, short_between
from exactattn.recovery.relu.pieces import line_through, meeting, place
from exactattn.recovery.relu.walk import TooManyKinks, WalkFailed, walk

entries = st.integers(-20, 20)
Kinks = list[tuple[int, int, int]]
fractions = st.builds(fmpq, st.integers(0, 5000), st.integers(1, 2500))


def value_of(kinks: Kinks, t: fmpq) -> fmpq:
    """Σ sign·|p·x + q·y|."""
    x, y = place(t)
    return sum((sign * abs(p * x + q * y) for sign, p, q in kinks), fmpq(0))


def true_lines(kinks: Kinks) -> list[tuple[fmpq, fmpq]]:
    """The lines of all pieces, from the kinks' abscissae."""
    at = sorted(meeting((fmpq(p), fmpq(q)), (fmpq(0), fmpq(0))) or fmpq(0) for _, p, q in kinks)
    found = []
    for low, high in pairwise([fmpq(0), *at, fmpq(2)]):
        x, y = place((low + high) / 2)
        sides = [(s if p * x + q * y > 0 else -s, p, q) for s, p, q in kinks]
        found.append((fmpq(sum(s * p for s, p, _ in sides)), fmpq(sum(s * q for s, _, q in sides))))
    return found


def generic(kinks: Kinks) -> bool:
    """Kinks inside the path, no two at one place, lines of pieces different, also at the path's ends."""
    inside = all(p != 0 for _, p, _ in kinks)
    apart = all(p * s != q * r for i, (_, p, q) in enumerate(kinks) for _, r, s in kinks[:i])
    return inside and apart and len({p for p, _ in true_lines(kinks)}) == len(kinks) + 1


planted = st.lists(st.tuples(st.sampled_from([-1, 1]), entries, entries), max_size=6).filter(generic)


@given(planted, st.integers(0, 10**6))
def test_all_pieces_are_found(kinks: Kinks, seed: int) -> None:
    """Breaks: with K known the walk must end with exactly the true pieces, certified."""
    found = walk(lambda t: value_of(kinks, t), Draws(seed), kinks=len(kinks))
    assert [piece.line for piece in found.pieces] == true_lines(kinks)
    assert found.certified


@given(planted, st.integers(0, 10**6))
def test_kink_spacing_certifies(kinks: Kinks, seed: int) -> None:
    """Breaks: brackets narrower than the true spacing hold one kink each."""
    at = sorted(meeting((fmpq(p), fmpq(q)), (fmpq(0), fmpq(0))) or fmpq(0) for _, p, q in kinks)
    spacing = min(b - a for a, b in pairwise([fmpq(0), *at, fmpq(2)]))
    found = walk(lambda t: value_of(kinks, t), Draws(seed), spacing=spacing)
    assert [piece.line for piece in found.pieces] == true_lines(kinks)
    assert found.certified


@pytest.mark.parametrize("bits", [5, 20, 40])
def test_a_tiny_bump_is_found(bits: int) -> None:
    """Breaks: two opposite kinks 2^-bits apart, which φ(t*) alone does not show."""
    size = 1 << bits
    kinks = [(1, 3 * size, -2 * size), (-1, 3 * size + 1, 1 - 2 * size), (1, 5, 7), (-1, -2, 9)]
    found = walk(lambda t: value_of(kinks, t), Draws(1), kinks=4)
    assert [piece.line for piece in found.pieces] == true_lines(kinks)


def test_nothing_known_is_not_certified() -> None:
    """Breaks: the label; and the tiny bump is missed, which shows why."""
    size = 1 << 60
    kinks = [(1, 24 * size, -16 * size), (-1, 3 * size + 1, -2 * size), (1, 5, -7)]
    found = walk(lambda t: value_of(kinks, t), Draws(1))
    assert not found.certified
    assert len(found.pieces) < 4


def test_wrong_numbers_of_kinks() -> None:
    """Breaks: too many kinks stated must fail, and too few must be noticed where a piece shows it."""
    kinks = [(1, 3, -4), (1, 5, 7), (-1, -1, 9)]
    with pytest.raises(WalkFailed, match="only 3 kinks"):
        walk(lambda t: value_of(kinks, t), Draws(1), kinks=4)
    with pytest.raises(TooManyKinks, match="more than 0 kinks"):
        walk(lambda t: value_of(kinks, t), Draws(1), kinks=0)


def test_a_function_without_pieces_fails() -> None:
    """Breaks: an endless search where F is not piecewise linear."""
    with pytest.raises(WalkFailed, match="no piece shows"):
        walk(lambda t: t * t, Draws(1), kinks=1)


@given(st.tuples(entries, entries), st.tuples(entries, entries))
def test_lines_meet_where_they_are_equal(left: tuple[int, int], right: tuple[int, int]) -> None:
    """Breaks: the meeting point in the half-plane."""
    assume(left != right)
    lines = [(fmpq(p), fmpq(q)) for p, q in (left, right)]
    t = meeting(lines[0], lines[1])
    if t is None:
        assert left[0] == right[0]
        return
    x, y = place(t)
    assert 0 < t < 2
    assert lines[0][0] * x + lines[0][1] * y == lines[1][0] * x + lines[1][1] * y


@given(st.tuples(entries, entries), fractions, fractions)
def test_two_values_give_the_line(line: tuple[int, int], t: fmpq, s: fmpq) -> None:
    """Breaks: interpolation of a line by two values."""
    assume(t < 2 and s < 2 and t != s)

    def at(r: fmpq) -> fmpq:
        x, y = place(r)
        return line[0] * x + line[1] * y

    assert line_through(t, at(t), s, at(s)) == line


@given(fractions, fractions)
def test_shortest_fraction(a: fmpq, b: fmpq) -> None:
    """Breaks: last tokens as short as the piece allows; compared with a search by denominator."""
    assume(a != b)
    low, high = min(a, b), max(a, b)
    found = short_between(low, high)
    assert low <= found <= high
    q = 1
    while (low * q).ceil() > (high * q).floor():
        q += 1
    assert found.q == q


@given(fractions)
def test_integral_direction(t: fmpq) -> None:
    """Breaks: the integral token must lie on the ray of the abscissa."""
    assume(t < 2)
    (x, y), (a, b) = place(t), integral_direction(t)
    assert x * b == y * a
    assert a.gcd(b) == 1
    assert b >= 0
