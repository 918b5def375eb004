"""Heads against dimensions: the line, its Pareto front, and agreement with the counts of layers."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from exactattn.allocate import BudgetPoint, budget_chart, budget_line, identified_formula, pareto_front
from exactattn.exceptions import InputError
from exactattn.identify import AttentionSpec, count_layer


def dominated(p: BudgetPoint, points: list[BudgetPoint]) -> bool:
    return any(
        q.rank >= p.rank and q.identified >= p.identified and (q.rank, q.identified) != (p.rank, p.identified)
        for q in points
    )


@given(st.integers(1, 40), st.integers(1, 400))
def test_the_front_is_what_is_not_dominated(width: int, budget: int) -> None:
    """Breaks: the Pareto front, against its definition."""
    points = budget_line(width, budget)
    assert {p.heads * p.head_size for p in points} == {budget}
    assert len({p.parameters for p in points}) == 1
    assert set(pareto_front(points)) == {p for p in points if not dominated(p, points)}


@given(st.integers(1, 40), st.integers(1, 40))
def test_every_split_of_the_width_is_on_the_front(width: int, factor: int) -> None:
    """Breaks: "nothing is free at either end": with sizes up to the width no split dominates another."""
    points = [p for p in budget_line(width, factor) if p.head_size <= width]
    assert pareto_front(points) == sorted(points, key=lambda p: -p.head_size)


@pytest.mark.parametrize(("width", "budget"), [(12, 12), (6, 12), (4, 16)])
def test_identified_agrees_with_the_count_of_layers(width: int, budget: int) -> None:
    """Breaks: a second formula for the same number; also for heads larger than the width."""
    for p in budget_line(width, budget):
        count = count_layer(AttentionSpec.of(width, p.heads, head_size=p.head_size))
        assert count.parameters == 2 * p.parameters
        assert count.identified == 2 * p.identified


def test_the_line_in_symbols() -> None:
    """Breaks: identified = 2EB − B d for all sizes."""
    E, B, d = sympy.symbols("E B d", positive=True)
    assert sympy.expand(identified_formula(E, B / d, d) - (2 * E * B - B * d)) == 0


@pytest.mark.parametrize(("width", "budget"), [(0, 4), (4, 0), (-1, 4), (4, 10**10)])
def test_sizes_out_of_range(width: int, budget: int) -> None:
    """Breaks: one sentence for sizes that make no layer."""
    with pytest.raises(InputError, match="must be from 1 to"):
        budget_line(width, budget)


def test_the_chart_is_the_same_each_time() -> None:
    """Breaks: a picture without labels, or one that changes."""
    points = budget_line(6, 12)
    text = budget_chart(points)
    assert text == budget_chart(points)
    for label in (
        "identified query/key parameters",
        "highest rank",
        "Pareto front",
        "dominated splits",
        "1 × 12",
    ):
        assert label in text
