"""The derivative of the whole recovery map, and the sharp first-order constant of every parameter.

With G = B^{-1}, K = U^{-1}, L_h[i, j] = log r_h(b_i, u_j):  dW_h = G dL_h K^T,  dv_h = K dc_h(first row). The
derivative is a matrix with one row for each parameter and one column for each answer. The largest change of a
parameter under answer errors of at most ε is, to first order, ε times the 1-norm of its row, and the signs of
the row attain it. Product families (columns and rows) label heads and do not enter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import arb, fmpq

from exactattn.errors.centre import Centre
from exactattn.errors.design import Family
from exactattn.errors.response import Response, response
from exactattn.numbers import LogLattice, Vector

__all__ = ["FirstOrder", "Row", "largest", "one_norm"]

Row = dict[int, Any]
"""A derivative: coefficient by place of the answer; places that are left out have coefficient 0."""


def one_norm(row: Row) -> Any:
    """The sum of absolute values."""
    sizes = [abs(x) for x in row.values()]
    if all(isinstance(x, fmpq) for x in sizes):
        return LogLattice().sum(sizes)
    return sum(sizes, arb(0))


def largest(numbers: Sequence[Any]) -> Any:
    """The largest of non-negative rationals; for balls one that encloses the largest."""
    top = numbers[0]
    for x in numbers[1:]:
        top = top.max(arb(x)) if isinstance(top, arb) else max(top, x)
    return top


@dataclass(frozen=True)
class FirstOrder:
    """The derivative of the recovery map at a centre; rational if the centre is.

    >>> from exactattn.errors import Design, centre_of_layer
    >>> from exactattn.model import Attention, Head
    >>> from exactattn.numbers import LogLattice
    >>> from exactattn.recovery import PublishedPlan, TokenRange
    >>> design = Design.published(PublishedPlan.draw(1, 1, 0, TokenRange(1, 1)))
    >>> layer = Attention.of([Head.of([[1]], [2])])
    >>> FirstOrder(centre_of_layer(design, layer, LogLattice())).largest
    45/4
    """

    centre: Centre

    @cached_property
    def responses(self) -> tuple[Response, ...]:
        """The response of every family."""
        c = self.centre
        return tuple(
            response(family.nodes, poles, residues)
            for family, poles, residues in zip(c.design.families, c.poles, c.residues, strict=True)
        )

    @cached_property
    def sums(self) -> tuple[Row, ...]:
        """The derivatives of Σ_h c_h in the first row of families, which give that of V."""
        rows = []
        for family, own in self._base_families(1):
            row = {family.start + m: t for m, t in enumerate(own.total)}
            _add(row, own.total_constant, {0: fmpq(1)})
            rows.append(row)
        return tuple(rows)

    def constant(self, family: Family) -> Row:
        """The derivative of V·b for the last token b of a family."""
        row: Row = {place: x for place, x in enumerate(family.known) if x != 0}
        if family.needs_sum:
            for weight, sum_row in zip(self.on_sums(family.of_sum), self.sums, strict=True):
                _add(row, weight, sum_row)
        return row

    def on_sums(self, of_sum: Vector) -> list[fmpq]:
        """w·V as a combination of the first row's Σ_h c_h: the vector w U^{-1}."""
        columns = zip(*self.centre.design.u_inverse, strict=True)
        return [sum((x * y for x, y in zip(of_sum, column, strict=True)), fmpq(0)) for column in columns]

    def log_pole(self, family: int, head: int) -> Row:
        """The derivative of log r_h in one family."""
        own, place = self.responses[family], self.centre.design.families[family]
        row = {place.start + m: a for m, a in enumerate(own.log_pole[head])}
        _add(row, own.log_pole_constant[head], self.constant(place))
        return row

    def residue(self, family: int, head: int) -> Row:
        """The derivative of c_h in one family."""
        own, place = self.responses[family], self.centre.design.families[family]
        row = {place.start + m: a for m, a in enumerate(own.residue[head])}
        _add(row, own.residue_constant[head], self.constant(place))
        return row

    def matrix_entry(self, head: int, row: int, column: int) -> Row:
        """The derivative of W_h[row, column]."""
        design = self.centre.design
        entry: Row = {}
        pull = [fmpq(0)] * design.dim
        for i, g in enumerate(design.b_inverse[row], 1):
            for (family, own), x in zip(self._base_families(i), design.u_inverse[column], strict=True):
                if g * x == 0:
                    continue
                for m, a in enumerate(own.log_pole[head]):
                    entry[family.start + m] = g * x * a
                by_constant = g * x * own.log_pole_constant[head]
                _add(entry, by_constant, {place: y for place, y in enumerate(family.known) if y != 0})
                if family.needs_sum:
                    pull = [p + by_constant * w for p, w in zip(pull, family.of_sum, strict=True)]
        if any(x != 0 for x in pull):
            for weight, sum_row in zip(self.on_sums(tuple(pull)), self.sums, strict=True):
                _add(entry, weight, sum_row)
        return entry

    def vector_entry(self, head: int, k: int) -> Row:
        """The derivative of v_h[k]."""
        row: Row = {}
        for (family, own), x in zip(self._base_families(1), self.centre.design.u_inverse[k], strict=True):
            if x == 0:
                continue
            for m, a in enumerate(own.residue[head]):
                row[family.start + m] = x * a
            _add(row, x * own.residue_constant[head], {0: fmpq(1)})
        return row

    def constant_entry(self) -> Row:
        """The derivative of the constant output of a layer with biases: the answer at b_1 less V·b_1."""
        row: Row = {0: fmpq(1)}
        for weight, sum_row in zip(self.on_sums(self.centre.design.b[0]), self.sums, strict=True):
            _add(row, -weight, sum_row)
        return row

    @cached_property
    def constant_constant(self) -> Any:
        """The first-order constant of the constant output; 0 without biases."""
        return one_norm(self.constant_entry()) if self.centre.design.bias else fmpq(0)

    @cached_property
    def matrix_constants(self) -> tuple[tuple[tuple[Any, ...], ...], ...]:
        """[h][i][j]: the first-order constant of W_h[i, j]."""
        rows, columns = range(len(self.centre.design.b)), range(self.centre.design.dim)
        return tuple(
            tuple(tuple(one_norm(self.matrix_entry(h, i, j)) for j in columns) for i in rows)
            for h in range(self.centre.heads)
        )

    @cached_property
    def vector_constants(self) -> tuple[tuple[Any, ...], ...]:
        """[h][k]: the first-order constant of v_h[k]."""
        return tuple(
            tuple(one_norm(self.vector_entry(h, k)) for k in range(self.centre.design.dim))
            for h in range(self.centre.heads)
        )

    @cached_property
    def of_matrices(self) -> Any:
        """The largest constant of an entry of a W_h."""
        return largest([x for rows in self.matrix_constants for row in rows for x in row])

    @cached_property
    def of_vectors(self) -> Any:
        """The largest constant of an entry of a v_h."""
        return largest([x for row in self.vector_constants for x in row])

    @cached_property
    def largest(self) -> Any:
        """C1: the largest constant of a parameter, the norm of the derivative from max norm to max norm."""
        return largest([self.of_matrices, self.of_vectors, self.constant_constant])

    def _base_families(self, i: int) -> list[tuple[Family, Response]]:
        d = self.centre.design.dim
        n = (i - 1) * d
        return list(zip(self.centre.design.families[n : n + d], self.responses[n : n + d], strict=True))


def _add(row: Row, factor: Any, other: Row) -> None:
    for place, x in other.items():
        row[place] = row[place] + factor * x if place in row else factor * x
