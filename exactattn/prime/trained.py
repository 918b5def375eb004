"""All heads of an attention layer of a trained model, exactly, from value queries modulo a few primes.

Modulo each prime the layer is a black box of its own; the recoveries are lifted to the integers behind the
stored floats. How many primes are needed follows from a bound on these integers, which the stored numbers
give; a further prime, at which only a few fresh queries are asked, checks the result independently.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, replace
from math import lcm, prod
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from exactattn.exceptions import InconsistentAnswers, InputError
from exactattn.numbers.smooth_primes import WORD_PRIMES
from exactattn.prime.completion import complete_lifted
from exactattn.prime.dyadic_layer import DyadicLayer
from exactattn.prime.field import PrimeField
from exactattn.prime.lift import FRESH_COPIES, LIFTING_ORDER, Lifted, agrees
from exactattn.prime.run import PrimeRecovery, recover_prime
from exactattn.prime.staged_plan import StagedBlockPlan
from exactattn.prime.store import BlockStore
from exactattn.recovery.draw import draw_vector
from exactattn.recovery.run import Progress
from exactattn.recovery.start import Method

__all__ = ["TrainedRecovery", "primes_needed", "recover_trained"]

# for each prime a divisor of p − 1 below 2^20 that shares an odd factor with an earlier one and has a long
# common multiple with all of them: 117 bits without the last
SHORT_ORDERS = {
    WORD_PRIMES[0]: 2**16 * 3 * 5,
    WORD_PRIMES[2]: 3**12,
    WORD_PRIMES[3]: 2 * 5**6 * 23,
    WORD_PRIMES[4]: 2 * 3 * 11**5,
    WORD_PRIMES[1]: 2 * 7**4 * 11 * 13,
    WORD_PRIMES[5]: 2 * 13**5,
    WORD_PRIMES[6]: 2 * 3 * 17**4,
    WORD_PRIMES[7]: 2 * 11 * 19**3,
}
FRESH_QUERIES = 8
FRESH_RADIUS = 12


@dataclass(frozen=True, eq=False)
class TrainedRecovery:
    """The heads behind the answers. ``W`` (K, rows, d), ``v`` (K, d), ``constant``: integers in the units of
    the layer (2^score_exponent and 2^value_exponent); ``runs``: the recovery modulo each prime.

    ``bounded``: the integers are proved to be the layer's, from the bound on their size; otherwise they
    stayed the same with one prime more. ``fresh_prime``: where ``fresh_queries`` further answers agreed.
    """

    W: NDArray[np.object_]
    v: NDArray[np.object_]
    constant: int
    runs: tuple[PrimeRecovery, ...]
    bounded: bool
    fresh_prime: int
    fresh_queries: int
    seconds: float

    @property
    def queries(self) -> int:
        """All queries, modulo all primes."""
        return sum(run.queries + run.further for run in self.runs) + self.fresh_queries

    @property
    def witness_prime(self) -> int:
        """A prime modulo which no probe of the plan was exceptional, or the first one: at this prime the run
        is a witness that the plan's queries are generic for the layer over the reals."""
        regular = [run.field.prime for run in self.runs if run.mended == 0]
        return (regular or [self.runs[0].field.prime])[0]

    def matches(self, layer: DyadicLayer) -> bool:
        """Whether these are exactly the layer's heads, up to their order."""
        ours, theirs = (
            sorted((v.tolist(), W.tolist()) for W, v in zip(x.W, x.v, strict=True)) for x in (self, layer)
        )
        return ours == theirs and self.constant == layer.constant


def primes_needed(score_bits: int, value_bits: int, *, short: bool = False) -> tuple[int, ...]:
    """The primes, in the order of lifting, that determine integers of these sizes with their signs; with
    exponentials in ``short`` subgroups, as the optimal method needs them.

    Raises InputError if the eight primes do not suffice.

    >>> len(primes_needed(87, 86)), len(primes_needed(87, 86, short=True))
    (4, 6)
    """
    order = [WORD_PRIMES[i] for i in LIFTING_ORDER]
    for count in range(1, len(order)):
        used = order[:count]
        orders = lcm(*(SHORT_ORDERS[p] if short else p - 1 for p in used))
        if orders >> (score_bits + 1) and prod(used) >> (value_bits + 1):
            return tuple(used)
    raise InputError(
        f"integers of {score_bits} and {value_bits} bits need more primes than there are; round the weights"
    )


def recover_trained(
    layer: DyadicLayer,
    heads: int | None = None,
    *,
    method: Method = "published",
    rank: int | None = None,
    bounded: bool = True,
    seed: int = 0,
    compiled: bool = False,
    workers: int = 1,
    executor: Executor | None = None,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> TrainedRecovery:
    """Recovers every W_h and v_h of a layer exactly; ``heads`` is a bound on their number.

    ``layer`` only plays the black box, and discloses the units of its integers and, if ``bounded``, how long
    they are. ``rank``: a bound on the rank of every W, for instance the head size, which the consistent and
    the optimal method use; the optimal method takes exponentials in short subgroups and more primes. With
    ``bounded`` False primes are added until nothing changes. ``folder``: finished blocks are kept there and
    not done again. Raises what :func:`~exactattn.prime.run.recover_prime` and
    :class:`~exactattn.prime.lift.Lifted` raise, and InconsistentAnswers if fresh queries disagree.

    >>> import numpy as np
    >>> from flint import fmpq
    >>> W = np.array([[[5**20, 1], [2, -3]], [[7, 2], [1, 1]]], dtype=object)
    >>> layer = DyadicLayer(W, np.array([[1, 2], [-3, 5**15]], dtype=object), 0, -50, -40, fmpq(1, 2))
    >>> found = recover_trained(layer)
    >>> found.matches(layer), len(found.runs), found.bounded
    (True, 2, True)
    """
    start = perf_counter()
    bound = len(layer.W) if heads is None else heads
    dim = layer.W.shape[2]
    staged = None if method == "published" else StagedBlockPlan(method, bound, dim, seed, layer.bias, rank)
    if staged is None and rank is not None:
        raise InputError("the published method takes no rank; use optimal or consistent", field="rank")
    low_rank = staged if staged is not None and staged.full_rank < dim else None
    longer = 0 if low_rank is None else _score_growth(low_rank)
    short = method == "optimal"
    needed = primes_needed(layer.score_bits + longer, layer.value_bits, short=short) if bounded else None
    order = [WORD_PRIMES[i] for i in LIFTING_ORDER]
    runs: list[PrimeRecovery] = []
    lifted: Lifted | None = None
    for prime in needed or order[:-1]:
        field = PrimeField(prime, compiled)
        store = None
        if folder is not None:
            identity = {"method": method, "rank": rank, "seed": seed, "heads": bound, "layer": layer.digest}
            store = BlockStore(Path(folder) / f"prime-{prime}", identity)
        run = recover_prime(
            layer.modulo(field),
            bound,
            dim,
            field,
            method=method,
            rank=rank,
            order=SHORT_ORDERS[prime] if short else None,
            complete=False,
            seed=seed,
            bias=layer.bias,
            workers=workers,
            executor=executor,
            store=store,
            finished=_Stage(progress, f"modulo {prime}"),
        )
        runs.append(run)
        lifted = Lifted.of(run) if lifted is None else lifted.joined(run)
        if needed is None and lifted.stable:
            break
    else:
        if needed is None:
            raise InputError("the integers are too long for the primes there are; round the weights")
    assert lifted is not None  # there is at least one prime
    if low_rank is not None:
        bits = layer.score_bits if bounded else lifted.W.modulus.bit_length() - 1
        lifted = replace(lifted, W=complete_lifted(low_rank, lifted.W, bits))
    fresh = PrimeField(order[len(runs)])
    tokens = [_token(seed, k, dim) for k in range(FRESH_QUERIES)]
    if not agrees(lifted, layer.modulo(fresh), fresh, tokens):
        raise InconsistentAnswers(
            f"the recovered heads do not give the answers to fresh queries modulo {fresh.prime}: the layer "
            "has more heads than the bound, or matrices of a higher rank; raise the bound"
        )
    W, v, constant = lifted.integers()
    fresh_queries = FRESH_QUERIES * len(FRESH_COPIES)
    seconds = perf_counter() - start
    return TrainedRecovery(W, v, constant, tuple(runs), bounded, fresh.prime, fresh_queries, seconds)


def _score_growth(plan: StagedBlockPlan) -> int:
    """Bits by which a score b^T W u can be longer than the entries of W."""
    last, differences = (int(np.abs(x).sum(axis=1).max()) for x in (plan.b, plan.u))
    return ((last + plan.bias) * differences).bit_length()


def _token(seed: int, number: int, dim: int) -> NDArray[np.int64]:
    return np.array([int(x.p) for x in draw_vector(seed, "fresh", number, 0, dim, FRESH_RADIUS)])


class _Stage:
    """One stage of progress, begun when its total is known."""

    def __init__(self, progress: Progress | None, name: str) -> None:
        self._progress = progress
        self._name = name
        self._begun = False

    def __call__(self, more: int, total: int) -> None:
        if self._progress is None:
            return
        if not self._begun:
            self._progress.stage(self._name, total)
            self._begun = True
        self._progress.advance(more)
