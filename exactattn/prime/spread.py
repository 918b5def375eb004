"""The blocks of a run over processes, or over any executor; what is finished is kept at once."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing.connection import wait
from threading import Thread
from typing import Any, TypeVar

from exactattn.prime.store import BlockStore

__all__ = ["kept_or_made", "spread"]

R = TypeVar("R")
Work = Callable[[range], R]


def kept_or_made(
    store: BlockStore | None, name: str, kind: type[R], compiled: bool, make: Callable[[], R]
) -> R:
    """A result from the store, or made and kept now."""
    found = None if store is None else store.kept(name, kind, compiled=compiled)
    if found is not None:
        return found
    result = make()
    if store is not None:
        store.keep(name, result)
    return result


def spread(
    work: Work[R],
    blocks: list[range],
    kind: type[R],
    *,
    workers: int = 1,
    executor: Executor | None = None,
    store: BlockStore | None = None,
    finished: Callable[[int, int], None] | None = None,
) -> list[R]:
    """``work`` on every block, in the order of the blocks: here, in so many processes, or by an executor to
    which ``work`` must be small to pickle. Results of the type ``kind`` are kept in the store as they come;
    blocks that it has are not done again. ``finished`` is told how many more are there, and the
    number of blocks.
    """
    tell = finished or (lambda more, total: None)
    results: dict[int, R] = {}
    for block in blocks:
        found = None if store is None else store.kept(f"block {block.start}", kind)
        if found is not None:
            results[block.start] = found
    tell(len(results), len(blocks))
    open_blocks = [block for block in blocks if block.start not in results]

    def keep(block: range, result: R) -> None:
        if store is not None:
            store.keep(f"block {block.start}", result)
        results[block.start] = result
        tell(1, len(blocks))

    if executor is not None:
        _collect({executor.submit(work, block): block for block in open_blocks}, keep)
    elif workers == 1 or len(open_blocks) < 2:
        for block in open_blocks:
            keep(block, work(block))
    else:
        with _pool(workers, work) as pool:
            _collect({pool.submit(_in_worker, block): block for block in open_blocks}, keep)
    return [results[block.start] for block in blocks]


def _collect(tasks: dict[Future[R], range], keep: Callable[[range, R], None]) -> None:
    """Results as they come; after a failure what has not begun is not begun."""
    try:
        for task in as_completed(tasks):
            keep(tasks[task], task.result())
    except BaseException:
        for task in tasks:
            task.cancel()
        raise


_shared: list[Work[Any]] = []


def _share(work: Work[Any]) -> None:
    _shared[:] = [work]
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A killed parent must not leave processes that wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _in_worker(block: range) -> Any:
    return _shared[0](block)


@contextmanager
def _pool(workers: int, work: Work[Any]) -> Iterator[ProcessPoolExecutor]:
    """Processes that hold the work; forked ones share its memory."""
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if "fork" in methods else None)
    with ProcessPoolExecutor(workers, context, _share, (work,)) as pool:
        yield pool
