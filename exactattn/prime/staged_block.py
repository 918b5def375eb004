"""Stage 2 of the consistency and the optimal method: rows b_i^T W_h u_j, with every v_h known.

With α = v_h·u_j and β = v_h·u_k, a probe with a further token has R = x + y and S = αx + βy. Consistent: y is
known, and the head is the one with S = αR + (β − α)y. Optimal: x = (S − βR)/(α − β) and y = (αR − S)/(α − β)
are both exponentials. A probe without a further token has S = βR.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exactattn.exceptions import GenericityExhausted
from exactattn.prime.arithmetic import UNDEFINED, Array, inverses, minus, plus, times
from exactattn.prime.careful import careful_interpolation
from exactattn.prime.interpolation import Fractions
from exactattn.prime.kernels import Flags
from exactattn.prime.labels import unique_labels
from exactattn.prime.layer import ProbeGroup, Tokens
from exactattn.prime.logarithms import logarithms
from exactattn.prime.mend import Oracle
from exactattn.prime.staged_first import StagedFirst, interpolated
from exactattn.prime.staged_plan import StagedBlockPlan
from exactattn.recovery.draw import draw_vector

__all__ = ["StagedResult", "solve_staged_block", "staged_answers"]

TRIES = 8
PIECE = 1 << 11


@dataclass(frozen=True, eq=False)
class StagedResult:
    """Rows ``start``, …: exponents of exp(b_i^T W_h u_j) to the base g (R, K, c) for the first c columns."""

    start: int
    exponents: Array
    mended: int = 0
    further: int = 0


def staged_answers(plan: StagedBlockPlan, block: range, first: StagedFirst, oracle: Oracle) -> Array:
    """Values (2H, P) of all probes of a block of later rows, in the order of ``plan.groups``."""
    groups = list(plan.groups(block))
    return np.concatenate(oracle.group_answers(groups, plan.copies, exponent=first.scale), axis=1)


def solve_staged_block(
    plan: StagedBlockPlan, block: range, found: Array, first: StagedFirst, oracle: Oracle | None = None
) -> StagedResult:
    """The rows of a block from the answers to its probes. ``oracle`` answers further queries for exceptional
    probes. Raises GenericityExhausted if one cannot be mended; heads with equal v_h need the published
    method."""
    return _Block(plan, block, found, first, oracle).result()


class _Block:
    def __init__(
        self,
        plan: StagedBlockPlan,
        block: range,
        found: Array,
        first: StagedFirst,
        oracle: Oracle | None,
    ) -> None:
        self.plan, self.block, self.first, self.oracle = plan, block, first, oracle
        self.field = first.field
        groups = plan.groups(block)
        constants = [np.broadcast_to(first.constants(group.filler), group.size) for group in groups]
        shifted = minus(found, np.concatenate(constants)[None], self.field.p)
        self.values = np.where(found == UNDEFINED, UNDEFINED, shifted)
        self.along = first.projections(plan.u)  # v_h·u_j (K, d)
        self.mended = self.further = 0

    def result(self) -> StagedResult:
        plan, K, R = self.plan, self.first.rank, len(self.block)
        g = interpolated(self.field, plan.copies, K, self.values)
        solve = self.consistent if plan.method == "consistent" else self.optimal
        exponents, bad = solve(g, plan.columns(self.block.start))
        exponents = exponents.reshape(K, R, -1)
        for row, column in zip(*np.nonzero(bad.reshape(R, -1)), strict=True):
            exponents[:, row, column] = self.mend(plan.b[self.block[row]], plan.u[column])
        return StagedResult(self.block.start, exponents.transpose(1, 0, 2), self.mended, self.further)

    # consistent

    def consistent(self, g: Fractions, columns: int) -> tuple[Array, Flags]:
        """Exponents (K, R c), and where they are missing."""
        p, R = self.field.p, len(self.block)
        poles = self.field.exp(g.exponents)
        count = R * columns
        own = np.arange(0, count, columns)
        labels, wrong = self.by_ratio(poles[:, own], g.residues[:, own], np.zeros(R, dtype=np.int64))
        y_log = np.take_along_axis(g.exponents[:, own], labels, axis=0)
        y = np.repeat(np.take_along_axis(poles[:, own], labels, axis=0), columns, axis=1)
        bad = g.bad | np.repeat(wrong | g.bad[own], columns)
        alpha = np.tile(self.along[:, :columns], (1, R))
        offset = times(y, minus(self.along[:, :1], alpha, p), p)
        labels, ambiguous = self.by_consistency(poles, g.residues, alpha, offset)
        x = minus(np.take_along_axis(poles, labels, axis=0), y, p)
        exponents, zero = logarithms(x, self.field)
        bad_further = bad | ambiguous | zero.any(axis=0)
        exponents[:, own] = y_log
        bad_further[own] = bad[own]
        return exponents, bad_further

    def by_consistency(
        self, poles: Array, residues: Array, alpha: Array, offset: Array
    ) -> tuple[Tokens, Flags]:
        """Labels (K, P) by S = αR + offset."""
        p, (K, count) = self.field.p, poles.shape
        labels, bad = np.zeros((K, count), dtype=np.int64), np.zeros(count, dtype=np.bool_)
        for start in range(0, count, PIECE):
            s = slice(start, start + PIECE)
            expected = times(poles[None, :, s], alpha[:, None, s], p)
            candidates = plus(expected, offset[:, None, s], p) == residues[None, :, s]
            labels[:, s], bad[s] = unique_labels(candidates)
        return labels, bad

    def by_ratio(self, poles: Array, residues: Array, columns: Tokens) -> tuple[Tokens, Flags]:
        """Labels (K, P) of probes without a further token, in the directions of these columns: S = βR."""
        beta = self.along[:, columns]
        return self.by_consistency(poles, residues, beta, np.zeros_like(beta))

    # optimal

    def optimal(self, g: Fractions, columns: int) -> tuple[Array, Flags]:
        """Exponents (K, R c), and where they are missing."""
        p, R, K = self.field.p, len(self.block), self.first.rank
        j, k = self.plan.pairs(self.block.start)
        alone = int((k < 0).sum())
        poles = self.field.exp(g.exponents)
        width = len(j)
        result = np.zeros((K, R, columns), dtype=np.uint64)
        missing = np.zeros((R, columns), dtype=np.bool_)
        if alone:
            own = np.arange(0, R * width, width)
            last = np.full(R, columns - 1, dtype=np.int64)
            labels, wrong = self.by_ratio(poles[:, own], g.residues[:, own], last)
            result[:, :, -1] = np.take_along_axis(g.exponents[:, own], labels, axis=0)
            missing[:, -1] = wrong | g.bad[own]
        paired = (np.arange(R)[:, None] * width + np.arange(alone, width)).reshape(-1)
        j, k = j[k >= 0], k[k >= 0]
        alpha, beta = self.along[:, j], self.along[:, k]
        inverse = inverses(minus(alpha, beta, p), p)
        x, y, bad = self.by_membership(poles[:, paired], g.residues[:, paired], beta, inverse)
        bad |= g.bad[paired] | np.tile((inverse == 0).any(axis=0), R)
        for column, values in ((j, x), (k, y)):
            exponents, zero = logarithms(values, self.field, self.first.scale)
            result[:, :, column] = exponents.reshape(K, R, len(column))
            missing[:, column] = (bad | zero.any(axis=0)).reshape(R, len(column))
        return result.reshape(K, -1), missing.reshape(-1)

    def by_membership(
        self, poles: Array, residues: Array, beta: Array, inverse: Array
    ) -> tuple[Array, Array, Flags]:
        """x and y (K, P), and where labels are not certain."""
        p, (K, count) = self.field.p, poles.shape
        x, y = (np.zeros((K, count), dtype=np.uint64) for _ in range(2))
        bad = np.zeros(count, dtype=np.bool_)
        pair = np.arange(count) % max(1, beta.shape[1])
        for start in range(0, count, PIECE):
            s = slice(start, start + PIECE)
            R, S = poles[None, :, s], residues[None, :, s]
            b, i = (table[:, None, pair[s]] for table in (beta, inverse))
            xs = times(minus(S, times(R, b, p), p), i, p)
            candidates = self.field.kernels.powers(xs, self.first.order, self.field) == 1
            h, k, column = np.nonzero(candidates)
            ys = minus(poles[k, start + column], xs[h, k, column], p)  # R − x
            candidates[h, k, column] = self.field.kernels.powers(ys, self.first.order, self.field) == 1
            labels, bad[s] = unique_labels(candidates)
            x[:, s] = np.take_along_axis(xs, labels[:, None], axis=1)[:, 0]
            y[:, s] = minus(np.take_along_axis(poles[:, s], labels, axis=0), x[:, s], p)
        return x, y, bad

    # exceptional probes

    def mend(self, last: Tokens, direction: Tokens) -> list[int]:
        """The exponents of exp(b^T W_h u), by head, from probes without a further token: of u, or of u + z
        and z."""
        self.mended += 1
        found = self.alone(last, direction)
        for version in range(TRIES):
            if found is not None:
                return found
            drawn = draw_vector(self.plan.seed, "z", self.further, version, self.plan.dim, 12)
            z = np.array([int(c.p) for c in drawn], dtype=np.int64)
            one, other = self.alone(last, direction + z), self.alone(last, z)
            if one is not None and other is not None:
                found = [(x - y) % self.field.order for x, y in zip(one, other, strict=True)]
        if found is not None:
            return found
        raise GenericityExhausted(
            "a probe stayed exceptional: two heads may have the same v, which only the published method "
            "tells apart; or try another seed"
        )

    def alone(self, last: Tokens, direction: Tokens) -> list[int] | None:
        """The same from the one probe of u, labelled by v_h·u; None if it is exceptional."""
        if self.oracle is None:
            raise GenericityExhausted("a probe is exceptional and needs further queries")
        filler = (last - direction)[None]
        groups = [ProbeGroup(last, filler)]
        (answers,) = self.oracle.group_answers(groups, self.plan.copies, exponent=self.first.scale)
        self.further += len(self.plan.copies)
        if (answers == UNDEFINED).any():
            return None
        p = self.field.prime
        constant = int(self.first.constants(filler)[0])
        values = [(int(f) - constant) % p for f in answers[:, 0]]
        poles = careful_interpolation(self.field.scalar, self.plan.copies, values)
        if poles is None:
            return None
        found = []
        for beta in self.first.projections(direction[None])[:, 0].tolist():
            fits = [e for e, S in poles if beta * self.field.scalar.power(e) % p == S]
            if len(fits) != 1:
                return None
            found.append(fits[0])
        return found
