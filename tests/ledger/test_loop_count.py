"""Counts read off the source of loops, against running them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sympy

from exactattn.exceptions import InputError
from exactattn.ledger import item_count, yield_count

n, k = sympy.symbols("n k", integer=True, positive=True)


def triangle_free(n: int, k: int) -> Iterator[int]:
    rows = range(1, n + 1)
    yield 0
    for i in rows:
        for j in range(2 * k):
            yield i + j
            yield i - j
    for i in rows[1:]:
        yield i


def with_a_condition(n: int) -> Iterator[int]:
    for i in range(n):
        if i > 2:
            yield i


def with_a_break(n: int) -> Iterator[int]:
    for i in range(n):
        yield i
        break


def with_a_triangle(n: int) -> Iterator[int]:
    for i in range(n):
        yield from range(i)


def with_inner_bound(n: int) -> Iterator[int]:
    for i in range(n):
        for j in range(i):
            yield i * j


def returning_early(n: int) -> Iterator[int]:
    for i in range(n):
        yield i
        return


def filtered(n: int) -> list[int]:
    return [i for i in range(n) if i > 1]


def two_returns(n: int) -> list[int]:
    if n > 3:
        return []
    return [*range(n)]


def test_counts_agree_with_running() -> None:
    """If it fails, the published numbers of queries would be proved from a wrong count."""
    polynomial = yield_count(triangle_free, {"n": n, "k": k})
    for size in range(1, 5):
        for other in range(1, 4):
            assert polynomial.subs({n: size, k: other}) == len(list(triangle_free(size, other)))


@pytest.mark.parametrize(
    "function", [with_a_condition, with_a_break, with_a_triangle, with_inner_bound, returning_early]
)
def test_what_could_change_the_count_is_refused(function: Callable[..., Any]) -> None:
    """If it fails, a plan that skips queries would still be counted in full."""
    with pytest.raises(InputError):
        yield_count(function, {"n": n})


@pytest.mark.parametrize("function", [filtered, two_returns])
def test_lists_are_read_strictly(function: Callable[..., Any]) -> None:
    """If it fails, a list with a condition would be counted as if it had none."""
    with pytest.raises(InputError):
        item_count(function, {"n": n})
