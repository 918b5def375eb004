"""How many digits of the parameters survive in floating-point answers, and how wide the constants are.

python tests/benchmarks/float_digits_table.py [--format float64] [--heads 4] [--dim 8] [--redraws 2]

A cell is the number of correct decimal places that every parameter is proved to have, or the condition that
could not be told; an enclosure that misses the truth ends the program.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "errors"))

from float_digits import FloatRun, float_layer, float_run


def cell(run: FloatRun, heads: int, dim: int) -> str:
    """Digits, or why there are none."""
    if run.found is None:
        return f"cannot tell ({run.condition})"
    assert run.found.matches(float_layer(heads, dim)), "an enclosure misses the truth"
    return str(run.found.digits)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", choices=("float64", "float32", "bfloat16"), default="float64")
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--dim", type=int, default=8)
    parser.add_argument("--redraws", type=int, default=2)
    chosen = parser.parse_args()
    table = Table(title=f"correct decimal places from {chosen.format} answers")
    for name in ("H", "d", "largest error", "published", "robust", "robust, 64 tokens"):
        table.add_column(name, justify="right")
    for heads in range(1, chosen.heads + 1):
        for dim in range(2, chosen.dim + 1):
            layer = float_layer(heads, dim)
            runs = [
                float_run(layer, chosen.format, robust=robust, longest=longest, redraws=chosen.redraws)
                for robust, longest in ((False, None), (True, None), (True, 64))
            ]
            error = max(int(run.error.p) / int(run.error.q) for run in runs)
            cells = [cell(run, heads, dim) for run in runs]
            table.add_row(str(heads), str(dim), f"{error:.1e}", *cells)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
