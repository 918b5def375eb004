"""Single figures of exact rational interpolation: pytest tests/benchmarks --benchmark-only.

The table of ratios against the alternatives is printed by interpolation_table.py.
"""

from __future__ import annotations

import pytest
from interpolation_table import METHODS, planted
from pytest_benchmark.fixture import BenchmarkFixture


@pytest.mark.parametrize("method", ["exactattn", "fmpq_mat.solve + factor"])
@pytest.mark.parametrize(
    ("family", "poles"),
    [("integers", 2), ("integers", 8), ("integers", 64), ("powers of two", 8), ("powers of two", 32)],
)
def test_interpolation(benchmark: BenchmarkFixture, family: str, poles: int, method: str) -> None:
    """Breaks: nothing but the figures; the result must still be the planted one."""
    nodes, values, truth = planted(family, poles)
    assert benchmark(METHODS[method], nodes, values) == truth


def test_interpolation_of_large_powers(benchmark: BenchmarkFixture) -> None:
    """The common case on the log-lattice: six poles 2^e with |e| up to 15000."""
    nodes, values, truth = planted("2^e, |e| ≤ 15000", 6)
    assert benchmark(METHODS["exactattn"], nodes, values) == truth
