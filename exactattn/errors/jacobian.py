"""The Jacobian of the answers by the parameters, and the sharp constant of a method without spare queries.

Where a method asks as many queries as there are parameters (the optimal one), the derivative of its recovery
map is the inverse of this square matrix, whatever its decoder. For a method with more queries the derivative
is a left inverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import arb_mat, fmpq, fmpq_mat

from exactattn.errors.centre import AnyLayer
from exactattn.exceptions import InputError
from exactattn.model import Query
from exactattn.model.affine import AffineAttention
from exactattn.numbers import NumberSystem, dot

__all__ = ["answer_jacobian", "square_constants"]


def answer_jacobian(
    layer: AnyLayer, queries: Sequence[Query], system: NumberSystem[Any, Any]
) -> list[list[Any]]:
    """One row for each query: the derivatives of the answer by all entries of W_1 (by rows), v_1, W_2, …

    Heads are the canonical ones. Matrices are in natural units, D·log 2·W_h on the log-lattice, so the
    entries are exact rationals there. With biases W_h has its query bias as first row, b is (1, b), and the
    last column is that of the constant output. With softmax weights p_j, z = Σ_j p_j x_j:
    ∂f/∂W_h = b (Σ_j p_j (v_h·x_j − v_h·z) x_j)^T and ∂f/∂v_h = z.

    >>> from exactattn.model import Attention, Head, token
    >>> from exactattn.numbers import LogLattice
    >>> layer = Attention.of([Head.of([[1]], [3])])
    >>> answer_jacobian(layer, [Query.of([(token(0), 2)], last=token(1))], LogLattice())
    [[3/4, 1/2]]
    """
    with system.context():
        bias = isinstance(layer, AffineAttention)
        constant = [system.value(fmpq(1))] if bias else []
        return [
            [x for head in layer.canonical().heads for x in _row(head, query, bias, system)] + constant
            for query in queries
        ]


def _row(head: Any, query: Query, bias: bool, system: NumberSystem[Any, Any]) -> list[Any]:
    lifted = (fmpq(1), *query.last) if bias else query.last
    asking = tuple(dot(lifted, column) for column in zip(*head.W, strict=True))
    counts = [(query.last, 1), *query.runs]
    weights = [
        system.exp(dot(asking, tuple(x - y for x, y in zip(token, query.last, strict=True)))) * count
        for token, count in counts
    ]
    total = system.sum(weights)
    weights = [w / total for w in weights]
    values = [system.value(dot(head.v, token)) for token, _ in counts]
    mean = system.sum([w * x for w, x in zip(weights, values, strict=True)])
    columns = list(zip(*(token for token, _ in counts), strict=True))
    centred = [w * (x - mean) for w, x in zip(weights, values, strict=True)]
    pull = [system.sum([w * system.value(x) for w, x in zip(centred, xs, strict=True)]) for xs in columns]
    z = [system.sum([w * system.value(x) for w, x in zip(weights, xs, strict=True)]) for xs in columns]
    return [system.value(b) * x for b in lifted for x in pull] + z


def square_constants(layer: AnyLayer, queries: Sequence[Query], system: NumberSystem[Any, Any]) -> list[Any]:
    """The first-order constant of every parameter, in the order of :func:`answer_jacobian`, for a method that
    asks as many queries as the layer has parameters.

    Raises InputError if the numbers differ, ZeroDivisionError if the Jacobian is (or may be) singular.

    >>> from exactattn.model import Attention, Head, token
    >>> from exactattn.numbers import LogLattice
    >>> layer = Attention.of([Head.of([[1]], [3])])
    >>> queries = [Query.of([], last=token(1)), Query.of([(token(0), 2)], last=token(1))]
    >>> square_constants(layer, queries, LogLattice())
    [2, 1]
    """
    rows = answer_jacobian(layer, queries, system)
    if any(len(row) != len(rows) for row in rows):
        raise InputError(f"{len(rows)} queries for {len(rows[0])} parameters; the numbers must be equal")
    with system.context():
        entries = [x for row in rows for x in row]
        size = len(rows)
        matrix = fmpq_mat(size, size, entries) if system.exact else arb_mat(size, size, entries)
        inverse = matrix.inv().tolist()
        return [system.sum([abs(x) for x in row]) for row in inverse]
