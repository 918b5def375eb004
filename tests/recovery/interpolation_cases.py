"""Cases and engines that the tests of exact interpolation share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from flint import fmpq

from exactattn.recovery import PartialFractions, rational
from exactattn.recovery.elimination import eliminate
from exactattn.recovery.nodes import Nodes
from exactattn.recovery.rational import partial_fractions_over_q

Sample = tuple[list[fmpq], list[fmpq]]


def power(e: int) -> fmpq:
    return fmpq(2) ** e


def copy_counts(n: int) -> list[fmpq]:
    return [fmpq(m) for m in range(1, n + 1)]


def sampled(nodes: list[fmpq], pairs: list[tuple[fmpq, fmpq]]) -> list[fmpq]:
    return [sum((c / (x + r) for r, c in pairs), fmpq(0)) for x in nodes]


def form(pairs: list[tuple[fmpq, fmpq]]) -> PartialFractions:
    ordered = sorted(pairs)
    return PartialFractions(tuple(r for r, _ in ordered), tuple(c for _, c in ordered))


@contextmanager
def modular_only() -> Iterator[None]:
    """Small problems go through primes too, and elimination is out of reach."""

    def forbidden(*_: object) -> PartialFractions:
        raise AssertionError("elimination was needed")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rational, "ELIMINATION_POLES", -1)
        patch.setattr(rational, "eliminate", forbidden)
        yield


def by_primes(nodes: list[fmpq], values: list[fmpq], max_poles: int) -> PartialFractions:
    with modular_only():
        return partial_fractions_over_q(nodes, values, max_poles)


def by_elimination(nodes: list[fmpq], values: list[fmpq], max_poles: int) -> PartialFractions:
    return eliminate(Nodes.of(tuple(nodes)), values, max_poles)


Engine = Callable[[list[fmpq], list[fmpq], int], PartialFractions]
ENGINES: list[Engine] = [partial_fractions_over_q, by_primes, by_elimination]
engines = pytest.mark.parametrize("engine", ENGINES, ids=lambda f: f.__name__)
