"""Rebalancing, and the canonical representative: elements of the changes of basis that a layer allows.

Which changes of basis there are is decided by the architecture (``exactattn.identify.gauge_heads``): one for
each group of heads, any invertible matrix on unrotated dimensions, one complex number a rotation plane, one
factor a plane or dimension where queries and keys are normed. Each leaves the function as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum

import numpy as np

from exactattn.checkpoint.elements import GaugeElement, balancing_block, canonical_block, sides
from exactattn.checkpoint.moved import Moved, stored_parameters, true_parameters
from exactattn.checkpoint.place import Array
from exactattn.checkpoint.weights import AttentionWeights
from exactattn.identify.gauge import LinearSymmetry, PieceKind
from exactattn.identify.gauge_heads import head_symmetries
from exactattn.identify.spec import AttentionSpec

__all__ = ["Which", "balanced_symmetries", "canonical_basis", "imbalance", "rebalance"]

BALANCED_KINDS = (PieceKind.LINEAR, PieceKind.PLANE, PieceKind.SIZE)
VALUES = "basis of values"
# singular values closer than this (relative) leave the canonical form open to rounding
SMALLEST_GAP = 1e-7

Choice = Callable[[PieceKind, Array, Array], Array | None]


class Which(Enum):
    """The pairs of projections to change: queries and keys, values and outputs, or both."""

    QUERY_KEY = "qk"
    VALUE_OUTPUT = "vo"
    ALL = "all"

    def covers(self, symmetry: LinearSymmetry) -> bool:
        """Whether a change of basis is one of these pairs."""
        return self is Which.ALL or (symmetry.name == VALUES) == (self is Which.VALUE_OUTPUT)


def balanced_symmetries(
    spec: AttentionSpec, which: Which = Which.ALL
) -> Iterator[tuple[LinearSymmetry, int]]:
    """The changes of basis with two sides, each with its number among those of its name."""
    counts: dict[str, int] = {}
    for symmetry in head_symmetries(spec):
        number = counts.setdefault(symmetry.name, 0)
        counts[symmetry.name] += 1
        two_sided = len({move.side for move in symmetry.moves}) > 1
        if two_sided and which.covers(symmetry) and symmetry.pieces[0].kind in BALANCED_KINDS:
            yield symmetry, number


def rebalance(weights: AttentionWeights, which: Which = Which.ALL) -> Moved:
    """The layer with both sides of each change of basis balanced, nearest to the old weights.

    Afterwards W_Q W_Qᵀ = W_K W_Kᵀ (summed over the query heads of a group; per rotation plane only the
    traces), and W_V W_Vᵀ = Σ W_OᵀW_O, up to rounding (theory, section 9). Groups whose product has not full
    rank are left alone, with a note. Biases move along.

    >>> from exactattn.identify import AttentionSpec
    >>> from exactattn.identify.parameters import parameter_shapes
    >>> spec = AttentionSpec.of(width=2, heads=1)
    >>> arrays = {name: np.eye(2) * (4.0 if name == "query" else 1.0) for name in parameter_shapes(spec)}
    >>> rebalance(AttentionWeights(0, "layers 0", spec, arrays)).weights.parameters["key"].round(12).tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    return _moved(weights, which, balancing_block)


def canonical_basis(weights: AttentionWeights, which: Which = Which.ALL) -> Moved:
    """The layer in the one basis that is balanced, with singular values falling and signs fixed
    (:func:`~exactattn.checkpoint.elements.canonical_block`): layers equal up to changes of basis come out
    equal up to rounding. Heads keep their order.
    """
    return _moved(weights, which, canonical_block)


def imbalance(weights: AttentionWeights, which: Which = Which.ALL) -> float:
    """The largest β = |A Aᵀ − B Bᵀ| / (|A|² + |B|²) of all changes of basis (traces only for planes), in
    floats: a measure to look at, not a proof."""
    true, worst = true_parameters(weights), 0.0
    for symmetry, _ in balanced_symmetries(weights.spec, which):
        for piece in symmetry.pieces:
            A, B = sides(symmetry, piece, true)
            total = float((A**2).sum() + (B**2).sum())
            if piece.kind is PieceKind.LINEAR:
                difference = float(np.linalg.norm(A @ A.T - B @ B.T))
            else:
                difference = abs(float((A**2).sum() - (B**2).sum()))
            worst = max(worst, difference / total if total else 0.0)
    return worst


def _moved(weights: AttentionWeights, which: Which, choose: Choice) -> Moved:
    true = true_parameters(weights)
    elements, notes = [], []
    for symmetry, number in balanced_symmetries(weights.spec, which):
        matrix, found = _element(symmetry, true, choose)
        notes += [f"{symmetry.name}, group {number}: {note}" for note in found]
        element = GaugeElement(symmetry, number, matrix)
        element.applied(true)
        elements.append(element)
    return Moved(stored_parameters(weights, true), tuple(elements), tuple(notes))


def _element(
    symmetry: LinearSymmetry, parameters: dict[str, Array], choose: Choice
) -> tuple[Array, list[str]]:
    """The element of all pieces, and what could not be done."""
    size = 1 + max(c for piece in symmetry.pieces for c in piece.coordinates)
    matrix, notes = np.eye(size), []
    for piece in symmetry.pieces:
        A, B = sides(symmetry, piece, parameters)
        block = choose(piece.kind, A, B)
        where = f"dimensions {piece.coordinates[0]}–{piece.coordinates[-1]}"
        if block is None:
            notes.append(f"{where} have a product of lower rank; left as they are")
            continue
        matrix[np.ix_(piece.coordinates, piece.coordinates)] = block
        if choose is canonical_block and piece.kind is PieceKind.LINEAR and _close(block @ A):
            notes.append(f"{where} have singular values too close for a unique basis")
    return matrix, notes


def _close(rows: Array) -> bool:
    """Whether two of the squared lengths of these rows, which fall, nearly agree."""
    lengths = (rows**2).sum(axis=1)
    return bool((lengths[:-1] - lengths[1:] < SMALLEST_GAP * lengths[:-1]).any())
