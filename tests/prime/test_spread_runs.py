"""One result, however the blocks are spread: processes, a Dask cluster that loses a worker, a run that is
killed again and again. (Blocks are made small here, so that there are many.)"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from trained_samples import save_bert

from exactattn.checkpoint import open_checkpoint
from exactattn.exceptions import InputError
from exactattn.prime import plan as plan_module
from exactattn.prime.cluster import dask_executor
from exactattn.prime.dyadic_layer import DyadicLayer, trained_layer
from exactattn.prime.store import BlockStore
from exactattn.prime.trained import TrainedRecovery, recover_trained

WIDTH, HEADS = 24, 3
SMALL = 4 * WIDTH  # probes: two rows a block

SCRIPT = f"""
import sys
from exactattn.checkpoint import open_checkpoint
from exactattn.prime import plan
from exactattn.prime.dyadic_layer import trained_layer
from exactattn.prime.trained import recover_trained
plan.PROBES = {SMALL}
layer = trained_layer(open_checkpoint(sys.argv[1]).attention(0), [1] + [0] * {WIDTH - 1})
recover_trained(layer, folder=sys.argv[2])
"""


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(plan_module, "PROBES", SMALL)
    return save_bert(tmp_path / "bert", width=WIDTH, heads=HEADS)


def black_box(checkpoint: Path) -> DyadicLayer:
    return trained_layer(open_checkpoint(checkpoint).attention(0), [1] + [0] * (WIDTH - 1))


def same(x: TrainedRecovery, y: TrainedRecovery) -> bool:
    runs = zip(x.runs, y.runs, strict=True)
    equal = all((a.W == b.W).all() and (a.v == b.v).all() and a.queries == b.queries for a, b in runs)
    return equal and bool((x.W == y.W).all() and (x.v == y.v).all() and x.constant == y.constant)


def test_two_processes_give_the_same(checkpoint: Path) -> None:
    """Breaks: --workers: the order in which blocks come back must not matter."""
    box = black_box(checkpoint)
    assert same(recover_trained(box), recover_trained(box, workers=2))


def test_a_run_killed_three_times_goes_on(checkpoint: Path, tmp_path: Path) -> None:
    """Breaks: resuming: what was finished before a kill must be there, unchanged, and not done again."""
    folder = tmp_path / "blocks"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    written: dict[Path, int] = {}
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(checkpoint), str(folder)], env=environment
        )
        before = len(written)
        while process.poll() is None and len(list(folder.glob("*/block-*.npz"))) < before + 2:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        written |= {path: path.stat().st_mtime_ns for path in folder.glob("*/*.npz") if path not in written}
    assert written
    box = black_box(checkpoint)
    resumed = recover_trained(box, folder=folder)
    assert same(resumed, recover_trained(box))
    assert {path: path.stat().st_mtime_ns for path in written} == written
    again = [path.stat().st_mtime_ns for path in sorted(folder.glob("*/*.npz"))]
    recover_trained(box, folder=folder)
    assert [path.stat().st_mtime_ns for path in sorted(folder.glob("*/*.npz"))] == again


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers over loopback, each a process of its own."""
    pytest.importorskip("distributed")
    contact = tmp_path / "scheduler.json"
    local = ["--scheduler-file", str(contact), "--no-dashboard", "--host", "127.0.0.1"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    command = [sys.executable, "-m", "dask"]
    scheduler = subprocess.Popen([*command, "scheduler", *local, "--port", "0"], **quiet)
    each = [*command, "worker", *local, "--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path)]
    processes = [scheduler]
    try:
        while not contact.exists():
            assert scheduler.poll() is None
            time.sleep(0.05)
        processes += [subprocess.Popen(each, **quiet) for _ in range(2)]
        yield json.loads(contact.read_text())["address"], processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_dask_cluster_that_loses_a_worker_gives_the_same(
    checkpoint: Path, tmp_path: Path, cluster: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    """Breaks: --dask: tasks of a worker that was killed in the middle must be done by the other."""
    address, (_, victim, _) = cluster
    box = black_box(checkpoint)
    killed: list[int] = []

    class Killer:
        """Kills a worker once a few blocks are there."""

        def __init__(self) -> None:
            self.done = 0

        def stage(self, name: str, total: int) -> None:
            self.total = total

        def advance(self, steps: int) -> None:
            self.done += steps
            if self.done >= 3 and not killed:
                victim.kill()
                killed.append(self.total - self.done)

    with dask_executor(address) as executor:
        found = recover_trained(box, executor=executor, folder=tmp_path / "blocks", progress=Killer())
    assert killed
    assert killed[0] > 0
    assert same(found, recover_trained(box))


def test_no_scheduler_is_one_sentence() -> None:
    """Breaks: a wrong address must not hang or end in a traceback."""
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match="no Dask scheduler"), dask_executor("nonsense://x"):
        pass


def test_blocks_of_another_run_are_refused(tmp_path: Path) -> None:
    """Breaks: mixing blocks of two runs would give a layer that neither has."""
    BlockStore(tmp_path / "blocks", {"seed": 1})
    with pytest.raises(InputError, match="another run"):
        BlockStore(tmp_path / "blocks", {"seed": 2})
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "letter.txt").write_text("hello")
    with pytest.raises(InputError, match="not empty"):
        BlockStore(tmp_path / "else", {"seed": 1})


def test_a_broken_block_is_named(tmp_path: Path) -> None:
    """Breaks: a damaged file must be refused with its name, not used and not unpickled."""
    from exactattn.prime.block import BlockResult

    store = BlockStore(tmp_path / "blocks", {})
    store.keep("block 1", BlockResult(1, np.zeros((1, 1, 1), dtype=np.uint64)))
    path = tmp_path / "blocks" / "block-1.npz"
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(InputError, match=r"block-1\.npz"):
        store.kept("block 1", BlockResult)
