"""Times of training runs and their figures; run by hand.

    python tests/benchmarks/training_table.py FOLDER

FOLDER keeps the runs of ``exactattn train`` (all experiments, five seeds): finished ones are only read.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from exactattn.cli.train import FULL
from exactattn.crosscheck.training import experiments, run_all

SEEDS = 5


def main(folder: Path) -> None:
    """Prints one row a run: loss, β, drift, τ, μ, ρ (mean ± deviation over seeds), processor time."""
    chosen = experiments(["optimisers", "rates", "schedules"], seeds=SEEDS, steps=FULL)
    results = run_all(chosen, folder, workers=2)
    for each in chosen:
        print(f"{each.title}, {SEEDS} seeds, {FULL} steps")
        for runs in results[each.name]:
            cells = [runs[0]["settings"]["label"].ljust(22)]
            ends = [run["records"][-1] for run in runs]
            cells.append(shown([record["held_out"] for record in ends]))
            for name in ("beta", "drift", "tau", "mu"):
                cells.append(shown([of_heads(record, name) for record in ends]))
            every = [[of_heads(record, "rho") for record in run["records"]] for run in runs]
            cells.append(shown([statistics.fmean(shares) for shares in every]))
            layers = [layer for run in runs for record in run["records"] for layer in record["layers"]]
            largest = max(x for layer in layers for x in layer["key_bias_gradient"])
            cells.append(f"{largest:.0e}")
            cells.append(f"{sum(run['processor_seconds'] for run in runs):.0f} s")
            print("  ".join(cells))


def of_heads(record: dict, name: str) -> float:
    """The mean of a measure over all heads of all layers."""
    return statistics.fmean(x for layer in record["layers"] for x in layer[name])


def shown(values: list[float]) -> str:
    """Mean ± standard deviation."""
    return f"{statistics.fmean(values):9.3g} ± {statistics.stdev(values):7.1g}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
