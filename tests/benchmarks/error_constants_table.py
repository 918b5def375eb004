"""Error constants of the log-lattice models that the tests use, how near ε0 is to a real break, and how wide
enclosures are at half of it (C_post/C1, the widest of some and the bound for all answers).

python tests/benchmarks/error_constants_table.py [--seeds 5] [--heads 4]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from random import Random

from flint import arb
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "errors"))

from error_samples import LATTICE, TOKENS, sample_design, sample_layer
from perturbed_runs import Run
from sharp_runs import inflation, perturbations

from exactattn.errors import Bounds, ErrorTheorem, breaking_perturbation, robust_design

SIZES = ((1, 2), (2, 2), (2, 3), (3, 3), (4, 4))


def log10(x: object) -> str:
    """log10 of a positive number with two digits."""
    return str((arb(x).log() / arb(10).log()).str(4, radius=False))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--heads", type=int, default=4)
    chosen = parser.parse_args()
    table = Table(title="error constants (log10), natural units")
    names = "H,d,seed,design,C1,C(ε0),ε0,limit,breaks/ε0,C_post/C1 found,bound,queries,longest"
    for name in names.split(","):
        table.add_column(name, justify="right")
    for heads, dim in SIZES:
        for seed in range(chosen.seeds if heads <= chosen.heads else 0):
            layer = sample_layer(heads, dim, seed)
            design = sample_design(layer)
            designs = {
                "published": design,
                "direct": design.direct(),
                "robust": robust_design(layer, LATTICE, design, tokens=TOKENS),
            }
            for name, each in designs.items():
                run = Run(layer, each)
                theorem = ErrorTheorem(run.first)
                bounds = theorem.bounds(theorem.epsilon0)
                assert isinstance(bounds, Bounds)
                bits = 200 + 2 * int(1 / theorem.epsilon0).bit_length()
                found = breaking_perturbation(run.first, run.answers, theorem.epsilon0, bits)
                ratio = (
                    "none found"
                    if found is None
                    else arb(found.epsilon / theorem.epsilon0).str(3, radius=False)
                )
                cells = (log10(run.first.largest), log10(bounds.largest), log10(theorem.epsilon0))
                half = theorem.epsilon0 / 2
                tries = perturbations(run, half, Random(seed), 3)
                widest = max(inflation(run, errors, half).mid().fmpq() for errors in tries)
                bound = theorem.sharpness(half)
                assert isinstance(bound, arb)
                sharp = [arb(x).str(5, radius=False) for x in (widest, bound)]
                ends = (theorem.limit.condition, str(ratio), *sharp, str(each.count), str(each.longest))
                table.add_row(str(heads), str(dim), str(seed), name, *cells, *ends)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
