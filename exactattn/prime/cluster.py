"""The blocks of a run on an existing Dask cluster (extra ``dask``), behind the interface of executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any, TypeVar

from exactattn.exceptions import InputError

__all__ = ["dask_executor"]

R = TypeVar("R")
RETRIES = 5
SECONDS = 30


class _ClusterExecutor(Executor):
    """What every task needs is the result of a task of its own, which is sent once and made again if its
    worker is lost; so are the tasks of lost workers."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._tasks = client.get_executor(pure=False, retries=RETRIES)
        self._sent: dict[int, tuple[Any, Any]] = {}

    def submit(self, work: Callable[..., R], /, *arguments: Any, **named: Any) -> Future[R]:
        if id(work) not in self._sent:
            self._sent[id(work)] = (work, self._client.submit(_itself, work, pure=False, retries=RETRIES))
        sent = self._sent[id(work)][1]
        submitted: Future[R] = self._tasks.submit(_apply, sent, *arguments, **named)
        return submitted

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._tasks.shutdown(wait=wait)


def _itself(work: R) -> R:
    return work


def _apply(work: Callable[..., R], *arguments: Any, **named: Any) -> R:
    return work(*arguments, **named)


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """An executor that runs tasks on the cluster whose scheduler is at ``address``, "tcp://host:port".

    exactattn must be installed where the workers run. Raises InputError if Dask is missing or nobody answers.

    >>> from distributed import LocalCluster
    >>> with LocalCluster(1, processes=False, protocol="tcp", dashboard_address=None) as cluster:
    ...     with dask_executor(cluster.scheduler_address) as executor:
    ...         executor.submit(pow, 2, 10).result()
    1024
    """
    try:
        from distributed import Client
    except ImportError:
        raise InputError("needs the extra dask: pip install 'exactattn[dask]'", field="--dask") from None
    try:
        client = Client(address, timeout=SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address} ({error}); give its tcp:// address", field="--dask"
        ) from None
    with client:
        executor = _ClusterExecutor(client)
        try:
            yield executor
        finally:
            executor.shutdown(wait=False)
