"""Orientation: which sign of ±D_k makes |D_k·Z| a ReLU.

F = ½(v·Z + Σ σ_k|D_k·Z|) equals Σ σ_k ReLU(ε_k D_k·Z) if and only if Σ ε_k σ_k D_k = v, ε_k = ±1. Columns
that elimination leaves free are enumerated, 2^{K − rank} choices. Without a solution F needs a linear path
beside its K neurons, or two neurons more.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from flint import fmpq, fmpq_mat

from exactattn.model.relu_form import Blocks, ReluForm, flat
from exactattn.model.transformer import Neuron

__all__ = ["Orientation", "orient"]

MAX_FREE = 20


@dataclass(frozen=True)
class Orientation:
    """Neurons σ_k ReLU(ε_k D_k·Z) and the linear part beside them (None: not needed).

    ``signs`` are the ε_k; ``tried`` counts the choices that were tried, and ``exhausted`` says whether they
    were all there are, so that without a solution there is none.
    """

    signs: tuple[int, ...]
    neurons: tuple[Neuron, ...]
    bypass: Blocks | None
    tried: int
    exhausted: bool

    @property
    def as_network(self) -> tuple[Neuron, ...]:
        """Neurons alone: a linear part δ·Z is ReLU(δ·Z) − ReLU(−δ·Z)."""
        if self.bypass is None:
            return self.neurons
        opposite = tuple(tuple(-x for x in block) for block in self.bypass)
        return (*self.neurons, Neuron(fmpq(1), self.bypass), Neuron(fmpq(-1), opposite))


def orient(form: ReluForm) -> Orientation:
    """The network of K neurons behind a canonical form, or K neurons with a linear part.

    >>> from exactattn.model.transformer import Transformer
    >>> model = Transformer.of([[[1]]], [Neuron.of(3, [[-2]])], dim=1)
    >>> orient(model.canonical()).neurons
    (Neuron(a=1, beta=((-6,),)),)
    """
    columns = [[sign * x for x in flat(D)] for sign, D in form.kinks]
    signs, tried, exhausted = _solved(columns, flat(form.linear))
    chosen = signs or (1,) * len(form.kinks)
    neurons = tuple(
        Neuron(fmpq(sign), tuple(tuple(e * x for x in block) for block in D))
        for e, (sign, D) in zip(chosen, form.kinks, strict=True)
    )
    bypass = None
    if signs is None:
        left = [
            (x - sum(column, fmpq(0))) / 2 for x, *column in zip(flat(form.linear), *columns, strict=True)
        ]
        d = form.dim
        bypass = tuple(tuple(left[i : i + d]) for i in range(0, len(left), d))
    return Orientation(chosen, neurons, bypass, tried, exhausted)


def _solved(columns: list[list[fmpq]], wanted: list[fmpq]) -> tuple[tuple[int, ...] | None, int, bool]:
    """Signs with Σ ε_k columns[k] = wanted, the number of choices tried, and whether that is all of them."""
    if not columns:
        return (None if any(wanted) else ()), 1, True
    count = len(columns)
    augmented = fmpq_mat(
        len(wanted), count + 1, [x for i, y in enumerate(wanted) for x in [*(c[i] for c in columns), y]]
    )
    reduced, rank = augmented.rref()
    rows = reduced.tolist()[:rank]
    pivots = [next(k for k, x in enumerate(row) if x != 0) for row in rows]
    if count in pivots:
        return None, 1, True
    free = [k for k in range(count) if k not in pivots]
    if len(free) > MAX_FREE:
        return None, 0, False
    tried = 0
    for choice in product((1, -1), repeat=len(free)):
        tried += 1
        signs = dict(zip(free, choice, strict=True))
        for pivot, row in zip(pivots, rows, strict=True):
            value = row[count] - sum((row[k] * signs[k] for k in free), fmpq(0))
            if abs(value) != 1:
                break
            signs[pivot] = int(value.p)
        else:
            return tuple(signs[k] for k in range(count)), tried, True
    return None, tried, True
