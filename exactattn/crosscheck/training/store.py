"""Finished runs kept in a folder, one file each, so that an interrupted set of runs goes on where it was."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from exactattn.crosscheck.torch_package import torch_package
from exactattn.crosscheck.training.run import FORMAT, train
from exactattn.crosscheck.training.settings import Experiment, RunSettings
from exactattn.exceptions import InputError
from exactattn.model.files import write_file
from exactattn.recovery import Progress

__all__ = ["kept_run", "run_all"]

MAX_BYTES = 64 << 20


def run_all(
    experiments: Sequence[Experiment],
    folder: str | os.PathLike[str],
    *,
    workers: int = 2,
    progress: Progress | None = None,
) -> dict[str, list[list[dict[str, Any]]]]:
    """All runs of all experiments: for each experiment's name, for each of its runs, the seeds' results.

    Runs whose file is in the folder already are read, not made again; each file is written whole when its run
    ends. Raises InputError if a file there belongs to another run, and without torch.
    """
    torch_package()
    if workers < 1:
        raise InputError(f"must be at least 1, not {workers}", field="--workers")
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", file=place) from None
    for experiment in experiments:
        (place / experiment.name).mkdir(exist_ok=True)
    wanted = [(place / each.name / run.file_name, run) for each in experiments for run in each.all()]
    missing = [(path, run) for path, run in wanted if kept_run(path, run) is None]
    if progress is not None:
        progress.stage("runs", len(wanted))
        progress.advance(len(wanted) - len(missing))
    _make(missing, workers, progress)
    return {
        each.name: [
            [_required(place / each.name / run.file_name, run) for run in each.all() if run.label == label]
            for label in dict.fromkeys(run.label for run in each.runs)
        ]
        for each in experiments
    }


def _make(missing: Sequence[tuple[Path, RunSettings]], workers: int, progress: Progress | None) -> None:
    if workers == 1 or len(missing) < 2:
        for path, run in missing:
            _make_one(path, run)
            if progress is not None:
                progress.advance(1)
        return
    # torch must not be forked once it has threads
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(missing)), mp_context=context) as pool:
        try:
            for done in as_completed([pool.submit(_make_one, path, run) for path, run in missing]):
                done.result()
                if progress is not None:
                    progress.advance(1)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _make_one(path: Path, run: RunSettings) -> None:
    write_file(json.dumps(train(run)) + "\n", path)


def kept_run(path: Path, run: RunSettings) -> dict[str, Any] | None:
    """The result in a file, or None if there is no file. Raises InputError if it is not that of this run."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"is larger than {MAX_BYTES >> 20} MB", file=path)
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise InputError("is not a kept run; remove it, or choose another folder", file=path) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("settings") != run.data():
        raise InputError("was made with other settings; remove it, or choose another folder", file=path)
    return data


def _required(path: Path, run: RunSettings) -> dict[str, Any]:
    found = kept_run(path, run)
    assert found is not None
    return found
