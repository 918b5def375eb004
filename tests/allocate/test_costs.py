"""Costs of layers: against operations that are counted one by one, and against published figures."""

from __future__ import annotations

import itertools

import pytest
import sympy
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from exactattn.allocate import (
    PUBLISHED,
    HeadSchedule,
    identified_count,
    layer_cost,
    products,
    schedule_cost,
    unidentified_share,
)
from exactattn.exceptions import InputError


class Meter:
    """An attention layer that adds up ones and counts what it does."""

    def __init__(self, width: int, heads: int, length: int, causal: bool, bias: bool) -> None:
        self.multiply_adds = self.exponentials = self.parameters = 0
        size = width // heads
        self.read = {"weights": set(), "biases": set()}
        for head, _i, c in itertools.product(range(heads), range(length), range(size)):
            for kind in "qkv":
                for x in range(width):
                    self.use("weights", (kind, head, c, x))
                    self.multiply_adds += 1
                if bias:
                    self.use("biases", (kind, head, c))
        for _head, i, j in itertools.product(range(heads), range(length), range(length)):
            if causal and j > i:
                continue
            self.exponentials += 1
            self.multiply_adds += 2 * size  # one score, one value added with its weight
        for _i, y in itertools.product(range(length), range(width)):
            for head, c in itertools.product(range(heads), range(size)):
                self.use("weights", ("o", head, c, y))
                self.multiply_adds += 1
            if bias:
                self.use("biases", ("o", y))
        self.parameters = sum(len(names) for names in self.read.values())
        self.cache = 2 * length * heads * size

    def use(self, kind: str, name: tuple[object, ...]) -> None:
        self.read[kind].add(name)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("width", "heads", "length"), [(4, 1, 1), (4, 2, 3), (6, 3, 4), (6, 6, 5)])
def test_formulas_count_what_a_layer_does(
    width: int, heads: int, length: int, bias: bool, causal: bool
) -> None:
    """Breaks: a polynomial that is not the number of operations."""
    meter = Meter(width, heads, length, causal, bias)
    cost = layer_cost(width, heads, length, bias=bias, causal=causal)
    assert cost.multiply_adds == meter.multiply_adds
    assert cost.exponentials == meter.exponentials
    assert cost.parameters == meter.parameters
    assert cost.cache == meter.cache


def test_products_do_not_depend_on_the_head_count() -> None:
    """Breaks: the compute-neutral part of a schedule, for all sizes; exponentials do depend on it."""
    d, h, T = sympy.symbols("d h T", positive=True)
    for causal in (False, True):
        for product in products(d, h, T, causal=causal):
            assert sympy.diff(sympy.simplify(product.multiply_adds), h) == 0
        assert sympy.diff(layer_cost(d, h, T, causal=causal).exponentials, h) != 0


@given(st.sampled_from([(8, h) for h in (1, 2, 4, 8)]), st.booleans())
def test_parameters_agree_with_the_counts_of_identification(sizes: tuple[int, int], bias: bool) -> None:
    """Breaks: two parts of the package that count one thing differently."""
    width, heads = sizes
    assert (
        layer_cost(width, heads, bias=bias).parameters == identified_count(width, heads, bias=bias).parameters
    )


@pytest.mark.parametrize(
    ("name", "heads", "uniform", "shares"),
    [
        ("prism-124m", 106, 144, ("4.17", "7.29", "2.12", "3.68")),
        ("prism-354m", 324, 384, ("3.12", "4.69", "1.59", "2.37")),
        ("prism-757m", 342, 384, ("3.12", "3.91", "1.58", "1.97")),
    ],
)
def test_published_schedules(name: str, heads: int, uniform: int, shares: tuple[str, ...]) -> None:
    """Breaks: Σh and unidentified shares, uniform → schedule, without and with RoPE, in per cent."""
    schedule = PUBLISHED[name]
    assert all(rule.holds for rule in schedule.rules())
    assert sum(schedule.heads) == heads
    assert sum(schedule.uniform().heads) == uniform
    found = [
        unidentified_share(each, rotary=rotary)
        for rotary in (False, True)
        for each in (schedule.uniform(), schedule)
    ]
    for share, text in zip(found, shares, strict=True):
        # rounded to two decimals; 3.125 may be written either way
        assert abs(100 * share - fmpq(int(text.replace(".", "")), 100)) <= fmpq(1, 200)
    same = [schedule_cost(each) for each in (schedule, schedule.uniform())]
    assert same[0].parameters == same[1].parameters
    assert same[0].multiply_adds == same[1].multiply_adds
    assert same[0].cache == same[1].cache
    assert same[0].exponentials / heads == same[1].exponentials / uniform


def test_undefined_figures() -> None:
    """Breaks: head counts that do not divide the width, and rotation of odd heads."""
    with pytest.raises(InputError, match="5 heads do not divide the width 8"):
        schedule_cost(HeadSchedule.parse("5,8", 8))
    with pytest.raises(InputError, match="5 heads do not divide the width 8"):
        unidentified_share(HeadSchedule.parse("5,8", 8))
    with pytest.raises(InputError, match="is odd"):
        identified_count(6, 2, rotary=True)
