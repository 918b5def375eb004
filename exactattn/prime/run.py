"""Recovery over a prime field from end to end, with the blocks of rows spread over an executor."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from exactattn.prime.arithmetic import Array
from exactattn.prime.assembly import assembled_matrices, solved_differences
from exactattn.prime.block import BlockResult, FirstRow, answers, solve_block, solve_first
from exactattn.prime.field import PrimeField
from exactattn.prime.mend import Oracle
from exactattn.prime.plan import BlockPlan

__all__ = ["PrimeRecovery", "assemble", "recover_prime", "run_block", "run_first"]


@dataclass(frozen=True, eq=False)
class PrimeRecovery:
    """The K canonical heads modulo p − 1 and p: ``W`` (K, d or d+1, d), ``v`` (K, d) and ``constant``, sorted
    by v; ``queries`` counts those of the plan and ``further`` those that ``mended`` exceptional probes."""

    field: PrimeField
    W: Array
    v: Array
    constant: int
    queries: int
    further: int
    mended: int


def run_first(plan: BlockPlan, field: PrimeField, oracle: Oracle) -> FirstRow:
    """Asks and solves the first row."""
    return solve_first(plan, field, answers(oracle, plan, plan.blocks[0]), oracle.alone(plan.b[0]), oracle)


def run_block(plan: BlockPlan, block: range, first: FirstRow, oracle: Oracle) -> BlockResult:
    """Asks and solves one block of later rows; doing it again gives the same result."""
    return solve_block(plan, block, answers(oracle, plan, block), first, oracle)


def assemble(plan: BlockPlan, first: FirstRow, results: Iterable[BlockResult]) -> PrimeRecovery:
    """The heads from the first row and the results of all other blocks, in any order."""
    parts = sorted([first.result, *results], key=lambda part: part.start)
    exponents = np.concatenate([part.exponents for part in parts])
    v = solved_differences(plan, first.residues, first.field.p)
    W = assembled_matrices(plan, exponents, first.field.n)
    order = sorted(range(len(v)), key=lambda h: v[h].tolist())
    further, mended = sum(part.further for part in parts), sum(part.mended for part in parts)
    return PrimeRecovery(first.field, W[order], v[order], first.constant, plan.count, further, mended)


def recover_prime(
    oracle: Oracle,
    heads: int,
    dim: int,
    field: PrimeField | None = None,
    *,
    seed: int = 0,
    bias: bool = False,
    workers: int = 1,
    executor: Executor | None = None,
) -> PrimeRecovery:
    """Recovers all heads of a layer in a prime field by the published method.

    ``workers`` > 1 starts so many processes; with an ``executor`` each task carries the oracle, which should
    then be small to pickle. Raises InconsistentAnswers, GenericityExhausted, InputError. A refusal modulo p −
    1 and p is proved; a success proves every non-vanishing that it met for the model over the reals (theory,
    section 2, specialisation lemma).

    >>> from exactattn.prime.layer import PrimeLayer
    >>> rng = np.random.default_rng(1)
    >>> layer = PrimeLayer(PrimeField(), rng.integers(-99, 99, (2, 4, 4)), rng.integers(-99, 99, (2, 4)))
    >>> found = recover_prime(layer, heads=2, dim=4)
    >>> found.queries, sorted(found.v.tolist()) == sorted(layer.v.tolist())
    (125, True)
    """
    field = field or PrimeField()
    plan = BlockPlan(heads, dim, seed, bias)
    first = run_first(plan, field, oracle)
    later = plan.blocks[1:]
    if executor is not None:
        tasks = [executor.submit(run_block, plan, block, first, oracle) for block in later]
        return assemble(plan, first, [task.result() for task in tasks])
    if workers == 1 or len(later) < 2:
        return assemble(plan, first, (run_block(plan, block, first, oracle) for block in later))
    with _pool(workers, plan, first, oracle) as pool:
        return assemble(plan, first, pool.map(_in_worker, later))


_shared: list[tuple[BlockPlan, FirstRow, Oracle]] = []


def _share(plan: BlockPlan, first: FirstRow, oracle: Oracle) -> None:
    _shared[:] = [(plan, first, oracle)]


def _in_worker(block: range) -> BlockResult:
    plan, first, oracle = _shared[0]
    return run_block(plan, block, first, oracle)


@contextmanager
def _pool(workers: int, plan: BlockPlan, first: FirstRow, oracle: Oracle) -> Iterator[ProcessPoolExecutor]:
    """Processes that hold the oracle; forked ones share its memory."""
    methods: Sequence[str] = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if "fork" in methods else None)
    with ProcessPoolExecutor(workers, context, _share, (plan, first, oracle)) as pool:
        yield pool
