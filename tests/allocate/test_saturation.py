"""The sharp softmax bound: the constant, its proof's identity, and examples that reach it."""

from __future__ import annotations

import pytest
import sympy
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from exactattn.allocate import (
    attention_bound,
    attention_row,
    extremal_rows,
    sharp_bound,
    total_variation,
    weight_bound,
)
from exactattn.exceptions import InputError

pairs = st.integers(1, 6).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(-6, 6), min_size=n, max_size=n) for _ in range(2)))
)


@given(pairs)
def test_attention_moves_by_at_most_the_bound(rows: tuple[list[int], list[int]]) -> None:
    """Breaks: the theorem, on every pair of score rows of the lattice (exponents doubled: even spread)."""
    before, after = ([2 * x for x in row] for row in rows)
    assert total_variation(attention_row(before), attention_row(after)) <= sharp_bound(before, after)


@given(pairs, st.integers(-5, 5))
def test_a_common_shift_changes_nothing(rows: tuple[list[int], list[int]], shift: int) -> None:
    """Breaks: the freedom that turns the spread into the maximum norm."""
    before, after = rows
    moved = [x + shift for x in after]
    assert attention_row(after) == attention_row(moved)
    spreads = [
        max(d) - min(d) for d in ([y - x for x, y in zip(before, r, strict=True)] for r in (after, moved))
    ]
    assert spreads[0] == spreads[1]


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("keys", [2, 3, 5, 9])
def test_the_bound_is_reached(k: int, keys: int) -> None:
    """Breaks: sharpness; a smaller constant, such as tanh(ε/4) in the maximum norm, would be violated."""
    before, after = extremal_rows(k, keys)
    changes = [y - x for x, y in zip(before, after, strict=True)]
    assert max(changes) - min(changes) == 2 * k
    reached = total_variation(attention_row(before), attention_row(after))
    assert reached == sharp_bound(before, after) == fmpq(2**k - 1, 2**k + 1)


@pytest.mark.parametrize("k", [1, 3, 8])
def test_the_constant_in_the_maximum_norm(k: int) -> None:
    """Breaks: ε is half the spread: tanh(ε/2) at ε = k log 2 is (2^k − 1)/(2^k + 1)."""
    with ctx.workprec(128):
        bound = attention_bound(k * arb(2).log())
        exact = fmpq(2**k - 1, 2**k + 1)
        assert bound.contains(exact)
        assert bound.rad() < fmpq(1, 2**100)


def test_the_identity_of_the_proof() -> None:
    """Breaks: the step from odds to total variation, stated in the module text."""
    p, t = sympy.symbols("p t", positive=True)
    left = (t - 1) / (t + 1) - (p * t**2 / (1 - p + p * t**2) - p)
    right = (t - 1) * (1 - p * (t + 1)) ** 2 / ((t + 1) * (1 + p * (t**2 - 1)))
    assert sympy.simplify(left - right) == 0
    omega = sympy.Symbol("omega", positive=True)
    tanh = sympy.tanh(omega / 4).rewrite(sympy.exp).subs(omega, 2 * sympy.log(t))
    assert sympy.simplify(tanh - (t - 1) / (t + 1)) == 0


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=7))
def test_no_weight_exceeds_the_bound(row: list[int]) -> None:
    """Breaks: saturation over long sequences."""
    with ctx.workprec(128):
        spread = (max(row) - min(row)) * arb(2).log()
        bound = weight_bound(spread, len(row))
        assert max(attention_row(row)) <= bound.upper().mid().fmpq()
        largest = [max(row)] + [min(row)] * (len(row) - 1)
        assert weight_bound(spread, len(row)).contains(attention_row(largest)[0])


def test_bad_requests() -> None:
    """Breaks: odd spreads, where the bound is not rational, and sizes without an extremal example."""
    with pytest.raises(InputError, match="spread 1 is odd"):
        sharp_bound([0, 0], [0, 1])
    for k, keys in ((0, 2), (1, 1), (1, 4)):
        with pytest.raises(InputError, match="power of 2"):
            extremal_rows(k, keys)
