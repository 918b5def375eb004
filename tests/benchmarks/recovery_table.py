"""Whole recovery: asking, solving and checking, on the lattice and with balls, in one run.

python tests/benchmarks/recovery_table.py [--repeat N]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from exactattn.certificate import recovery_certificate
from exactattn.checker import check_data
from exactattn.model import Attention, Head, random_layer
from exactattn.oracle import ExactOracle
from exactattn.recovery import recover


def float_layer(heads: int, dim: int) -> Attention:
    """Standard normal float64 parameters."""
    rng = np.random.default_rng(heads * 100 + dim)
    W, v = rng.standard_normal((heads, dim, dim)), rng.standard_normal((heads, dim))
    return Attention.of([Head.of(W[h].tolist(), v[h].tolist()) for h in range(heads)])


class StageClock:
    """Seconds spent in each stage of a run."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._name = ""
        self._since = time.perf_counter()

    def stage(self, name: str, total: int) -> None:
        """Closes the running stage and begins another."""
        now = time.perf_counter()
        if self._name:
            self.seconds[self._name] = self.seconds.get(self._name, 0.0) + now - self._since
        self._name, self._since = name, now

    def advance(self, steps: int) -> None:
        """Not needed for times."""


def measured(layer: Attention, heads: int, numbers: Any) -> tuple[Any, StageClock]:
    """One run and its clock; the run must be right."""
    clock = StageClock()
    result = recover(ExactOracle(layer), heads, numbers=numbers, progress=clock)
    clock.stage("", 0)
    assert result.matches(layer)
    return result, clock


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    table = Table(title=f"whole recovery, best of {repeat}")
    for column in (
        "numbers",
        "H",
        "d",
        "queries",
        "asking s",
        "solving s",
        "total s",
        "check s",
        "check/total",
    ):
        table.add_column(column, justify="right")
    lattice = [("lattice", H, d, random_layer(H, d, seed=1)) for H, d in ((2, 2), (4, 4), (8, 8))]
    balls = [("balls", H, d, float_layer(H, d)) for H, d in ((2, 2), (4, 4), (6, 8))]
    for numbers, H, d, layer in lattice + balls:
        runs = [measured(layer, H, numbers) for _ in range(repeat)]
        result, clock = min(runs, key=lambda run: run[0].seconds)
        row = [numbers, str(H), str(d), f"{result.queries:,}"]
        row += [f"{clock.seconds.get(stage, 0.0):.3f}" for stage in ("asking", "solving")]
        row.append(f"{result.seconds:.3f}")
        if numbers == "lattice":
            certificate = recovery_certificate(result, layer)
            started = time.perf_counter()
            check_data(certificate)
            seconds = time.perf_counter() - started
            row += [f"{seconds:.3f}", f"{seconds / result.seconds:.2f}"]
        else:
            row += ["–", "–"]
        table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
