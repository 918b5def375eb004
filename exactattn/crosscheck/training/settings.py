"""Training runs to be made: what is trained, how, and with which seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from exactattn.crosscheck.training.character_model import Shape
from exactattn.exceptions import InputError

__all__ = ["EXPERIMENTS", "Experiment", "RunSettings", "experiments"]

RATES = (0.5, 0.25, 0.125, 0.0625)


@dataclass(frozen=True)
class RunSettings:
    """One run. ``decay``: weight decay λ; a plain step shrinks weights by 1 − ηλ too, as AdamW does.

    ``clip``: gradients whose norm over all parameters is larger are scaled down to it, which keeps their
    direction; 0 for never. ``rebalance``: after every so many steps queries and keys are rebalanced; 0 for
    never.
    """

    label: str
    optimiser: str
    rate: float
    decay: float
    rebalance: int
    heads: tuple[int, ...]
    seed: int
    steps: int
    width: int = 32
    context: int = 32
    batch: int = 8
    record_every: int = 50
    clip: float = 1.0

    def __post_init__(self) -> None:
        if self.optimiser not in ("SGD", "AdamW"):
            raise InputError(f"{self.optimiser[:40]!r} is not known; use SGD or AdamW", field="optimiser")
        if min(self.steps, self.batch, self.record_every) < 1:
            raise InputError("steps, batch and record_every must be at least 1", field="steps")

    @property
    def shape(self) -> Shape:
        """The model's sizes."""
        return Shape(self.width, self.heads, self.context)

    @property
    def file_name(self) -> str:
        """The name of the file that keeps the run.

        >>> RunSettings("AdamW, rebalanced", "AdamW", 0.001, 0.1, 200, (4, 4), 3, 10).file_name
        'adamw-rebalanced-seed-3.json'
        """
        words = "".join(x if x.isalnum() else " " for x in self.label.lower()).split()
        return f"{'-'.join(words)}-seed-{self.seed}.json"

    def data(self) -> dict[str, Any]:
        """The settings as JSON values."""
        return asdict(self) | {"heads": list(self.heads)}


@dataclass(frozen=True)
class Experiment:
    """Runs to be compared: each of ``runs`` is made once for every seed."""

    name: str
    title: str
    runs: tuple[RunSettings, ...]
    seeds: tuple[int, ...]

    def all(self) -> list[RunSettings]:
        """Every run with every seed."""
        return [replace(run, seed=seed) for run in self.runs for seed in self.seeds]


def _paper(steps: int) -> tuple[RunSettings, ...]:
    heads, every = (4, 4), max(1, steps // 40)

    def run(label: str, optimiser: str, rate: float, decay: float, rebalance: int = 0) -> RunSettings:
        return RunSettings(label, optimiser, rate, decay, rebalance, heads, 0, steps, record_every=every)

    return (
        run("SGD", "SGD", 0.25, 0.0),
        run("SGD with decay", "SGD", 0.25, 4e-4),
        run("AdamW", "AdamW", 1e-3, 0.1),
        run("AdamW, rebalanced", "AdamW", 1e-3, 0.1, max(1, steps // 10)),
    )


def _rates(steps: int) -> tuple[RunSettings, ...]:
    plain = _paper(steps)[0]
    return tuple(replace(plain, label=f"SGD, rate {rate}", rate=rate) for rate in RATES)


def _schedules(steps: int) -> tuple[RunSettings, ...]:
    adam = _paper(steps)[2]
    layouts = {
        "uniform": (8, 8, 8, 8),
        "progressive": (2, 4, 8, 8),
        "reversed": (8, 8, 4, 2),
        "few heads everywhere": (2, 2, 2, 2),
    }
    return tuple(replace(adam, label=name, heads=heads) for name, heads in layouts.items())


EXPERIMENTS = {
    "optimisers": ("four ways to train", _paper),
    "rates": ("gradient descent at four learning rates", _rates),
    "schedules": ("heads over the layers", _schedules),
}


def experiments(names: Sequence[str], *, seeds: int, steps: int) -> list[Experiment]:
    """The experiments of these names. Raises InputError for unknown ones.

    >>> [len(each.all()) for each in experiments(["optimisers", "rates"], seeds=5, steps=100)]
    [20, 20]
    """
    if seeds < 1 or steps < 1:
        raise InputError("seeds and steps must be at least 1", field="--seeds or --steps")
    for name in names:
        if name not in EXPERIMENTS:
            raise InputError(
                f"{name[:40]!r} is not an experiment; choose from {', '.join(EXPERIMENTS)}",
                field="--experiment",
            )
    return [
        Experiment(name, EXPERIMENTS[name][0], EXPERIMENTS[name][1](steps), tuple(range(seeds)))
        for name in names
    ]
