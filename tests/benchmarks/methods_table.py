"""The three methods side by side: queries, digits that go in, digits that come out.

python tests/benchmarks/methods_table.py [--heads 1 2 3 4 5] [--dims 2 3 4 5 6] [--seeds 5] [--ranks]

Real layers over balls; every run must enclose the truth. "digits in" is the working precision of the answers,
"lost" what lies between it and the widest enclosure (median over the seeds). "again" counts runs in which
queries had to be drawn again.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from exactattn.oracle import ExactOracle
from exactattn.recovery import Recovery, identified_count, recover
from exactattn.recovery.start import Method

sys.path.insert(0, str(Path(__file__).parents[1] / "recovery"))
from planted_layers import real_layer

METHODS: tuple[Method, ...] = ("published", "consistent", "optimal")


def runs(method: Method, heads: int, dim: int, rank: int | None, seeds: int) -> list[Recovery]:
    """Runs over several layers; each must be right."""
    found = []
    for seed in range(seeds):
        layer = real_layer(heads, dim, rank or dim, seed)
        result = recover(
            ExactOracle(layer), heads, method=method, rank=None if method == "published" else rank,
            numbers="balls", seed=seed,
        )  # fmt: skip
        assert result.matches(layer)
        found.append(result)
    return found


def row(method: Method, heads: int, dim: int, rank: int | None, seeds: int) -> tuple[list[str], float]:
    """One line of the table, and the digits lost."""
    found = runs(method, heads, dim, rank, seeds)
    plain = next((result for result in found if not result.redraws), found[0])
    inside: list[Any] = [result.system for result in found]
    lost = statistics.median(result.digits_lost for result in found)
    digits = statistics.median(system.precision for system in inside) * 0.30103
    again = sum(result.redraws > 0 for result in found)
    counts = [plain.queries, identified_count(heads, dim, rank)]
    cells = [method, heads, dim, rank or dim, *counts, f"{digits:.0f}", f"{digits - lost:.0f}", f"{lost:.1f}"]
    return [str(cell) for cell in [*cells, again]], lost


def main() -> None:
    """Prints the table, and whether the consistency method lost less than the optimal one everywhere."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--heads", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--dims", type=int, nargs="+", default=[2, 3, 4, 5, 6])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--ranks", action="store_true", help="every rank, not only full rank")
    options = parser.parse_args()
    table = Table(title=f"methods, {options.seeds} real layers each")
    for column in (
        "method",
        "H",
        "d",
        "r",
        "queries",
        "identified",
        "digits in",
        "digits out",
        "lost",
        "again",
    ):
        table.add_column(column, justify="right")
    fewer = True
    for heads in options.heads:
        for dim in options.dims:
            for rank in [None, *(range(1, dim) if options.ranks else ())]:
                lost = {}
                for method in METHODS:
                    cells, lost[method] = row(method, heads, dim, rank, options.seeds)
                    table.add_row(*cells)
                fewer = fewer and lost["consistent"] < lost["optimal"]
    console = Console(width=110)
    console.print(table)
    console.print(f"the consistency method loses fewer digits than the optimal one in every case: {fewer}")


if __name__ == "__main__":
    main()
