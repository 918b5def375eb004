"""All heads of an attention layer of a trained model, exactly, from value queries modulo a few primes.

Modulo each prime the layer is a black box of its own; the recoveries are lifted to the integers behind the
stored floats. How many primes are needed follows from a bound on these integers, which the stored numbers
give; a further prime, at which only a few fresh queries are asked, checks the result independently.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from math import lcm, prod
from pathlib import Path
from time import perf_counter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from exactattn.exceptions import InconsistentAnswers, InputError
from exactattn.numbers.smooth_primes import WORD_PRIMES
from exactattn.prime.dyadic_layer import DyadicLayer
from exactattn.prime.field import PrimeField
from exactattn.prime.layer import PrimeLayer
from exactattn.prime.lift import LIFTING_ORDER, Lifted, agrees, lift
from exactattn.prime.run import PrimeRecovery, recover_prime
from exactattn.prime.store import BlockStore
from exactattn.recovery.draw import draw_vector
from exactattn.recovery.run import Progress

__all__ = ["TrainedRecovery", "primes_needed", "recover_trained"]

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


def primes_needed(score_bits: int, value_bits: int) -> tuple[int, ...]:
    """The primes, in the order of lifting, that determine integers of these sizes with their signs.

    Raises InputError if the eight primes do not suffice.

    >>> len(primes_needed(87, 86))
    4
    """
    order = [WORD_PRIMES[i] for i in LIFTING_ORDER]
    for count in range(1, len(order)):
        orders, primes = lcm(*(p - 1 for p in order[:count])), prod(order[:count])
        if orders >> (score_bits + 1) and primes >> (value_bits + 1):
            return tuple(order[:count])
    raise InputError(
        f"integers of {score_bits} and {value_bits} bits need more primes than there are; round the weights"
    )


def recover_trained(
    layer: DyadicLayer,
    heads: int | None = None,
    *,
    method: Literal["published", "consistent"] = "published",
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
    they are. With ``bounded`` False primes are added until nothing changes. ``folder``: finished blocks are
    kept there and not done again. Raises what :func:`~exactattn.prime.run.recover_prime` and
    :func:`~exactattn.prime.lift.lift` raise, and InconsistentAnswers if fresh queries disagree.

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
    needed = primes_needed(layer.score_bits, layer.value_bits) if bounded else None
    order = [WORD_PRIMES[i] for i in LIFTING_ORDER]
    runs: list[PrimeRecovery] = []
    lifted: Lifted | None = None
    for prime in needed or order[:-1]:
        field = PrimeField(prime, compiled)
        runs.append(
            _run(layer.modulo(field), bound, layer, method, seed, workers, executor, folder, progress)
        )
        if needed is None:
            lifted = lift(runs)
            if lifted.stable:
                break
    else:
        if needed is None:
            raise InputError("the integers are too long for the primes there are; round the weights")
    lifted = lifted or lift(runs)
    fresh = PrimeField(order[len(runs)])
    tokens = [_token(seed, k, layer.W.shape[2]) for k in range(FRESH_QUERIES)]
    if not agrees(lifted, layer.modulo(fresh), fresh, tokens):
        raise InconsistentAnswers(
            f"the recovered heads do not give the answers to fresh queries modulo {fresh.prime}"
        )
    W, v, constant = lifted.integers()
    fresh_queries = FRESH_QUERIES * 3
    seconds = perf_counter() - start
    return TrainedRecovery(W, v, constant, tuple(runs), bounded, fresh.prime, fresh_queries, seconds)


def _token(seed: int, number: int, dim: int) -> NDArray[np.int64]:
    return np.array([int(x.p) for x in draw_vector(seed, "fresh", number, 0, dim, FRESH_RADIUS)])


def _run(
    oracle: PrimeLayer,
    heads: int,
    layer: DyadicLayer,
    method: Literal["published", "consistent"],
    seed: int,
    workers: int,
    executor: Executor | None,
    folder: str | Path | None,
    progress: Progress | None,
) -> PrimeRecovery:
    dim, field = oracle.dim, oracle.field
    store = None
    if folder is not None:
        identity = {
            "prime": field.prime,
            "heads": heads,
            "dim": dim,
            "method": method,
            "bias": layer.bias,
            "seed": seed,
            "layer": layer.digest,
        }
        store = BlockStore(Path(folder) / f"prime-{field.prime}", identity)
    begun: list[bool] = []

    def told(more: int, total: int) -> None:
        if progress is None:
            return
        if not begun:
            progress.stage(f"modulo {field.prime}", total)
            begun.append(True)
        progress.advance(more)

    return recover_prime(
        oracle, heads, dim, field, method=method, seed=seed, bias=layer.bias, workers=workers,
        executor=executor, store=store, finished=told,
    )  # fmt: skip
