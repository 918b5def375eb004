"""Exceptional probes: solved one by one, with further queries where the answers at hand do not suffice.

The means, in this order:

1. the same answers, with no regularity assumed (a discrepancy vanished);
2. if a denominator vanished modulo p: the same queries with exp(s) = g^{e s} for an e prime to p − 1, which
   leaves the model and its exponents as they are;
3. if poles coincide or a residue vanishes: with a vector w the probes (b, w), (b, u + w) and (b, u + 2w).
   They show the heads one by one, and ℓ_h(u) = ℓ_h(u + w) − ℓ_h(w), c_h(u) = c_h(u + w) − c_h(w) even if
   these coincide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from exactattn.exceptions import GenericityExhausted
from exactattn.prime.arithmetic import Array
from exactattn.prime.careful import Poles, careful_interpolation
from exactattn.prime.field import PrimeField
from exactattn.prime.interpolation import Fractions
from exactattn.prime.layer import UNDEFINED, ProbeGroup, Tokens
from exactattn.prime.matching import match
from exactattn.prime.plan import BlockPlan
from exactattn.recovery.draw import draw_vector

__all__ = ["Mender", "Oracle", "as_fractions"]

TRIES = 8
OTHER_EXPONENTS = (37, 41, 43, 47)  # prime to p − 1, whose prime factors are at most 31
SEEN_FIRST = 3


class Oracle(Protocol):
    """What answers queries: :class:`~exactattn.prime.layer.PrimeLayer`, or anything like it."""

    def group_answers(
        self, groups: Sequence[ProbeGroup], copies: Sequence[int], *, exponent: int = 1
    ) -> list[Array]:
        """Values (N, P) of each group of probes at each number of copies m."""

    def alone(self, last: Tokens) -> int:
        """The value at one token alone."""


def as_fractions(poles: Sequence[Poles]) -> Fractions:
    """Columns from pairs (exponent, residue), all of one length."""
    table = np.array(poles, dtype=np.uint64).reshape(len(poles), -1, 2)
    return Fractions(table[:, :, 0].T, table[:, :, 1].T, np.zeros(len(poles), dtype=np.bool_))


class Mender:
    """Solves single probes of one plan, and counts what it took.

    ``oracle`` None: no further queries; GenericityExhausted then says which probe needs some.
    """

    def __init__(self, plan: BlockPlan, field: PrimeField, oracle: Oracle | None) -> None:
        self.plan = plan
        self.field = field
        self.oracle = oracle
        self.queries = 0
        self.mended = 0

    def rank(self, values: Array) -> int:
        """The number of poles that the first probes (of ``values`` (N, P)) show."""
        seen = [careful_interpolation(self.field.scalar, self.plan.copies, list(column))
                for column in values.T[:SEEN_FIRST].tolist() if UNDEFINED not in column]  # fmt: skip
        return max((len(poles) for poles in seen if poles is not None), default=self.plan.heads)

    def mend(self, last: Tokens, difference: Tokens, values: Sequence[int], single: int, rank: int) -> Poles:
        """Exponents and residues of the K = ``rank`` heads at the probe (b, u); ``values`` of g at the nodes.

        Raises GenericityExhausted.
        """
        self.mended += 1
        found = self._interpolated(values)
        for e in OTHER_EXPONENTS if UNDEFINED in values else ():
            if found is not None and len(found) == rank:
                break
            found = self._interpolated(self.ask(last, difference, single, e))
            if found is not None:
                back = pow(e, -1, self.field.order)
                found = [(x * back % self.field.order, c) for x, c in found]
        if found is not None and len(found) > rank:
            raise GenericityExhausted(
                f"a probe shows {len(found)} heads, but the first row {rank}: try another seed"
            )
        if found is not None and len(found) == rank:
            return found
        return self._by_differences(last, difference, single, rank)

    def ask(self, last: Tokens, difference: Tokens, single: int, exponent: int = 1) -> list[int]:
        """Values of g at the nodes for the probe (b, u), from further queries."""
        if self.oracle is None:
            raise GenericityExhausted(
                "a probe needs further queries: poles coincide, a residue vanishes, or a denominator does"
            )
        group = ProbeGroup(last, (last - difference)[None])
        (answers,) = self.oracle.group_answers([group], self.plan.copies, exponent=exponent)
        self.queries += len(self.plan.copies)
        p = self.field.prime
        return [
            int(UNDEFINED) if f == UNDEFINED else (single - int(f)) * pow(m, -1, p) % p
            for m, f in zip(self.plan.copies, answers[:, 0], strict=True)
        ]

    def labels(
        self, x: Fractions, y: Fractions, probes: Iterable[tuple[Fractions, tuple[int, int]]], *, same: bool
    ) -> Array:
        """Labels of one column from further probes with their weights (see matching). GenericityExhausted if
        they stay ambiguous."""
        self.mended += 1
        for z, weights in probes:
            found, partners = match(x, y, z, weights, self.field, same=same)
            if (partners == 1).all():
                return found[:, 0].astype(np.uint64)
        raise GenericityExhausted("the labels of two heads stayed ambiguous; try another seed")

    def _interpolated(self, values: Sequence[int]) -> Poles | None:
        if UNDEFINED in values:
            return None
        return careful_interpolation(self.field.scalar, self.plan.copies, values)

    def _by_differences(self, last: Tokens, difference: Tokens, single: int, rank: int) -> Poles:
        n, p = self.field.order, self.field.prime
        for k in range(TRIES):
            drawn = draw_vector(self.plan.seed, "w", self.queries, k, self.plan.dim, 12)
            w = np.array([int(x.p) for x in drawn], dtype=np.int64)
            probes = (w, difference + w, difference + 2 * w)
            seen = [self._interpolated(self.ask(last, probe, single)) for probe in probes]
            if any(poles is None or len(poles) != rank for poles in seen):
                continue
            x, y, z = (as_fractions([poles]) for poles in seen if poles is not None)
            labels, partners = match(x, y, z, (1, 1), self.field, same=False)
            if (partners == 1).all():
                columns = labels[:, 0].tolist()
                pairs = zip(x.exponents[:, 0].tolist(), x.residues[:, 0].tolist(), columns, strict=True)
                found = [(int(y.exponents[g, 0]) - e, int(y.residues[g, 0]) - c) for e, c, g in pairs]
                return [(e % n, c % p) for e, c in found]
        raise GenericityExhausted(
            f"a probe stayed non-generic after {TRIES} further vectors: try another seed, or a "
            "larger bound on the number of heads"
        )
