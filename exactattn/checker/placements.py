"""All ways to give heads to levels, each with a sum that its heads' contributions must have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from .check import refuse

__all__ = ["Limit", "placements"]

MAX_TRIED = 1 << 18

Options = Callable[[int, int], list[tuple[Any, Any]]]


class Limit:
    """Counts what is tried, and refuses to go on for ever."""

    def __init__(self, name: str) -> None:
        self.name, self.left = name, MAX_TRIED

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            refuse("heads", f"{self.name}: heads could be exchanged in too many ways")


def placements(
    sums: list[int] | list[Fraction], options: Options, heads: frozenset[int], spare: int, limit: Limit
) -> Iterator[dict[int, Any]]:
    """All ways to give every level a set of heads with its sum, with at most ``spare`` heads more than
    levels: what each of these heads then means.

    ``options(level, head)`` lists the contributions a head can make to a level, each with its meaning.
    """
    yield from _placed(0, sums, options, heads, spare, limit)


def _placed(
    level: int,
    sums: list[int] | list[Fraction],
    options: Options,
    heads: frozenset[int],
    spare: int,
    limit: Limit,
) -> Iterator[dict[int, Any]]:
    if level == len(sums):
        yield {}
        return
    for n in range(1, spare + 2):
        for group in combinations(sorted(heads), n):
            for chosen in product(*(options(level, h) for h in group)):
                limit.step()
                if sum(value for value, _ in chosen) != sums[level]:
                    continue
                here = {h: meaning for h, (_, meaning) in zip(group, chosen, strict=True)}
                for rest in _placed(level + 1, sums, options, heads - set(group), spare + 1 - n, limit):
                    yield {**rest, **here}
