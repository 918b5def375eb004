"""A layer in a prime field as the black box: it evaluates every query, and shows nothing else.

Scores are known modulo p − 1 and exp(s) = g^s; outputs are in F_p (theory, section 2). With m copies of a_0,
at most one a_1 and the last token b,

    f(m) = c + Σ_h v_h·a_0 + Σ_h S_h/(m + R_h),
    R_h = x_h + y_h,  S_h = x_h v_h·(a_1 − a_0) + y_h v_h·(b − a_0)

with x_h = exp(b^T W_h (a_1 − a_0)) and y_h = exp(b^T W_h (b − a_0)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exactattn.exceptions import InputError
from exactattn.prime.arithmetic import (
    UNDEFINED,
    Array,
    bits,
    minus,
    plus,
    product,
    reduce,
    times,
    two_products,
)
from exactattn.prime.field import PrimeField

__all__ = ["UNDEFINED", "PrimeLayer", "ProbeGroup", "Tokens"]

Tokens = NDArray[np.int64]


@dataclass(frozen=True)
class ProbeGroup:
    """Probes that share a last token b (d): fillers a_0 (P, d) and, if any, further tokens a_1 (P, d); one
    filler (1, d) may serve all further tokens."""

    last: Tokens
    filler: Tokens | NDArray[np.float64]
    extra: Tokens | NDArray[np.float64] | None = None

    @property
    def size(self) -> int:
        """P."""
        return len(self.filler if self.extra is None else self.extra)


@dataclass(frozen=True, eq=False)
class PrimeLayer:
    """H heads with ``W`` (H, d, d), or (H, d+1, d) with the query bias first, modulo p − 1; ``v`` (H, d) and
    ``constant`` modulo p.

    Raises InputError on shapes that do not fit. Entries are reduced.

    >>> layer = PrimeLayer(PrimeField(), np.array([[[1]]]), np.array([[1]]))
    >>> ((answer,),) = layer.group_answers([ProbeGroup(np.array([1]), np.array([[2]]))], (1,))[0].tolist()
    >>> answer * (31**2 + 31) % layer.field.prime == 2 * 31**2 + 1 * 31    # tokens 2, 1; exp(1) = 31
    True
    """

    field: PrimeField
    W: NDArray[np.int64]
    v: NDArray[np.int64]
    constant: int = 0

    def __post_init__(self) -> None:
        v, W = np.asarray(self.v), np.asarray(self.W)
        shapes = [(*v.shape[:1], d, v.shape[-1]) for d in (v.shape[-1], v.shape[-1] + 1)]
        if v.ndim != 2 or W.shape not in shapes:
            raise InputError(f"W of shape {W.shape} and v of shape {v.shape} are not those of one layer")
        object.__setattr__(self, "W", W.astype(np.int64) % self.field.order)
        object.__setattr__(self, "v", v.astype(np.int64) % self.field.prime)
        object.__setattr__(self, "constant", int(self.constant) % self.field.prime)

    @property
    def dim(self) -> int:
        """The token size d."""
        return int(self.v.shape[1])

    @property
    def bias(self) -> bool:
        """Whether there is a query bias."""
        return int(self.W.shape[1]) > self.dim

    @cached_property
    def _flat(self) -> NDArray[np.float64]:
        """All W side by side, exact in binary64."""
        rows = self.W.transpose(1, 0, 2).reshape(self.W.shape[1], -1)
        return rows.astype(np.float64)

    @cached_property
    def _values(self) -> Array:
        return self.v.astype(np.uint64)

    def score_rows(self, last: Tokens) -> Array:
        """b^T W_h modulo p − 1, (L, H, d), for last tokens (L, d)."""
        lifted = np.concatenate([np.ones((len(last), 1), np.int64), last], axis=1) if self.bias else last
        rows = product(lifted, self._flat, self.field.n, left_bits=bits(lifted))
        return rows.reshape(len(last), *self.v.shape)

    def group_answers(
        self, groups: Sequence[ProbeGroup], copies: Sequence[int], *, exponent: int = 1
    ) -> list[Array]:
        """For each group of P probes the values (N, P) at N numbers of copies; UNDEFINED where a softmax
        denominator vanishes modulo p. ``exponent``: exp(s) is g^(exponent·s) instead."""
        rows = self.score_rows(np.array([group.last for group in groups]))
        terms = [self._terms(group, row, exponent) for group, row in zip(groups, rows, strict=True)]
        bases, numerators, weights = (np.concatenate(parts, axis=-1) for parts in zip(*terms, strict=True))
        nodes = np.array(copies, dtype=np.uint64)
        values = self.field.kernels.sums_of_fractions(bases, numerators, weights, nodes, self.field)
        ends = np.cumsum([group.size for group in groups])[:-1]
        return np.split(values, ends, axis=1)

    def _terms(self, group: ProbeGroup, rows: Array, exponent: int) -> tuple[Array, Array, Array]:
        """c + Σ_h v_h·a_0 (P), S_h and R_h (H, P)."""
        p = self.field.p
        scores, values = self._dots(rows, group.filler)
        own_score, own_value = self._dots(rows, group.last[None])
        weight = self._exp(own_score, scores, exponent)
        numerator = times(weight, minus(own_value, values, p), p)
        if group.extra is not None:
            more_scores, more_values = self._dots(rows, group.extra)
            more = self._exp(more_scores, scores, exponent)
            weight = plus(weight, more, p)
            numerator = reduce(numerator + more * minus(more_values, values, p), p)
        base = reduce(values.sum(axis=0, dtype=np.uint64) + np.uint64(self.constant), p)
        return np.broadcast_to(base, group.size), numerator, weight

    def alone(self, last: Tokens) -> int:
        """The value at one token alone."""
        return int(
            sum(int(v) * int(x) for row in self.v for v, x in zip(row, last, strict=True)) + self.constant
        ) % (self.field.prime)

    def _dots(self, rows: Array, tokens: Tokens | NDArray[np.float64]) -> tuple[Array, Array]:
        """Scores modulo p − 1 and v_h·a modulo p, (H, P) each."""
        right = tokens.astype(np.float64, copy=False).T
        return two_products((rows, self._values), right, (self.field.n, self.field.p), bits(tokens))

    def _exp(self, score: Array, base: Array, exponent: int) -> Array:
        """exp(score − base)."""
        difference = minus(score, base, self.field.n)
        if exponent != 1:
            difference = times(difference, np.uint64(exponent), self.field.n)
        return self.field.exp(difference)
