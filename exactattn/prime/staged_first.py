"""Stage 1 of the consistency and the optimal method: the first row b_1^T W_h, and every v_h.

With x = exp(b_1^T W_h a_j), y = exp(b_1^T W_h b_1) and β = v_h·b_1, the probe of a_j has R = x + y and
S = x v_h·a_j + y β. Labels: consistent by the probe of −a_j, where x x' = 1 and (S' − yβ) x = −(S − yβ) x';
optimal by x being an exponential, which in a prime field means something if exp takes values in a small
subgroup.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactattn.exceptions import GenericityExhausted
from exactattn.prime.arithmetic import UNDEFINED, Array, bits, inverses, minus, plus, product, times
from exactattn.prime.careful import careful_interpolation
from exactattn.prime.field import PrimeField
from exactattn.prime.interpolation import Fractions, Interpolation
from exactattn.prime.kernels import Flags
from exactattn.prime.labels import unique_labels
from exactattn.prime.layer import ProbeGroup, Tokens
from exactattn.prime.logarithms import logarithms
from exactattn.prime.mend import Oracle
from exactattn.prime.staged_plan import StagedBlockPlan

__all__ = ["StagedFirst", "interpolated", "run_stage_one"]

TRIES = 8
BATCH = 1 << 15


@dataclass(frozen=True, eq=False)
class StagedFirst:
    """What the other rows need of the first: b_1^T W_h as exponents of g, and v_h (K, d), the constant, and
    the subgroup: exp(s) = g^(s·scale), scores modulo ``order`` = (p − 1)/scale."""

    field: PrimeField
    row: Array
    v: Array
    constant: int
    scale: int = 1
    mended: int = 0
    further: int = 0

    @property
    def order(self) -> int:
        """The modulus of scores."""
        return self.field.order // self.scale

    @property
    def rank(self) -> int:
        """K, the number of canonical heads."""
        return len(self.v)

    def constants(self, fillers: Tokens | NDArray[np.float64]) -> Array:
        """V·a + c for tokens (N, d)."""
        total = self.v.sum(axis=0, dtype=np.uint64) % self.field.p
        found = product(fillers, total[:, None], self.field.p, left_bits=bits(fillers))[:, 0]
        return plus(found, np.uint64(self.constant), self.field.p)

    def projections(self, directions: Tokens) -> Array:
        """v_h·u (K, N) for directions (N, d)."""
        return product(self.v, directions.T, self.field.p, right_bits=bits(directions))


def interpolated(field: PrimeField, copies: tuple[int, ...], rank: int, values: Array) -> Fractions:
    """Poles of probes from values (N, P), some of them UNDEFINED."""
    undefined = (values == UNDEFINED).any(axis=0)
    usable = np.where(undefined, np.uint64(0), values)
    solver = Interpolation(field, copies, rank)
    width = max(64, BATCH // max(1, rank))
    parts = [solver(usable[:, start : start + width]) for start in range(0, usable.shape[1], width)]
    found = Fractions.join(parts)
    found.bad[undefined] = True
    return found


def run_stage_one(plan: StagedBlockPlan, field: PrimeField, oracle: Oracle, scale: int = 1) -> StagedFirst:
    """Asks and solves the first row. Raises GenericityExhausted if b_1 is exceptional, or tokens stay so."""
    return _StageOne(plan, field, oracle, scale).result()


class _StageOne:
    def __init__(self, plan: StagedBlockPlan, field: PrimeField, oracle: Oracle, scale: int) -> None:
        self.plan, self.field, self.oracle, self.scale = plan, field, oracle, scale
        self.zero = np.zeros(plan.dim, dtype=np.int64)
        self.constant = oracle.alone(self.zero) if plan.bias else 0
        self.mended = self.further = 0

    def ask(self, extra: Tokens | None) -> Array:
        """Values of Σ S/(m + R) for the last token b_1, filler 0 and further tokens (P, d), or none."""
        group = ProbeGroup(self.plan.b[0], self.zero[None], extra)
        (found,) = self.oracle.group_answers([group], self.plan.copies, exponent=self.scale)
        shifted = minus(found, np.full_like(found, self.constant), self.field.p)
        return np.where(found == UNDEFINED, UNDEFINED, shifted)

    def result(self) -> StagedFirst:
        plan, field, p = self.plan, self.field, self.field.p
        base = careful_interpolation(field.scalar, plan.copies, self.ask(None)[:, 0].tolist())
        if base is None:
            raise GenericityExhausted("the probe of b_1 alone is exceptional; try another seed")
        self.rank = len(base)
        self.y_log = np.array([e for e, _ in base], dtype=np.uint64)
        self.y = field.exp(self.y_log)
        S = np.array([c for _, c in base], dtype=np.uint64)
        self.value = times(S, inverses(self.y, p), p)
        d, K = plan.dim, self.rank
        logs, values = np.zeros((K, d), np.uint64), np.zeros((K, d), np.uint64)
        factors = np.zeros(d, dtype=np.int64)
        left = np.arange(1, d)
        version = 0
        while len(left):
            if version == TRIES:
                raise GenericityExhausted(
                    f"{len(left)} tokens stayed exceptional after {TRIES} draws: heads may be more than b_1 "
                    "shows; try another seed"
                )
            if version:
                self.mended += len(left)
                self.further += len(left) * len(plan.copies) * (2 if plan.method == "consistent" else 1)
            factors[left] = plan.factors(version)[left - 1]
            x, va, bad = self.tokens(plan.tokens(left, factors[left]))
            exponents, zero = logarithms(x, field)
            logs[:, left], values[:, left] = exponents, va
            left = left[bad | zero.any(axis=0)]
            version += 1
        row = self.in_basis(self.y_log, logs, factors, field.n)
        v = self.in_basis(self.value, values, factors, p)
        return StagedFirst(field, row, v, self.constant, self.scale, self.mended, self.further)

    def in_basis(self, along_b: Array, along_a: Array, factors: Tokens, modulus: np.uint64) -> Array:
        """w (K, d) from w·b_1 (K) and w·a_j (K, d): w_j = w·a_j − t_j w·b_1, and b_1 begins with 1."""
        t = (factors % np.int64(modulus)).astype(np.uint64)
        w = minus(along_a, times(along_b[:, None], t[None], modulus), modulus)
        w[:, 0] = 0
        first = self.plan.b[0][:, None]
        rest = product(w, first, modulus, right_bits=bits(first))[:, 0]
        w[:, 0] = minus(along_b, rest, modulus)
        return w

    def tokens(self, tokens: Tokens) -> tuple[Array, Array, Flags]:
        """x_h and v_h·a (K, P), and which tokens are exceptional."""
        p = self.field.p
        g = interpolated(self.field, self.plan.copies, self.rank, self.ask(tokens))
        x, e = self.parts(g)
        bad = g.bad.copy()
        if self.plan.method == "consistent":
            other = interpolated(self.field, self.plan.copies, self.rank, self.ask(-tokens))
            back_x, back_e = self.parts(other)
            bad |= other.bad
            candidates = np.zeros(x.shape, dtype=np.bool_)
            for n in range(self.rank):
                inverse, back = back_x[:, n, None], back_e[:, n, None]
                fits = times(x, inverse, p) == 1
                fits &= plus(times(back, x, p), times(e, inverse, p), p) == 0
                candidates |= fits
        else:
            candidates = self.field.kernels.powers(x, self.field.order // self.scale, self.field) == 1
        labels, ambiguous = unique_labels(candidates)
        index = labels[:, None]
        chosen = np.take_along_axis(x, index, axis=1)[:, 0]
        residue = np.take_along_axis(e, index, axis=1)[:, 0]
        return chosen, times(residue, inverses(chosen, p), p), bad | ambiguous

    def parts(self, g: Fractions) -> tuple[Array, Array]:
        """R_k − y_h and S_k − y_h β_h, (K heads, K poles, P)."""
        p = self.field.p
        poles = self.field.exp(g.exponents)
        x = minus(poles[None], self.y[:, None, None], p)
        e = minus(g.residues[None], times(self.y, self.value, p)[:, None, None], p)
        return x, e
