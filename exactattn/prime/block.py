"""Solving a block of rows: a pure function of plan, answers and the first row.

Every probe is interpolated; poles are labelled along the rows by the column probes and from row to row by the
row probes, by scores and residues together. Probes that fail are mended one by one
(``exactattn.prime.mend``), which may take further queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactattn.exceptions import InconsistentAnswers
from exactattn.prime.arithmetic import Array, bits, inverses, minus, product, times
from exactattn.prime.assembly import solved_differences
from exactattn.prime.field import PrimeField
from exactattn.prime.interpolation import Fractions, Interpolation
from exactattn.prime.layer import UNDEFINED, Tokens
from exactattn.prime.matching import match, ordered
from exactattn.prime.mend import Mender, Oracle, as_fractions
from exactattn.prime.plan import BlockPlan

__all__ = ["BlockResult", "FirstRow", "answers", "solve_block", "solve_first"]

ENTRIES = 1 << 15
MORE_PROBES = range(2, 8)


@dataclass(frozen=True, eq=False)
class BlockResult:
    """Rows ``start``, …: exponents b_i^T W_h u_j modulo p − 1 (R, K, d), heads in the order of the first row,
    and what exceptional probes cost: ``mended`` probes and ``further`` queries."""

    start: int
    exponents: Array
    mended: int = 0
    further: int = 0


@dataclass(frozen=True, eq=False)
class FirstRow:
    """What the other rows need of the first: exponents and residues v_h·u_j (K, d), V (d) and the constant
    c."""

    field: PrimeField
    exponents: Array
    residues: Array
    total: Array
    constant: int
    mended: int = 0
    further: int = 0

    @property
    def rank(self) -> int:
        """K, the number of canonical heads."""
        return len(self.exponents)

    def alone(self, last: Tokens) -> Array:
        """V·b + c for last tokens (L, d)."""
        found = product(last, self.total[:, None], self.field.p, left_bits=bits(last))
        return (found[:, 0] + np.uint64(self.constant)) % self.field.p


def answers(oracle: Oracle, plan: BlockPlan, block: range) -> Array:
    """Values (2H, P) of all probes of a block, in the order of :meth:`BlockPlan.groups`."""
    return np.concatenate(oracle.group_answers(list(plan.groups(block)), plan.copies), axis=1)


def solve_first(
    plan: BlockPlan, field: PrimeField, found: Array, single: int, oracle: Oracle | None = None
) -> FirstRow:
    """The first row from the answers to its probes, and ``single``, the answer at b_1 alone.

    ``oracle`` answers further queries for exceptional probes. Raises InconsistentAnswers if the answers are
    provably not those of a layer with at most H heads, GenericityExhausted if a probe cannot be mended.
    """
    singles = np.full(1, single, dtype=np.uint64)
    solver = _Solver(plan, field, Mender(plan, field, oracle), plan.blocks[0], singles, singles[:0], found)
    solver.rank = solver.mender.rank(solver.values)
    fractions = solver.fractions()
    row = solver.row_fractions(fractions)
    residues = row.residues
    sums = residues.sum(axis=0, dtype=np.uint64)[None] % field.p
    total = solved_differences(plan, sums, field.p)[0]
    first = FirstRow(field, row.exponents, residues, total, 0)
    constant = (single - int(first.alone(plan.b[:1])[0])) % field.prime
    if constant and not plan.bias:
        raise _inconsistent(plan, "the residues of the first row contradict the answer at b_1 alone")
    mender = solver.mender
    return FirstRow(field, row.exponents, residues, total, constant, mender.mended, mender.queries)


def solve_block(
    plan: BlockPlan, block: range, found: Array, first: FirstRow, oracle: Oracle | None = None
) -> BlockResult:
    """The rows of a block from the answers to its probes; arguments and errors as in :func:`solve_first`."""
    field = first.field
    joined = np.array([plan.joined(i) for i in block])
    mender = Mender(plan, field, oracle)
    solver = _Solver(plan, field, mender, block, first.alone(plan.b[list(block)]), first.alone(joined), found)
    solver.rank = first.rank
    fractions = solver.fractions()
    rows = solver.row_fractions(fractions)
    labels = solver.row_labels(fractions, first)
    K, d, R = first.rank, plan.dim, len(block)
    index = labels.astype(np.int64)[:, :, None]
    exponents = np.take_along_axis(rows.exponents.reshape(K, R, d), index, axis=0)
    residues = np.take_along_axis(rows.residues.reshape(K, R, d), index, axis=0)
    if (residues != first.residues[:, None]).any():
        raise _inconsistent(plan, "a residue differs between last tokens")
    return BlockResult(block.start, exponents.transpose(1, 0, 2), mender.mended, mender.queries)


def _inconsistent(plan: BlockPlan, what: str) -> InconsistentAnswers:
    return InconsistentAnswers(
        f"{what}, so the answers are not those of one attention layer with at most {plan.heads} heads"
    )


class _Solver:
    """The probes of one block; ``singles`` and ``joined`` are V·b + c at its last tokens and at those of its
    row probes."""

    rank: int

    def __init__(
        self,
        plan: BlockPlan,
        field: PrimeField,
        mender: Mender,
        block: range,
        singles: Array,
        joined: Array,
        found: Array,
    ) -> None:
        self.plan = plan
        self.field = field
        self.mender = mender
        self.block = block
        self.width = len(plan.differences)
        self.singles = np.concatenate([np.repeat(singles, self.width), joined])
        inverse = inverses(np.array(plan.copies, dtype=np.uint64), field.p)[:, None]
        undefined = found == UNDEFINED
        values = times(minus(self.singles[None], np.where(undefined, 0, found), field.p), inverse, field.p)
        values[undefined] = UNDEFINED
        self.values = values

    def probe(self, index: int) -> tuple[Tokens, Tokens]:
        """The last token and the difference of a probe."""
        row, column = divmod(index, self.width)
        if row < len(self.block):
            return self.plan.b[self.block[row]], self.plan.differences[column]
        return self.plan.joined(self.block[index - len(self.block) * self.width]), self.plan.u[0]

    def fractions(self) -> Fractions:
        """All probes, exceptional ones mended."""
        solver = Interpolation(self.field, self.plan.copies, self.rank)
        width = max(64, ENTRIES // max(1, self.rank))
        undefined = (self.values == UNDEFINED).any(axis=0)
        usable = np.where(undefined, 0, self.values)
        count = usable.shape[1]
        parts = [solver(usable[:, start : start + width]) for start in range(0, count, width)]
        found = Fractions.join(parts)
        for index in np.flatnonzero(found.bad | undefined).tolist():
            values, single = self.values[:, index].tolist(), int(self.singles[index])
            poles = self.mender.mend(*self.probe(index), values, single, self.rank)
            found.exponents[:, index] = [e for e, _ in poles]
            found.residues[:, index] = [c for _, c in poles]
        return found

    def row_fractions(self, fractions: Fractions) -> Fractions:
        """Base probes (K, R d), heads in the order of the first column of their row."""
        d, R, K = self.plan.dim, len(self.block), self.rank

        def part(columns: slice) -> Fractions:
            tables = (fractions.exponents, fractions.residues)
            cut = [t[:, : R * self.width].reshape(K, R, self.width)[:, :, columns] for t in tables]
            exponents, residues = (t.reshape(K, R * t.shape[2]) for t in cut)
            return Fractions(exponents, residues, np.zeros(exponents.shape[1], dtype=np.bool_))

        base = part(slice(0, d))
        if d == 1:
            return base
        own, others, sums = part(slice(0, 1)), part(slice(1, d)), part(slice(d, None))
        repeated = _columns(own, np.repeat(np.arange(R), d - 1))
        labels, partners = match(repeated, others, sums, (1, 1), self.field, same=False)
        self.require_partners(partners)
        for column in np.flatnonzero((partners > 1).any(axis=0)).tolist():
            row, j = divmod(column, d - 1)
            last, single = self.plan.b[self.block[row]], int(self.singles[row * self.width])
            x, y = _columns(repeated, [column]), _columns(others, [column])
            further = self.further_columns(last, single, j + 1)
            labels[:, column] = self.mender.labels(x, y, further, same=False)
        matched = ordered(others, labels)
        tables = []
        for first, rest in ((own.exponents, matched.exponents), (own.residues, matched.residues)):
            both = [first.reshape(K, R, 1), rest.reshape(K, R, d - 1)]
            tables.append(np.concatenate(both, axis=2).reshape(K, R * d))
        return Fractions(tables[0], tables[1], base.bad)

    def row_labels(self, fractions: Fractions, first: FirstRow) -> NDArray[np.uint8]:
        """For every head of the first row its position in the first column of each row (K, R)."""
        R = len(self.block)
        starts = np.arange(R) * self.width
        own = _columns(fractions, starts)
        joined = _columns(fractions, np.arange(R * self.width, R * self.width + R))
        head = Fractions(first.exponents[:, :1], first.residues[:, :1], np.zeros(1, dtype=np.bool_))
        weights = self.row_weights(1)
        x = _columns(head, np.zeros(R, dtype=np.int64))
        labels, partners = match(x, own, joined, weights, self.field, same=True)
        self.require_partners(partners)
        for row in np.flatnonzero((partners > 1).any(axis=0)).tolist():
            further = self.further_rows(first, self.block[row])
            labels[:, row] = self.mender.labels(head, _columns(own, [row]), further, same=True)
        return labels

    def row_weights(self, factor: int) -> tuple[int, int]:
        """The last token of a row probe as a combination of b_1 and b_i."""
        return (-factor, 1 + factor) if self.plan.bias else (factor, 1)

    def further_columns(
        self, last: Tokens, single: int, j: int
    ) -> Iterator[tuple[Fractions, tuple[int, int]]]:
        for factor in MORE_PROBES:
            difference = factor * self.plan.u[0] + self.plan.u[j]
            values = self.mender.ask(last, difference, single)
            poles = self.mender.mend(last, difference, values, single, self.rank)
            yield as_fractions([poles]), (factor, 1)

    def further_rows(self, first: FirstRow, row: int) -> Iterator[tuple[Fractions, tuple[int, int]]]:
        for factor in MORE_PROBES:
            last, difference = self.plan.joined(row, factor), self.plan.u[0]
            single = int(first.alone(last[None])[0])
            values = self.mender.ask(last, difference, single)
            poles = self.mender.mend(last, difference, values, single, self.rank)
            yield as_fractions([poles]), self.row_weights(factor)

    def require_partners(self, partners: NDArray[np.uint8]) -> None:
        if (partners == 0).any():
            raise _inconsistent(self.plan, "scores and residues of probes do not add up")


def _columns(x: Fractions, index: NDArray[np.int64] | list[int]) -> Fractions:
    return Fractions(x.exponents[:, index], x.residues[:, index], x.bad[index])
