"""How long the standard-library checker takes on enclosure certificates of float64 layers over balls.

python tests/benchmarks/enclosure_check_table.py [--digits 20] [--sizes 2,2 4,4 6,8]
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import pairwise
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "checker"))

from enclosure_cases import float_layer

from exactattn.certificate import ball_certificate, canonical_json
from exactattn.checker import check_data
from exactattn.oracle import ExactOracle
from exactattn.recovery import recover


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--digits", type=int, default=20)
    parser.add_argument("--sizes", nargs="+", default=["2,2", "3,3", "4,4", "6,8"])
    chosen = parser.parse_args()
    table = Table(title=f"enclosure certificates, {chosen.digits} digits")
    for name in ("H", "d", "queries", "recover s", "certificate s", "check s", "megabytes"):
        table.add_column(name, justify="right")
    for size in chosen.sizes:
        heads, dim = map(int, size.split(","))
        layer = float_layer(heads, dim)
        clock = [time.process_time()]
        result = recover(ExactOracle(layer), heads, numbers="balls", digits=chosen.digits)
        clock.append(time.process_time())
        certificate = ball_certificate(result, layer)
        clock.append(time.process_time())
        assert check_data(certificate).code == 0
        clock.append(time.process_time())
        times = [f"{after - before:.1f}" for before, after in pairwise(clock)]
        size_of_file = len(canonical_json(certificate)) / 1e6
        table.add_row(str(heads), str(dim), str(result.queries), *times, f"{size_of_file:.1f}")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
