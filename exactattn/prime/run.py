"""Recovery over a prime field from end to end, with the blocks of rows spread over an executor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from exactattn.exceptions import GenericityExhausted, InputError
from exactattn.prime.arithmetic import Array, bits, product
from exactattn.prime.assembly import assembled_matrices, solved_differences
from exactattn.prime.block import BlockResult, FirstRow, answers, solve_block, solve_first
from exactattn.prime.completion import complete_matrices, flat_scores
from exactattn.prime.field import PrimeField
from exactattn.prime.mend import Oracle
from exactattn.prime.plan import BlockPlan
from exactattn.prime.spread import kept_or_made, spread
from exactattn.prime.staged_block import StagedResult, solve_staged_block, staged_answers
from exactattn.prime.staged_first import StagedFirst, run_stage_one
from exactattn.prime.staged_plan import StagedBlockPlan
from exactattn.prime.store import BlockStore

__all__ = ["PrimeRecovery", "assemble", "recover_prime", "run_block", "run_first"]

AnyPlan = BlockPlan | StagedBlockPlan
AnyFirst = FirstRow | StagedFirst
AnyResult = BlockResult | StagedResult
SUBGROUP = 1 << 20  # the optimal method labels by membership: small enough to mean something, long enough


@dataclass(frozen=True, eq=False)
class PrimeRecovery:
    """The K canonical heads: ``W`` (K, d or d+1, d) modulo ``order``, ``v`` (K, d) and ``constant`` modulo p,
    sorted by v. ``order`` is p − 1, or that of the subgroup in which exp took its values. ``queries`` counts
    those of the plan and ``further`` those that ``mended`` exceptional probes."""

    field: PrimeField
    order: int
    W: Array
    v: Array
    constant: int
    queries: int
    further: int
    mended: int


def run_first(plan: AnyPlan, field: PrimeField, oracle: Oracle, *, order: int | None = None) -> AnyFirst:
    """Asks and solves the first row.

    ``order``: the subgroup in which exp takes its values, a divisor of p − 1; None is p − 1 itself, or for
    the optimal method the longest power of a prime up to 2^20. Raises InputError, GenericityExhausted,
    InconsistentAnswers.
    """
    if isinstance(plan, StagedBlockPlan):
        if order is None:
            order = _small_order(field) if plan.method == "optimal" else field.order
        if order < 2 or field.order % order:
            raise InputError(f"must divide {field.prime} − 1, which {order} does not", field="order")
        return run_stage_one(plan, field, oracle, field.order // order)
    if order not in (None, field.order):
        raise InputError("goes with the optimal and the consistency method", field="order")
    return solve_first(plan, field, answers(oracle, plan, plan.blocks[0]), oracle.alone(plan.b[0]), oracle)


def _small_order(field: PrimeField) -> int:
    powers: list[int] = [q**k for q, a in field.scalar.factors for k in range(1, a + 1)]
    return max(x for x in powers if x <= SUBGROUP)


def run_block(plan: AnyPlan, block: range, first: AnyFirst, oracle: Oracle) -> AnyResult:
    """Asks and solves one block of later rows; doing it again gives the same result."""
    if isinstance(plan, StagedBlockPlan) and isinstance(first, StagedFirst):
        return solve_staged_block(plan, block, staged_answers(plan, block, first, oracle), first, oracle)
    if isinstance(plan, BlockPlan) and isinstance(first, FirstRow):
        return solve_block(plan, block, answers(oracle, plan, block), first, oracle)
    raise InputError("the first row is not that of the plan", field="first")


def assemble(
    plan: AnyPlan, first: AnyFirst, results: Iterable[AnyResult], *, complete: bool = True
) -> PrimeRecovery:
    """The heads from the first row and the results of all other blocks, in any order.

    ``complete`` False, for plans of rank r < d: W is replaced by the scores (K, N) that were seen, from which
    ``complete_lifted`` finds it once they are known well enough.
    """
    parts = sorted(results, key=lambda part: part.start)
    further = first.further + sum(part.further for part in parts)
    mended = first.mended + sum(part.mended for part in parts)
    if isinstance(plan, StagedBlockPlan) and isinstance(first, StagedFirst):
        order, v = first.order, first.v
        W = _staged_matrices(plan, first, parts, complete)
    elif isinstance(plan, BlockPlan) and isinstance(first, FirstRow):
        order, v = first.field.order, solved_differences(plan, first.residues, first.field.p)
        exponents = np.concatenate([first.exponents[None], *(part.exponents for part in parts)])
        W = assembled_matrices(plan, exponents, first.field.n)
    else:
        raise InputError("the first row is not that of the plan", field="first")
    heads = sorted(range(len(v)), key=lambda h: v[h].tolist())
    return PrimeRecovery(first.field, order, W[heads], v[heads], first.constant, plan.count, further, mended)


def _staged_matrices(
    plan: StagedBlockPlan, first: StagedFirst, parts: Sequence[AnyResult], complete: bool
) -> Array:
    scale, n = np.uint64(first.scale), np.uint64(first.order)
    if any((table % scale).any() for table in (first.row, *(part.exponents for part in parts))):
        raise GenericityExhausted("an exponent is not in the subgroup; try another seed")
    own = product(first.row // scale, plan.u.T, n, right_bits=bits(plan.u))
    tables = [own[None], *(part.exponents // scale for part in parts)]
    whole = [table for table in tables if table.shape[2] == plan.dim]
    short = [table for table in tables if table.shape[2] < plan.dim]
    if not short:
        return assembled_matrices(plan, np.concatenate(whole), n)
    if not complete:
        return flat_scores(np.concatenate(whole), np.concatenate(short))
    return complete_matrices(plan, np.concatenate(whole), np.concatenate(short), first.order)


def recover_prime(
    oracle: Oracle,
    heads: int,
    dim: int,
    field: PrimeField | None = None,
    *,
    method: Literal["published", "consistent", "optimal"] = "published",
    rank: int | None = None,
    order: int | None = None,
    complete: bool = True,
    seed: int = 0,
    bias: bool = False,
    workers: int = 1,
    executor: Executor | None = None,
    store: BlockStore | None = None,
    finished: Callable[[int, int], None] | None = None,
) -> PrimeRecovery:
    """Recovers all heads of a layer in a prime field.

    ``method``: "published" (4Hd² − 2H + 1 queries), "consistent" (2H(d² + d − 1)) or "optimal" (H(d² + d),
    with exp in a subgroup of the given ``order``, so that W is known modulo that only). ``rank`` (not
    published): a bound on the rank r of every W; the integers of least size that the scores show must then be
    the scores, unless ``complete`` is False (see :func:`assemble`). ``workers`` > 1 starts so many processes;
    with an ``executor`` each task carries the oracle, which should then be small to pickle. What is finished
    is kept in ``store``, if any, and not done again; ``finished`` is told how many blocks more are there, and
    of how many.

    Raises InconsistentAnswers, GenericityExhausted, PrecisionExhausted, InputError. A refusal modulo p − 1
    and p is proved; a success proves every non-vanishing that it met for the model over the reals (theory,
    section 2, specialisation lemma).

    >>> from exactattn.prime.layer import PrimeLayer
    >>> rng = np.random.default_rng(1)
    >>> layer = PrimeLayer(PrimeField(), rng.integers(-99, 99, (2, 4, 4)), rng.integers(-99, 99, (2, 4)))
    >>> for method in ("published", "consistent", "optimal"):
    ...     found = recover_prime(layer, heads=2, dim=4, method=method)
    ...     print(found.queries, sorted(found.v.tolist()) == sorted(layer.v.tolist()))
    125 True
    76 True
    40 True
    """
    field = field or PrimeField()
    plan: AnyPlan
    if method == "published":
        if rank is not None:
            raise InputError("the published method takes no rank; use optimal or consistent", field="rank")
        plan = BlockPlan(heads, dim, seed, bias)
    else:
        plan = StagedBlockPlan(method, heads, dim, seed, bias, rank)
    first_kind: type[AnyFirst] = FirstRow if method == "published" else StagedFirst
    result_kind: type[AnyResult] = BlockResult if method == "published" else StagedResult
    first: AnyFirst = kept_or_made(
        store,
        "first row",
        first_kind,
        field.compiled,
        partial(run_first, plan, field, oracle, order=order),
    )
    results: list[AnyResult] = spread(
        partial(_run_block, plan, first, oracle),
        list(plan.blocks[1:]),
        result_kind,
        workers=workers,
        executor=executor,
        store=store,
        finished=finished,
    )
    return assemble(plan, first, results, complete=complete)


def _run_block(plan: AnyPlan, first: AnyFirst, oracle: Oracle, block: range) -> AnyResult:
    return run_block(plan, block, first, oracle)
