"""Layers with several outputs: the same queries, with a vector as every answer.

A random combination of the outputs is an ordinary layer, and sees a head unless its V_h λ vanishes. Once the
W_h are known, every output is linear in its row of V_h: f_k(X) = Σ_h (V_h)_k · z_h(X), plus a constant c_k
with biases. Some of the answers determine the rows, the others check them. No query is added (theory, section
5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from flint import fmpq

from exactattn.exceptions import InconsistentAnswers, InputError, OracleError
from exactattn.model.query import Query
from exactattn.numbers import Decision, NumberSystem, Vector
from exactattn.oracle import Oracle
from exactattn.recovery.draw import draw_vector
from exactattn.recovery.result import Recovery
from exactattn.recovery.run import recover
from exactattn.recovery.verification import attended

__all__ = ["CombinedOutputs", "RecoveredOutputs", "recover_outputs"]

E = TypeVar("E")
COMBINATION_RADIUS = 1 << 20


class CombinedOutputs(Oracle):
    """A combination of the outputs of a function with vector answers; every answer is kept whole.

    ``function(query, system)`` returns as many values as there are ``weights``.
    """

    def __init__(
        self, function: Callable[[Query, NumberSystem[Any, Any]], Sequence[Any]], dim: int, weights: Vector
    ) -> None:
        super().__init__(dim)
        self.function = function
        self.weights = weights
        self.kept: dict[str, tuple[Any, ...]] = {}

    @property
    def fingerprint(self) -> str:
        """The function's name, and the combination."""
        name = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return f"outputs of {name} with weights {self.weights}"

    def answer(self, queries: Sequence[Query], system: NumberSystem[E, Any]) -> Iterator[E]:
        """The combined values. Raises OracleError if the number of outputs is wrong."""
        for query in queries:
            with system.context():
                values = tuple(self.function(query, system))
                if len(values) != len(self.weights):
                    raise OracleError(f"the function gave {len(values)} outputs, not {len(self.weights)}")
                self.kept[query.key] = values
                terms: Any = zip(self.weights, values, strict=True)
                combined = system.sum([system.value(w) * x for w, x in terms])
            yield combined


@dataclass(frozen=True)
class RecoveredOutputs:
    """Matrices W_h, and V_h (o×d) for each, in the order of ``run.heads``; ``run`` is the recovery of the
    combination with these ``weights``, with all counts; ``answers`` holds every answer whole, by
    :attr:`Query.key <exactattn.model.query.Query.key>`. ``constants`` are the constant outputs of a layer
    with biases."""

    run: Recovery
    V: tuple[tuple[tuple[Any, ...], ...], ...]
    weights: Vector
    answers: Mapping[str, tuple[Any, ...]]
    constants: tuple[Any, ...] | None = None

    @property
    def heads(self) -> tuple[tuple[Any, Any], ...]:
        """Pairs (W_h, V_h)."""
        return tuple((head.W, V) for head, V in zip(self.run.heads, self.V, strict=True))


def recover_outputs(
    function: Callable[[Query, NumberSystem[Any, Any]], Sequence[Any]],
    dim: int,
    outputs: int,
    heads: int | None,
    *,
    seed: int = 0,
    **options: Any,
) -> RecoveredOutputs:
    """Recovers W_h and V_h of a layer that answers with ``outputs`` numbers; options as in
    :func:`~exactattn.recovery.recover`, without ``transcript``.

    Raises InconsistentAnswers if an output does not have the form of the others, and what recover raises.

    >>> from exactattn.model import evaluate
    >>> from exactattn.model.vector import VectorAttention, VectorHead
    >>> layer = VectorAttention.of([VectorHead.of([[1, 2], [3, 4]], [[1, 0], [2, 5], [0, 0]])])
    >>> units = [tuple(fmpq(i == k) for i in range(3)) for k in range(3)]
    >>> found = recover_outputs(
    ...     lambda query, system: [evaluate(layer.output(e), query, system) for e in units], 2, 3, heads=1,
    ...     method="optimal")
    >>> found.run.queries, found.V[0]
    (6, ((1, 0), (2, 5), (0, 0)))
    """
    if outputs < 1:
        raise InputError(f"must be at least 1, not {outputs}", field="outputs")
    if "transcript" in options:
        raise InputError("a transcript keeps one number an answer, so it is for layers with one output")
    weights = draw_vector(seed, "output", 1, 0, outputs, COMBINATION_RADIUS)
    oracle = CombinedOutputs(function, dim, weights)
    run = recover(oracle, heads, seed=seed, **options)
    asked = run.plan.queries()
    answers = [oracle.kept[query.key] for query in asked]
    with run.system.context():
        matrices, constants = _value_matrices(run, asked, answers, outputs)
    return RecoveredOutputs(run, matrices, weights, oracle.kept, constants)


def _value_matrices(
    run: Recovery, queries: Sequence[Query], answers: Sequence[Sequence[Any]], outputs: int
) -> tuple[tuple[tuple[tuple[Any, ...], ...], ...], tuple[Any, ...] | None]:
    """V_h, and constants with biases, from linear equations, as many as there are unknowns; the other answers
    check them."""
    system: NumberSystem[Any, Any] = run.system
    heads, dim, bias = run.heads, run.plan.dim, run.plan.bias
    one = [system.value(fmpq(1))] if bias else []
    rows = [[*(z for head in heads for z in attended(head, query, system)), *one] for query in queries]
    unknowns = len(heads) * dim + bias
    solution: list[list[Any]] = []
    if unknowns:
        chosen = _independent(rows, unknowns, system)
        solution = system.solve([rows[n] for n in chosen], [list(answers[n]) for n in chosen])
    for row, answer in zip(rows, answers, strict=True):
        for k in range(outputs):
            value = system.sum([z * solution[i][k] for i, z in enumerate(row)])
            if system.equal(value, answer[k]) is Decision.NO:
                raise InconsistentAnswers(
                    f"output {k + 1} is not that of an attention layer with the matrices that the others show"
                )
    matrices = tuple(
        tuple(tuple(solution[h * dim + i][k] for i in range(dim)) for k in range(outputs))
        for h in range(len(heads))
    )
    return matrices, tuple(solution[-1]) if bias else None


def _independent(rows: list[list[Any]], wanted: int, system: NumberSystem[Any, Any]) -> list[int]:
    """Positions of ``wanted`` independent rows, by elimination with the largest pivots."""
    left = [list(row) for row in rows]
    chosen: list[int] = []
    for column in range(wanted):
        candidates = [n for n in range(len(rows)) if n not in chosen]
        pivot = max(candidates, key=lambda n: _size(left[n][column]), default=None)
        if pivot is None or system.equal(left[pivot][column], system.value(fmpq(0))) is not Decision.NO:
            raise InconsistentAnswers(
                "the answers do not determine the outputs of all heads; use another seed"
            )
        chosen.append(pivot)
        for n in candidates:
            if n != pivot:
                factor = left[n][column] / left[pivot][column]
                left[n] = [x - factor * y for x, y in zip(left[n], left[pivot], strict=True)]
    return chosen


def _size(x: Any) -> fmpq:
    return abs(x) if isinstance(x, fmpq) else abs(x.mid()).fmpq()
