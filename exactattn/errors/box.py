"""Boxes for one family: where its poles and residues are under errors of a given size, beyond first order.

Finite identity. If r', c' interpolate samples g(x_m) + δ_m, then with the A_hm of the first-order response

    r'_h − r_h = −(1/c_h) Σ_m δ_m A_hm ω_hm,
    ω_hm = Π_g (x_m + r'_g)/(x_m + r_g) · Π_{g≠h} (r_g − r_h)/(r'_g − r_h),

and for δ_m = ν/x_m the sum is the first-order one times ω at x = 0. (P'Q − PQ' has degree below 2H and equals
δ_m Q Q' at the nodes; evaluate at −r_h.) c'_h − c_h is the divided difference between −r_h and −r'_h of
Φ(x) = Σ_m δ_m (QQ')(x_m) ℓ_m(x) / Π_{g≠h} (x + r_g)(x + r'_g), hence Φ' at a point between.

Logarithms. Let P be −(1/(c_h r_h)) Σ_m δ_m A_hm ω_hm without the factor (x_m + r'_h)/(x_m + r_h) = 1 + w_m y
of ω_hm, y = r'_h/r_h − 1, w_m = r_h/(x_m + r_h), and Q the same sum with w_m times each term. Then y = P + Q
y, so log(r'_h/r_h) = log(1 + P − Q) − log(1 − Q) = 2 atanh(R/(1 − D)) with R = P/2, D = Q − P/2. If A bounds
P term by term, |R| and |D| are at most A/2 (|w_m − 1/2| ≤ 1/2), so the logarithm is within A²/(2 − A) +
2z³/(3(1 − z²)) of P, z = A/(2 − A): what the pole does to itself costs half of A², not three halves.

A box r_h(1 ± x_h) that the first identity maps into itself therefore holds the poles for every perturbation:
scale the perturbation by s from 0 to 1; poles move continuously (implicit function theorem) as long as they
are distinct and no residue vanishes, and cannot reach the wall of the box before s = 1. Two interpolants with
at most H poles are equal, since their difference has a numerator of degree below 2H.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb

from exactattn.errors.design import Node
from exactattn.errors.response import Response

__all__ = ["Box", "FamilyBounds"]

MAX_STEPS = 200
SLACK = arb(65) / 64


@dataclass(frozen=True)
class Box:
    """For every head: log r_h stays within ``log_pole``, c_h within ``residue``, and both differ from their
    linear part by at most ε times ``log_pole_rest`` and ``residue_rest``. ``total_rest``: the same for Σ
    c_h."""

    log_pole: tuple[arb, ...]
    residue: tuple[arb, ...]
    log_pole_rest: tuple[arb, ...]
    residue_rest: tuple[arb, ...]
    total_rest: arb


class FamilyBounds:
    """The numbers of one family that the conditions need, as balls.

    ``linear`` are those whose first order the rests of a box are measured from: its own, unless the poles and
    residues are a ball of many (see :mod:`exactattn.errors.nearby`).
    """

    def __init__(
        self, nodes: Sequence[Node], poles: Sequence[Any], residues: Sequence[Any], own: Response
    ) -> None:
        r = [arb(x) for x in poles]
        heads = self.heads = range(len(r))
        self.nodes, self.own = nodes, own
        finite = [arb(node.ratio) for node in nodes if not node.is_infinite]
        self.poles, self.residues = r, [arb(c) for c in residues]
        self.logs = [x.log() for x in r]
        self.gaps = [[abs(r[g] - r[h]) for g in heads] for h in heads]
        # q[h][g] = r_g / |r_g − r_h|: how far pole g is from pole h, in its own units
        self.q = [[r[g] / self.gaps[h][g] if g != h else arb(0) for g in heads] for h in heads]
        # w[m][g] = r_g / (x_m + r_g); nothing at the node at infinity
        self.w = [[] if node.is_infinite else [x / (x + arb(node.ratio)) for x in r] for node in nodes]
        self.near = [[x / (x + y) for y in finite] for x in r]
        self.S = _sizes(own.log_pole)
        self.T = [abs(arb(x)) for x in own.log_pole_constant]
        self.S_residue = _sizes(own.residue)
        self.T_residue = [abs(arb(x)) for x in own.residue_constant]
        self.A = _sizes(own.weight)
        self.A_constant = [arb(x) for x in own.weight_constant]
        has_sum = len(finite) < len(nodes)  # a alone gives the sum of the residues without interpolation
        self.total = [arb(0) if has_sum else abs(arb(x)) for x in own.total]
        self.share = arb(0) if has_sum else arb(own.constant_share)
        self.linear = self

    def box(self, epsilon: arb, beta: arb, beta_linear: arb) -> Box | str:
        """The box for |φ| ≤ ε and |ν| ≤ βε, or the condition that fails: "poles" or "residues".

        ``beta_linear`` bounds the linear part of ν/ε; β − beta_linear bounds the rest.
        """
        x, linear = self._poles(epsilon, beta), self.linear
        if x is None:
            return "poles"
        rest = [r.upper() for r in self._residue_rests(x, beta, beta_linear)]
        residue = [
            (epsilon * (sum(s, arb(0)) + beta_linear * t + rest)).upper()
            for s, t, rest in zip(linear.S_residue, linear.T_residue, rest, strict=True)
        ]
        if not all(moved < abs(c) for moved, c in zip(residue, self.residues, strict=True)):
            return "residues"
        pulls = [epsilon * y for y in self._responses(x, beta, own=False)]
        bends = [_bend(A) for A in pulls]
        pole_rest = [
            (A + bend) / epsilon - sum(s, arb(0)) - beta_linear * t
            for A, bend, s, t in zip(pulls, bends, linear.S, linear.T, strict=True)
        ]
        growth, inward = self._factors(x)
        totals = zip(self.total, growth, linear.total, strict=True)
        total_rest = sum((t * f - first for t, f, first in totals), arb(0))
        return Box(
            tuple((A + bend).upper() for A, bend in zip(pulls, bends, strict=True)),
            tuple(residue),
            tuple(y.upper() for y in pole_rest),
            tuple(rest),
            (total_rest + self.share * inward - linear.share).upper(),
        )

    def _factors(self, x: Sequence[arb]) -> tuple[list[arb], arb]:
        """Upper bounds of Π_g (x_m + r'_g)/(x_m + r_g) at every node, and at x = 0."""
        outside = [_product(1 + y * w for y, w in zip(x, row, strict=False)) for row in self.w]
        return outside, _product(1 + y for y in x)

    def _responses(self, x: Sequence[arb], beta: arb, own: bool = True) -> list[arb]:
        """Σ_m |a_hm| ω_hm + β T_h ω_h, with every ω as large as the box allows; without ``own``, the factors
        of ω_hm that belong to the pole h itself are left out."""
        outside, inside = self._factors(x)
        result = []
        for h in self.heads:
            apart = _product(1 - x[g] * self.q[h][g] for g in self.heads if g != h)
            factors = (
                outside
                if own
                else [f / (1 + x[h] * w[h]) if w else f for f, w in zip(outside, self.w, strict=True)]
            )
            at_zero = inside if own else inside / (1 + x[h])
            along = sum((a * f for a, f in zip(self.S[h], factors, strict=True)), arb(0))
            result.append((along + beta * at_zero * self.T[h]) / apart)
        return result

    def _mapped(self, x: Sequence[arb], epsilon: arb, beta: arb) -> list[arb] | None:
        """Where the finite identity maps the box; None if it is too large."""
        for h in self.heads:
            if not x[h] < 1:
                return None
            for g in self.heads:
                if g < h and not x[g] * self.q[h][g] + x[h] * self.q[g][h] < 1:
                    return None
        return [(epsilon * y).upper() for y in self._responses(x, beta)]

    def _poles(self, epsilon: arb, beta: arb) -> list[arb] | None:
        """A box x that is mapped into itself, by iteration from first order; None if none was found.

        The numbers of many centres must map even the box 65/64 x into x: then the iteration of each centre
        alone, whose numbers are smaller, never passes 65/64 x, and what it finds is within what this returns.
        """
        x = [(epsilon * (sum(s, arb(0)) + beta * t)).upper() for s, t in zip(self.S, self.T, strict=True)]
        for _ in range(MAX_STEPS):
            tried = x if self.linear is self else [y * SLACK for y in x]
            image = self._mapped(tried, epsilon, beta)
            if image is None:
                return None
            if all(y <= z for y, z in zip(image, x, strict=True)):
                return image
            x = [(y * SLACK).upper() for y in image]
        return None

    def _residue_rests(self, x: Sequence[arb], beta: arb, beta_linear: arb) -> list[arb]:
        """Bounds of |c'_h − c_h − linear part|/ε: c'_h − c_h is the mean of Φ' over −r_h − t(r'_h − r_h),
        0 ≤ t ≤ 1, and the bound at t is convex in t, so its mean is at most that of both ends."""
        return [
            (self._residue_rest(h, x, beta, arb(0)) + self._residue_rest(h, x, beta, arb(1))) / 2
            - beta_linear * self.linear.T_residue[h]
            for h in self.heads
        ]

    def _residue_rest(self, h: int, x: Sequence[arb], beta: arb, t: arb) -> arb:
        """The bound at one t, with the linear part of ν still to be taken off."""
        outside, inside = self._factors(x)
        others = [g for g in self.heads if g != h]
        step = t * x[h]
        own = [step * self.q[g][h] for g in self.heads]
        both = [x[g] * self.q[h][g] + own[g] for g in self.heads]
        moved = _product(1 + step * n for n in self.near[h])
        for g in others:
            moved /= (1 - own[g]) * (1 - both[g])
        # how far the bracket of Φ' is from λ
        turn = sum((n * n * step / (self.poles[h] * (1 - step * n)) for n in self.near[h]), arb(0))
        for g in others:
            turn += (own[g] / (1 - own[g]) + both[g] / (1 - both[g])) / self.gaps[h][g]
        turn_constant = turn + step / (self.poles[h] * (1 - step))
        rows = zip(outside, self.S_residue[h], self.A[h], self.linear.S_residue[h], strict=True)
        rest = sum((f * moved * (s + turn * a) - first for f, s, a, first in rows), arb(0))
        return rest + beta * inside * moved / (1 - step) * (
            self.T_residue[h] + turn_constant * self.A_constant[h]
        )


def _bend(A: arb) -> arb:
    """How far log(r'/r) is from P at most, for |P| ≤ A < 1: see the identity of logarithms above."""
    z = A / (2 - A)
    return A**2 / (2 - A) + 2 * z**3 / (3 * (1 - z**2))


def _sizes(rows: Sequence[Sequence[Any]]) -> list[list[arb]]:
    return [[abs(arb(x)) for x in row] for row in rows]


def _product(factors: Any) -> arb:
    result = arb(1)
    for factor in factors:
        result *= factor
    return result
