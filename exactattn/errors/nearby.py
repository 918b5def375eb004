"""What a family answers to errors with at *every* centre that noisy answers may give, not only at the truth.

An enclosure is centred at the interpolant of the noisy answers, so its width is the first-order constant
there and not at the truth. Both are close for a reason that boxes alone do not see: errors move poles and
residues together, along directions that hardly change the answers, and along these the constants hardly
change. So poles and residues are carried as *forms*: linear in the errors φ_m and ν, with a bound on what is
left of higher order,

    u_g = log r'_g − log r_g = Σ_m L_gm φ_m + L_g ν + rest,
    z_h = c'_h/c_h − 1       = Σ_m R_hm φ_m + R_h ν + rest,

and the logarithms of the response A_hm of :mod:`exactattn.errors.response` are sums of

    log(x + r'_g) = log(x + r_g) + w u_g + between 0 and u_g²/8,                       w = r_g/(x + r_g),
    log|r'_g − r'_h| = log|r_g − r_h| + (r_g u_g − r_h u_h)/(r_g − r_h) + at most (u_g − u_h)²/(8 sinh²(s/2)),
    log|c'_h| = log|c_h| + z_h + at most z_h²/(2(1 − |z_h|)),

with s the least of |log r'_g − log r'_h| (second derivatives of log(x + e^t) and log 2 sinh(t/2)). Linear
parts are added before sizes are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial

from flint import arb

from exactattn.errors.box import Box, FamilyBounds

__all__ = ["around"]


@dataclass(frozen=True)
class _Form:
    """A sum Σ_m row[m] φ_m + row[-1] ν, and what is left at most."""

    row: tuple[arb, ...]
    rest: arb


class _Movement:
    """Poles and residues of one family as forms, for |φ_m| ≤ ``scales[m]`` and |ν| ≤ ``scales[-1]``."""

    def __init__(self, family: FamilyBounds, box: Box, epsilon: arb, beta: arb) -> None:
        own, self.family = family.own, family
        self.heads = family.heads
        self.scales = [epsilon] * len(family.nodes) + [beta * epsilon]
        self.reach = box.log_pole
        self.u = [
            _Form((*map(arb, row), arb(constant)), epsilon * rest)
            for row, constant, rest in zip(
                own.log_pole, own.log_pole_constant, box.log_pole_rest, strict=True
            )
        ]
        self.z = [
            _Form(tuple(arb(x) / c for x in (*row, constant)), epsilon * rest / abs(c))
            for row, constant, rest, c in zip(
                own.residue, own.residue_constant, box.residue_rest, family.residues, strict=True
            )
        ]

    def size(self, form: _Form) -> arb:
        """The largest absolute value."""
        linear = sum((abs(x) * s for x, s in zip(form.row, self.scales, strict=True)), arb(0))
        return (linear + form.rest).upper()

    def add(self, terms: Sequence[tuple[arb, _Form]], bend: arb) -> _Form:
        """Σ a·form, and ``bend`` more."""
        row = tuple(sum((a * form.row[m] for a, form in terms), arb(0)) for m in range(len(self.scales)))
        return _Form(row, bend + sum((abs(a) * form.rest for a, form in terms), arb(0)))

    def gap(self, h: int, g: int) -> _Form | None:
        """log|r'_g − r'_h| less its value; None if the poles may meet."""
        r = self.family.poles
        to_g, to_h = r[g] / (r[g] - r[h]), r[h] / (r[h] - r[g])
        apart = self.add([(arb(1), self.u[g]), (arb(-1), self.u[h])], arb(0))
        moved = self.size(apart)
        least = abs(self.family.logs[g] - self.family.logs[h]) - moved
        if not least > 0:
            return None
        bend = moved**2 / (8 * (least / 2).sinh() ** 2)
        return self.add([(to_g, self.u[g]), (to_h, self.u[h])], bend)

    def relative_residue(self, h: int) -> _Form | None:
        """log|c'_h| less its value; None if the residue may vanish."""
        moved = self.size(self.z[h])
        if not moved < 1:
            return None
        return _Form(self.z[h].row, self.z[h].rest + moved**2 / (2 * (1 - moved)))


def around(family: FamilyBounds, box: Box, epsilon: arb, beta: arb) -> FamilyBounds | str:
    """The numbers of the family at all centres in a box, for |φ| ≤ ε and |ν| ≤ βε: balls and upper bounds; or
    the condition that fails, "poles" or "residues"."""
    move = _Movement(family, box, epsilon, beta)
    gaps = {(h, g): move.gap(h, g) for h in move.heads for g in move.heads if g != h}
    sizes = [move.relative_residue(h) for h in move.heads]
    known_gaps = {pair: form for pair, form in gaps.items() if form is not None}
    known_sizes = [form for form in sizes if form is not None]
    if len(known_gaps) < len(gaps):
        return "poles"
    if len(known_sizes) < len(sizes):
        return "residues"
    return _Around(family, move, known_gaps, known_sizes).bounds()


class _Around:
    """The forms of every response of one family."""

    def __init__(
        self,
        family: FamilyBounds,
        move: _Movement,
        gaps: dict[tuple[int, int], _Form],
        sizes: Sequence[_Form],
    ) -> None:
        self.family, self.move, self.gaps, self.sizes = family, move, gaps, sizes
        self.finite = [m for m, node in enumerate(family.nodes) if not node.is_infinite]

    def _response(self, h: int, m: int | None, per_pole: bool) -> arb:
        """A bound of |log| of how much A_hm (m None: its like for ν; per_pole: A_hm/(c_h r_h)) changes."""
        family, move = self.family, self.move
        weights = [arb(0) for _ in move.heads]
        bend = arb(0)
        for j, place in enumerate(self.finite):
            if place != m:
                weights[h] += family.near[h][j]
                bend += move.reach[h] ** 2 / 8
        if m is None:
            weights = [a + 2 for a in weights]
            weights[h] -= 1
        for g, w in enumerate([] if m is None else family.w[m]):
            weights[g] += 2 * w
            bend += move.reach[g] ** 2 / 4
        terms = [(arb(-2), self.gaps[h, g]) for g in move.heads if g != h]
        if per_pole:
            weights[h] -= 1
            terms.append((arb(-1), self.sizes[h]))
        return move.size(move.add([*zip(weights, move.u, strict=True), *terms], bend))

    def _total(self, m: int) -> arb:
        """The same for Q(x_m)², which the sum of the residues answers with."""
        terms = [(2 * w, u) for w, u in zip(self.family.w[m], self.move.u, strict=False)]
        bend = sum((x**2 / 4 for x in self.move.reach), arb(0))
        return self.move.size(self.move.add(terms, bend))

    def _slope(self, h: int, m: int | None) -> tuple[arb, arb]:
        """|λ_hm| at the truth, and how far it is off at most: 1/y changes by at most e^s − 1 times its size
        if log y changes by at most s, and log(x + r'_h) by at most u_h."""
        family, reach = self.family, self.move.reach[h].exp() - 1
        value, off = arb(0), arb(0)
        for g in self.move.heads:
            if g != h:
                gap = family.poles[g] - family.poles[h]
                value -= 2 / gap
                off += 2 * (self.move.size(self.gaps[h, g]).exp() - 1) / abs(gap)
        for j, place in enumerate(self.finite):
            if place != m:
                share = family.near[h][j] / family.poles[h]
                value -= share
                off += share * reach
        if m is None:
            value += 1 / family.poles[h]
            off += reach / family.poles[h]
        return abs(value), off

    def bounds(self) -> FamilyBounds:
        """All of it as numbers for the conditions of a box."""
        family, move = self.family, self.move
        result = copy(family)
        result.linear = family
        both = [_ball(x) for x in move.reach]
        result.logs = [t + arb(0, x) for t, x in zip(family.logs, move.reach, strict=True)]
        result.poles = [r * x for r, x in zip(family.poles, both, strict=True)]
        result.residues = [c * _ball(move.size(x)) for c, x in zip(family.residues, self.sizes, strict=True)]
        heads = move.heads
        factor = {pair: _ball(move.size(form)) for pair, form in self.gaps.items()}
        result.gaps = [[family.gaps[h][g] * factor[h, g] if g != h else arb(0) for g in heads] for h in heads]
        result.q = [
            [family.q[h][g] * both[g] / factor[h, g] if g != h else arb(0) for g in heads] for h in heads
        ]
        result.w = [[_share(w, x) for w, x in zip(row, both, strict=False)] for row in family.w]
        result.near = [[_share(w, x) for w in row] for row, x in zip(family.near, both, strict=True)]
        every = range(len(family.nodes))
        result.S, result.T = self._grown(family.S, family.T, True)
        result.A, result.A_constant = self._grown(family.A, family.A_constant, False)
        result.S_residue = [
            [self._residue(h, m, family.A[h][m], result.A[h][m]) for m in every] for h in heads
        ]
        result.T_residue = [self._residue(h, None, family.A_constant[h], result.A_constant[h]) for h in heads]
        result.total = [t * self._total(m).exp() for m, t in enumerate(family.total)]
        inward = move.size(move.add([(arb(2), u) for u in move.u], arb(0)))
        result.share = family.share * inward.exp()
        return result

    def _grown(
        self, rows: Sequence[Sequence[arb]], constants: Sequence[arb], per_pole: bool
    ) -> tuple[list[list[arb]], list[arb]]:
        of = partial(self._response, per_pole=per_pole)
        return (
            [[a * of(h, m).exp() for m, a in enumerate(row)] for h, row in enumerate(rows)],
            [a * of(h, None).exp() for h, a in enumerate(constants)],
        )

    def _residue(self, h: int, m: int | None, weight: arb, grown: arb) -> arb:
        """A bound of |A_hm λ_hm|."""
        slope, off = self._slope(h, m)
        return grown * (slope + off)


def _share(w: arb, x: arb) -> arb:
    """r x/(y + r x) from w = r/(y + r)."""
    return 1 / (1 + (1 / w - 1) / x)


def _ball(size: arb) -> arb:
    """exp of everything of at most that size."""
    return arb(0, size.upper()).exp()
