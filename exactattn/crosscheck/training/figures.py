"""Figures of training runs: means and spreads over seeds, as one JSON file that ``exactattn report`` reads.

Every curve is a mean over seeds with its standard deviation; quantities of heads are averaged over the heads
of all layers first. Nothing in it is a verdict.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from exactattn.crosscheck.training.settings import Experiment

__all__ = ["CURVES", "FIGURES_FORMAT", "figures"]

FIGURES_FORMAT = "exactattn training figures"

Record = Mapping[str, Any]


def _mean_of_heads(name: str) -> Callable[[Record], float]:
    return lambda record: statistics.fmean(x for layer in record["layers"] for x in layer[name])


def _largest_of_heads(name: str) -> Callable[[Record], float]:
    return lambda record: max(x for layer in record["layers"] for x in layer[name])


CURVES: dict[str, Callable[[Record], float]] = {
    "held_out": lambda record: float(record["held_out"]),
    "rho": _mean_of_heads("rho"),
    "beta": _mean_of_heads("beta"),
    "tau": _mean_of_heads("tau"),
    "mu": _mean_of_heads("mu"),
    "drift": _mean_of_heads("drift"),
    "key_bias_gradient": _largest_of_heads("key_bias_gradient"),
    "query_bias_gradient": _largest_of_heads("query_bias_gradient"),
    "law": _largest_of_heads("law"),
}
"""What is shown of each record: the loss on held-out text, means over heads, and largest values."""


def figures(experiments: Sequence[Experiment], results: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of finished runs (:func:`~exactattn.crosscheck.training.store.run_all`) as JSON values."""
    return {
        "format": FIGURES_FORMAT,
        "version": 1,
        "experiments": [
            {
                "name": each.name,
                "title": each.title,
                "seeds": list(each.seeds),
                "runs": [_run(runs) for runs in results[each.name]],
            }
            for each in experiments
        ],
    }


def _run(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    settings = runs[0]["settings"]
    names = [name for name in CURVES if name != "law" or settings["optimiser"] == "SGD"]
    return {
        "label": settings["label"],
        "settings": {k: v for k, v in settings.items() if k not in ("label", "seed")},
        "processor_seconds": round(sum(run["processor_seconds"] for run in runs), 2),
        "steps": [record["step"] for record in runs[0]["records"]],
        "chance_share": statistics.fmean(1 / (2 * heads) for heads in settings["heads"]),
        "curves": {
            name: _curve([[CURVES[name](r) for r in run["records"]] for run in runs]) for name in names
        },
        "largest_rebalancing_change": max(run["largest_rebalancing_change"] for run in runs),
    }


def _curve(by_seed: Sequence[Sequence[float]]) -> dict[str, list[float]]:
    """Mean and standard deviation over seeds, at every record.

    >>> _curve([[1.0, 2.0], [3.0, 2.0]])["mean"]
    [2.0, 2.0]
    """
    columns = list(zip(*by_seed, strict=True))
    return {
        "mean": [statistics.fmean(column) for column in columns],
        "spread": [statistics.stdev(column) if len(column) > 1 else 0.0 for column in columns],
    }
