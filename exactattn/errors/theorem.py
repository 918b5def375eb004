"""The a-priori theorem: an explicit ε0 and C with ‖parameter error‖_∞ ≤ C ε for all answer errors ≤ ε ≤ ε0.

Suppose that for every family there is a box that the finite identity maps into itself (condition *poles*), in
which no residue vanishes (condition *residues*), and that for every link X, Y → Z, all heads h, g ≠ h and k

    |p log r^X_h + q log r^Y_g − log r^Z_k| > 2|p| e^X_h + |q| e^Y_h + e^Z_h + |q| e^Y_g + e^Z_k

with e the bounds on log r (condition *matching*). Then for every perturbation of size at most ε each family
is interpolated by exactly one function with H poles, the nearest-product rule labels all poles rightly, and
every parameter is off by at most ε times its first-order constant plus a stated rest. Boxes for ε serve
every smaller ε, and C(ε) does not decrease with ε, so C = C(ε0) serves all ε ≤ ε0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any

from flint import arb, ctx, fmpq

from exactattn.errors.box import Box, FamilyBounds
from exactattn.errors.design import Link
from exactattn.errors.first_order import FirstOrder, largest, one_norm

__all__ = ["Bounds", "ErrorTheorem", "Limit"]

PRECISION = 192
# ε0 is searched among (16 + j)/16 · 2^k, so it is at most 1/16 below the best the conditions allow.
STEPS = 16


@dataclass(frozen=True)
class Limit:
    """A condition that fails, and the probe where it does."""

    condition: str
    probe: str


@dataclass(frozen=True)
class Bounds:
    """Bounds at one ε, divided by ε: ``matrix[h][i][j]`` for W_h (natural units), ``vector[h][k]`` for v_h,
    and
    ``constant`` for the constant output (0 without biases)."""

    epsilon: fmpq
    matrix: tuple[tuple[tuple[arb, ...], ...], ...]
    vector: tuple[tuple[arb, ...], ...]
    constant: arb

    @cached_property
    def of_matrices(self) -> arb:
        """The largest bound of an entry of a W_h."""
        top: arb = largest([x for rows in self.matrix for row in rows for x in row])
        return top

    @cached_property
    def of_vectors(self) -> arb:
        """The largest bound of an entry of a v_h."""
        top: arb = largest([x for row in self.vector for x in row])
        return top

    @cached_property
    def largest(self) -> arb:
        """C(ε)."""
        top: arb = self.of_matrices.max(self.of_vectors).max(self.constant)
        return top


class ErrorTheorem:
    """The theorem at a centre: a layer, or poles and residues from noisy answers.

    Every comparison is decided in balls. With ``posterior`` the centre is what noisy answers gave and the
    truth is the perturbation; a wrong label is then excluded if its scores or its residues cannot add up.

    >>> from exactattn.errors import Design, centre_of_layer
    >>> from exactattn.model import Attention, Head
    >>> from exactattn.numbers import LogLattice
    >>> from exactattn.recovery import PublishedPlan, TokenRange
    >>> design = Design.published(PublishedPlan.draw(1, 1, 0, TokenRange(1, 1)))
    >>> layer = Attention.of([Head.of([[1]], [2])])
    >>> theorem = ErrorTheorem(FirstOrder(centre_of_layer(design, layer, LogLattice())))
    >>> theorem.epsilon0, theorem.limit.condition
    (13/256, 'residues')
    """

    def __init__(self, first: FirstOrder, *, posterior: bool = False) -> None:
        self.first = first
        self.posterior = posterior
        with ctx.workprec(PRECISION):
            c = first.centre
            self._families = [
                FamilyBounds(f.nodes, poles, residues, own)
                for f, poles, residues, own in zip(
                    c.design.families, c.poles, c.residues, first.responses, strict=True
                )
            ]
            self._logs = [[arb(r).log() for r in poles] for poles in c.poles]
            self._linear = [arb(one_norm(first.constant(f))).upper() for f in c.design.families]
            self._sum_weights = [[abs(arb(x)) for x in first.on_sums(f.of_sum)] for f in c.design.families]
        self._box = lru_cache(maxsize=4096)(self._new_box)

    # boxes

    def _new_box(self, n: int, epsilon: fmpq) -> Box | str:
        family = self.first.centre.design.families[n]
        beta = self._linear[n]
        if family.needs_sum:
            for weight, first in zip(self._sum_weights[n], range(self.first.centre.design.dim), strict=True):
                box = self._box(first, epsilon)
                if isinstance(box, str):
                    return box
                beta = beta + weight * box.total_rest
        return self._families[n].box(arb(epsilon), beta.upper(), self._linear[n])

    def limit_at(self, epsilon: fmpq) -> Limit | None:
        """The first condition that fails at ε, if any."""
        with ctx.workprec(PRECISION):
            for n in range(len(self._families)):
                if isinstance(box := self._box(n, epsilon), str):
                    return Limit(box, str(self.first.centre.design.families[n]))
            for link in self.first.centre.design.links:
                if not self._is_matched(link, epsilon):
                    return Limit("matching", str(self.first.centre.design.families[link.z]))
        return None

    def _is_matched(self, link: Link, epsilon: fmpq) -> bool:
        boxes = [self._box(n, epsilon) for n in (link.x, link.y, link.z)]
        x, y, z = (box for box in boxes if isinstance(box, Box))
        heads = range(self.first.centre.heads)
        return all(
            self._is_excluded(link, (x, y, z), (h, g, k))
            for h in heads
            for g in heads
            for k in heads
            if g != h
        )

    def partners(self, link: Link, epsilon: fmpq) -> list[set[int]] | Limit:
        """For every pole of X the poles of Y that may be of the same head, whatever the order of the heads
        (with ``posterior``); or the condition that fails before."""
        families = self.first.centre.design.families
        found = []
        with ctx.workprec(PRECISION):
            for n in (link.x, link.y, link.z):
                box = self._box(n, epsilon)
                if isinstance(box, str):
                    return Limit(box, str(families[n]))
                found.append(box)
            boxes, heads = (found[0], found[1], found[2]), range(self.first.centre.heads)
            return [
                {g for g in heads for k in heads if not self._is_excluded(link, boxes, (h, g, k))}
                for h in heads
            ]

    def _is_excluded(self, link: Link, boxes: tuple[Box, Box, Box], heads: tuple[int, int, int]) -> bool:
        """Whether the poles h of X, g of Y and k of Z are proved not to be of one head."""
        (x, y, z), (h, g, k) = boxes, heads
        p, q = abs(link.p), abs(link.q)
        X, Y, Z = (self._logs[n] for n in (link.x, link.y, link.z))
        wrong = p * x.log_pole[h] + q * y.log_pole[g] + z.log_pole[k]
        if not self.posterior:  # the right one must be nearer than the wrong one
            wrong += p * x.log_pole[h] + q * y.log_pole[h] + z.log_pole[h]
        if abs(link.p * X[h] + link.q * Y[g] - Z[k]) > wrong:
            return True
        return self.posterior and self._residues_differ(link, boxes, heads)

    def _residues_differ(self, link: Link, boxes: tuple[Box, Box, Box], heads: tuple[int, int, int]) -> bool:
        ends = (link.x, link.y, link.z)
        a, b, c = (arb(self.first.centre.residues[n][h]) for n, h in zip(ends, heads, strict=True))
        p, q, r = (box.residue[h] for box, h in zip(boxes, heads, strict=True))
        if link.shared_difference:
            return bool(abs(a - b) > p + q or abs(a - c) > p + r)
        return bool(abs(a + b - c) > p + q + r)

    # the largest ε

    @cached_property
    def _search(self) -> tuple[fmpq, Limit]:
        """ε0 and what limits it: every condition in turn lowers ε as far as it needs."""
        design = self.first.centre.design
        index, limit = _index_below(self._first_order_limit()), Limit("poles", "")
        with ctx.workprec(PRECISION):
            for n, family in enumerate(design.families):
                has_box = self._has_box(n)
                if not has_box(_epsilon(index)):
                    index = _largest(index, has_box)
                    above = self._box(n, _epsilon(index + 1))
                    limit = Limit(above if isinstance(above, str) else "poles", str(family))
            for link in design.links:
                is_matched = partial(self._is_matched, link)
                if not is_matched(_epsilon(index)):
                    index = _largest(index, is_matched)
                    limit = Limit("matching", str(design.families[link.z]))
        return _epsilon(index), limit

    def _has_box(self, n: int) -> Callable[[fmpq], bool]:
        return lambda epsilon: not isinstance(self._box(n, epsilon), str)

    def _first_order_limit(self) -> arb:
        """An ε at which first order alone moves a pole by its own size."""
        with ctx.workprec(PRECISION):
            sizes = [
                s + b * t
                for f, b in zip(self._families, self._linear, strict=True)
                for s, t in zip(map(sum, f.S), f.T, strict=True)
            ]
            limit: arb = 2 / largest(sizes)
            return limit

    @property
    def epsilon0(self) -> fmpq:
        """The largest ε (to within 1/16) at which all conditions hold."""
        return self._search[0]

    @property
    def limit(self) -> Limit:
        """The condition that fails just above ε0, and its probe."""
        return self._search[1]

    # bounds

    def bounds(self, epsilon: fmpq) -> Bounds | Limit:
        """The bounds for errors of at most ε, or the condition that fails."""
        failed = self.limit_at(epsilon)
        if failed is not None:
            return failed
        with ctx.workprec(PRECISION):
            return self._bounds(epsilon)

    def _bounds(self, epsilon: fmpq) -> Bounds:
        first, design = self.first, self.first.centre.design
        d = design.dim
        boxes = [self._box(n, epsilon) for n in range(len(design.b) * d)]
        G = [[abs(arb(x)) for x in row] for row in design.b_inverse]
        K = [[abs(arb(x)) for x in row] for row in design.u_inverse]
        matrix, vector = [], []
        for h in range(first.centre.heads):
            rests = [box.log_pole_rest[h] for box in boxes if isinstance(box, Box)]
            half = [
                [sum((g * rests[i * d + j] for i, g in enumerate(row)), arb(0)) for j in range(d)]
                for row in G
            ]
            matrix.append(
                tuple(
                    tuple(
                        (arb(c) + sum((x * y for x, y in zip(K[j], half[i], strict=True)), arb(0))).upper()
                        for j, c in enumerate(row)
                    )
                    for i, row in enumerate(first.matrix_constants[h])
                )
            )
            rests = [box.residue_rest[h] for box in boxes[:d] if isinstance(box, Box)]
            vector.append(
                tuple(
                    (arb(c) + sum((x * y for x, y in zip(row, rests, strict=True)), arb(0))).upper()
                    for c, row in zip(first.vector_constants[h], K, strict=True)
                )
            )
        constant = arb(first.constant_constant)
        if design.bias:
            weights = [abs(arb(x)) for x in first.on_sums(design.b[0])]
            rests = [box.total_rest for box in boxes[:d] if isinstance(box, Box)]
            constant = (constant + sum((x * y for x, y in zip(weights, rests, strict=True)), arb(0))).upper()
        return Bounds(epsilon, tuple(matrix), tuple(vector), constant)


def _epsilon(index: int) -> fmpq:
    return fmpq(STEPS + index % STEPS, STEPS) * fmpq(2) ** (index // STEPS)


def _index_below(x: Any) -> int:
    """An index whose ε is about the ball x."""
    (mantissa, exponent) = x.mid().man_exp()
    return STEPS * (int(exponent) + int(mantissa).bit_length())


def _largest(index: int, is_fine: Callable[[fmpq], bool]) -> int:
    """The largest index below that is fine, by doubling the step down and bisection."""
    step, bad = 1, index
    while not is_fine(_epsilon(bad - step)):
        bad -= step
        step *= 2
    good = bad - step
    while bad - good > 1:
        middle = (good + bad) // 2
        if is_fine(_epsilon(middle)):
            good = middle
        else:
            bad = middle
    return good
