"""One-layer Transformers: softmax attention followed by a ReLU network without biases.

    F(X) = ℓ · Z(X) + Σ_k a_k ReLU(β_k · Z(X)),      Z(X) = (z_1(X), …, z_H(X)[, x_n])

where z_h(X) is the output of head h at the last token x_n, which is stacked below with a residual connection.
Vectors such as β_k and ℓ are given by *blocks*, one of d numbers for each head, and one for the last token if
there is a residual. Value and output matrices are absorbed in the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.model.query import Query
from exactattn.model.relu_form import Blocks, ReluForm, relu_form
from exactattn.numbers import Matrix, NumberSystem, Vector, common_denominator, dot, rational, rational_vector

__all__ = ["Neuron", "Transformer", "head_output", "stacked_outputs"]


@dataclass(frozen=True, order=True)
class Neuron:
    """One hidden unit a·ReLU(β·Z); ``beta`` by blocks.

    >>> Neuron.of(2, [[1, "1/2"]]).beta
    ((1, 1/2),)
    """

    a: fmpq
    beta: Blocks

    @classmethod
    def of(cls, a: Any, beta: Sequence[Sequence[Any]]) -> Neuron:
        """A neuron from numbers that :func:`~exactattn.numbers.rational` reads."""
        return cls(rational(a), tuple(rational_vector(block) for block in beta))


@dataclass(frozen=True)
class Transformer:
    """A one-layer Transformer with exact rational parameters.

    ``matrices`` are the W_h (d×d, by rows), ``neurons`` the hidden units, ``bypass`` the blocks of ℓ (None:
    no path around the network), ``residual`` whether the last token is stacked below the head outputs.

    >>> model = Transformer.of([[[1]]], [Neuron.of(1, [[1]]), Neuron.of(2, [[3]])], dim=1)
    >>> model.canonical().kinks      # the two are parallel: ReLU(z) + 2 ReLU(3z) = 7 ReLU(z)
    ((1, ((7,),)),)
    """

    matrices: tuple[Matrix, ...]
    neurons: tuple[Neuron, ...]
    dim: int
    residual: bool = False
    bypass: Blocks | None = None
    name: str = field(default="", compare=False)

    @classmethod
    def of(
        cls,
        matrices: Sequence[Sequence[Sequence[Any]]],
        neurons: Sequence[Neuron],
        *,
        dim: int,
        residual: bool = False,
        bypass: Sequence[Sequence[Any]] | None = None,
        name: str = "",
    ) -> Transformer:
        """A checked Transformer. Raises InputError, with the field, if a shape is wrong."""
        if dim < 1:
            raise InputError(f"must be at least 1, not {dim}", field="dim")
        read = tuple(tuple(rational_vector(row) for row in W) for W in matrices)
        for h, W in enumerate(read):
            if len(W) != dim or any(len(row) != dim for row in W):
                raise InputError(f"must be {dim}×{dim}", field=f"matrices[{h}]")
        around = None if bypass is None else tuple(rational_vector(block) for block in bypass)
        count = len(read) + residual
        named = [(f"neurons[{k}].beta", n.beta) for k, n in enumerate(neurons)]
        for place, blocks in [*named, *([("bypass", around)] if around is not None else [])]:
            if len(blocks) != count or any(len(block) != dim for block in blocks):
                raise InputError(
                    f"must have {count} blocks (one for each head, with a residual one for the last token) "
                    f"of {dim} numbers",
                    field=place,
                )
        return cls(read, tuple(neurons), dim, residual, around, name)

    @cached_property
    def _form(self) -> ReluForm:
        zero: Blocks = ((fmpq(0),) * self.dim,) * (len(self.matrices) + self.residual)
        return relu_form(
            self.matrices,
            self.dim,
            self.residual,
            self.bypass or zero,
            [(neuron.a, neuron.beta) for neuron in self.neurons],
        )

    def canonical(self) -> ReluForm:
        """F = ½(v·Z + Σ_k σ_k |D_k·Z|) with parallel neurons and equal heads merged, and what is dead gone:
        unique for the function."""
        return self._form

    def same_function(self, other: Transformer) -> bool:
        """Whether both are the same function of every input: equal canonical forms."""
        return self.canonical() == other.canonical()

    def denominator(self) -> int:
        """The common denominator of the entries of all W: the D of the log-lattice for integral tokens."""
        return common_denominator([x for W in self.matrices for row in W for x in row])

    def __call__(self, query: Query, system: NumberSystem[Any, Any]) -> Any:
        """The value F(X) in a number system. Raises InputError if the query has another token size.

        >>> from exactattn.model.query import token
        >>> from exactattn.numbers import LogLattice
        >>> model = Transformer.of([[[1]]], [Neuron.of(3, [[1]])], dim=1)
        >>> model(Query.of([(token(2), 1)], last=token(1)), LogLattice())
        5
        """
        if query.dim != self.dim:
            raise InputError(f"the query has tokens of size {query.dim}, the model {self.dim}")
        with system.context():
            blocks = stacked_outputs(self.matrices, self.residual, query, system)
            terms = [system.value(fmpq(0))]
            if self.bypass is not None:
                terms.append(_along(self.bypass, blocks, system))
            for neuron in self.neurons:
                inner = _along(neuron.beta, blocks, system)
                terms.append(system.value(neuron.a) * (inner + abs(inner)) / 2)
            return system.sum(terms)


def head_output(W: Matrix, query: Query, system: NumberSystem[Any, Any]) -> list[Any]:
    """z(X) = Σ_j softmax_j(x_n^T W x_j) x_j for one head, d values.

    >>> from exactattn.model.query import token
    >>> from exactattn.numbers import LogLattice
    >>> head_output(((fmpq(1),),), Query.of([(token(2), 1)], last=token(1)), LogLattice())
    [5/3]
    """
    last = query.last
    if not query.runs:
        return [system.value(x) for x in last]
    row = [dot(last, column) for column in zip(*W, strict=True)]
    weights: list[tuple[Any, Vector]] = [(system.value(fmpq(1)), last)]
    for tok, count in query.runs:
        difference = tuple(x - y for x, y in zip(tok, last, strict=True))
        weights.append((system.exp(dot(tuple(row), difference)) * count, tok))
    total = system.sum([w for w, _ in weights])
    return [system.sum([w * system.value(tok[i]) for w, tok in weights]) / total for i in range(len(last))]


def stacked_outputs(
    matrices: Sequence[Matrix], residual: bool, query: Query, system: NumberSystem[Any, Any]
) -> list[list[Any]]:
    """Z(X) by blocks: the output of each head, then the last token if there is a residual."""
    blocks = [head_output(W, query, system) for W in matrices]
    return [*blocks, [system.value(x) for x in query.last]] if residual else blocks


def _along(direction: Blocks, blocks: Sequence[Sequence[Any]], system: NumberSystem[Any, Any]) -> Any:
    return system.sum(
        [system.value(x) * z for row, values in zip(direction, blocks, strict=True)
         for x, z in zip(row, values, strict=True)]
    )  # fmt: skip
