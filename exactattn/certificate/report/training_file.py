"""The figures that ``exactattn train`` wrote, read again for a report."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exactattn.certificate.report.json_file import Reader
from exactattn.crosscheck.training.figures import CURVES, FIGURES_FORMAT
from exactattn.exceptions import InputError

__all__ = ["TrainedRun", "TrainingFile", "read_training"]

READER = Reader("exactattn train")
MAX_EXPERIMENTS, MAX_RUNS, MAX_RECORDS, MAX_SEEDS = 20, 5, 10_000, 1000


@dataclass(frozen=True)
class TrainedRun:
    """One run, as the table of a report shows it: experiment, name, seeds, mean ± spread at the end."""

    experiment: str
    label: str
    seeds: int
    held_out: str
    beta: str
    drift: str
    share: str


@dataclass(frozen=True)
class TrainingFile:
    """Checked figures: ``experiments`` are JSON values that the charts can draw as they are."""

    name: str
    experiments: tuple[dict[str, Any], ...]

    @property
    def runs(self) -> list[TrainedRun]:
        """All runs of all experiments."""
        return [
            TrainedRun(
                experiment["title"],
                run["label"],
                len(experiment["seeds"]),
                _at_the_end(run["curves"]["held_out"]),
                _at_the_end(run["curves"]["beta"]),
                _at_the_end(run["curves"]["drift"]),
                f"{sum(run['curves']['rho']['mean']) / len(run['steps']):.1g}",
            )
            for experiment in self.experiments
            for run in experiment["runs"]
        ]


def read_training(path: str | os.PathLike[str]) -> TrainingFile:
    """Reads the file. Raises InputError, with file and field, if it is not one."""
    file = Path(path)
    data = READER.document(file)
    try:
        if READER.text(data, "format") != FIGURES_FORMAT:
            raise InputError(
                f"must be {FIGURES_FORMAT!r}; write the file with exactattn train", field="format"
            )
        experiments = READER.items(data, "experiments", "", MAX_EXPERIMENTS)
        for number, experiment in enumerate(experiments):
            _check_experiment(experiment, f"experiments[{number}]")
    except InputError as error:
        raise error.in_file(file) from None
    return TrainingFile(str(file), tuple(experiments))


def _check_experiment(experiment: Any, place: str) -> None:
    READER.text(experiment, "name", place)
    READER.text(experiment, "title", place)
    READER.items(experiment, "seeds", place, MAX_SEEDS)
    for number, run in enumerate(READER.items(experiment, "runs", place, MAX_RUNS)):
        _check_run(run, f"{place}.runs[{number}]")


def _check_run(run: Any, place: str) -> None:
    READER.text(run, "label", place)
    share = READER.number(READER.field(run, "chance_share", place), f"{place}.chance_share")
    if not 0 < share < 1:
        raise InputError("must be between 0 and 1", field=f"{place}.chance_share")
    steps = READER.items(run, "steps", place, MAX_RECORDS)
    for step in steps:
        READER.number(step, f"{place}.steps")
    curves = READER.field(run, "curves", place)
    for name in CURVES:
        if name == "law" and isinstance(curves, dict) and name not in curves:
            continue  # only gradient descent has one
        curve = READER.field(curves, name, f"{place}.curves")
        for part in ("mean", "spread"):
            values = READER.items(curve, part, f"{place}.curves.{name}", len(steps))
            if len(values) != len(steps):
                raise InputError(f"must have {len(steps)} numbers", field=f"{place}.curves.{name}.{part}")
            for value in values:
                READER.number(value, f"{place}.curves.{name}.{part}")


def _at_the_end(curve: dict[str, list[float]]) -> str:
    return f"{curve['mean'][-1]:.3g} ± {curve['spread'][-1]:.1g}"
