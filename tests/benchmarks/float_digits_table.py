"""How many digits of the parameters survive in floating-point answers, by numpy and by torch.

python tests/benchmarks/float_digits_table.py [--queries robust] [--heads 4] [--dim 8] [--redraws 2]

A number is how many correct decimal places every parameter is proved to have; a word is the condition that
could not be told from these answers. An enclosure that misses the truth ends the program.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "errors"))

from float_digits import FloatRun, float_layer, float_run

from exactattn.crosscheck.float_oracle import torch_oracle
from exactattn.errors import float_oracle

FORMATS = ("float64", "float32", "bfloat16")
ORACLES = {"numpy": float_oracle, "torch": torch_oracle}
QUERIES = {"published": (False, None), "robust": (True, None), "robust-64": (True, 64)}


def cell(run: FloatRun, heads: int, dim: int) -> str:
    """Digits, or why there are none, and the largest error of an answer."""
    if run.found is not None:
        assert run.found.matches(float_layer(heads, dim)), "an enclosure misses the truth"
    size = f"{int(run.error.p) / int(run.error.q):.0e}"
    return f"{run.condition if run.found is None else run.found.digits} ({size})"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", choices=tuple(QUERIES), default="robust")
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--dim", type=int, default=8)
    parser.add_argument("--redraws", type=int, default=2)
    chosen = parser.parse_args()
    robust, longest = QUERIES[chosen.queries]
    table = Table(title=f"correct decimal places (largest error of an answer), {chosen.queries} queries")
    pairs = [(kind, name) for kind in chosen.formats for name in ORACLES]
    for name in ("H", "d", *(f"{kind} {name}" for kind, name in pairs)):
        table.add_column(name, justify="right")
    for heads in range(1, chosen.heads + 1):
        for dim in range(2, chosen.dim + 1):
            layer, cells = float_layer(heads, dim), []
            for kind, name in pairs:
                run = float_run(
                    layer,
                    kind,
                    robust=robust,
                    longest=longest,
                    redraws=chosen.redraws,
                    make_oracle=ORACLES[name],
                )
                cells.append(cell(run, heads, dim))
            table.add_row(str(heads), str(dim), *cells)
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
