"""Conditions under which answers with errors determine a layer: *poles*, *residues* and *matching*.

Every family must have a box that the finite identity maps into itself (*poles*), in which no residue vanishes
(*residues*), and for every link X, Y → Z, all heads h, g ≠ h and k, in which wrong labels are impossible
(*matching*): with e the bounds on log r, before any answer

    |p log r^X_h + q log r^Y_g − log r^Z_k| > 2|p| e^X_h + |q| e^Y_h + e^Z_h + |q| e^Y_g + e^Z_k,

so that the nearest product is the right one. At a centre that noisy answers gave, the truth is the
perturbation, and it is enough that the poles h, g and k cannot be those of one head, by their scores (the
right-hand side is then |p| e^X_h + |q| e^Y_g + e^Z_k) or by their residues.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from flint import arb, ctx, fmpq

from exactattn.errors.bounds import Bounds, Limit, assembled_bounds
from exactattn.errors.box import Box, FamilyBounds
from exactattn.errors.design import Link
from exactattn.errors.first_order import FirstOrder, largest, one_norm

__all__ = ["PRECISION", "Conditions"]

PRECISION = 192


class Conditions:
    """The conditions at a centre: a layer, or poles and residues from noisy answers (``posterior``).

    ``families``: numbers of other centres, near that of ``first``, whose constants bounds are measured from;
    those of the centre itself if left out. Every comparison is decided in balls.
    """

    def __init__(
        self,
        first: FirstOrder,
        *,
        posterior: bool = False,
        families: Sequence[FamilyBounds] | None = None,
    ) -> None:
        self.first, self.posterior = first, posterior
        with ctx.workprec(PRECISION):
            c = first.centre
            self.families = families or [
                FamilyBounds(f.nodes, poles, residues, own)
                for f, poles, residues, own in zip(
                    c.design.families, c.poles, c.residues, first.responses, strict=True
                )
            ]
            self._linear = [arb(one_norm(first.constant(f))).upper() for f in c.design.families]
            self._sum_weights = [[abs(arb(x)) for x in first.on_sums(f.of_sum)] for f in c.design.families]
        self.box = lru_cache(maxsize=4096)(self._new_box)

    def _new_box(self, n: int, epsilon: fmpq) -> Box | str:
        beta = self.beta(n, epsilon)
        return beta if isinstance(beta, str) else self.families[n].box(arb(epsilon), beta, self._linear[n])

    def beta(self, n: int, epsilon: fmpq) -> arb | str:
        """A bound of |ν|/ε in one family, or the condition that fails in the first row."""
        beta = self._linear[n]
        if self.first.centre.design.families[n].needs_sum:
            for place, weight in enumerate(self._sum_weights[n]):
                box = self.box(place, epsilon)
                if isinstance(box, str):
                    return box
                beta = beta + weight * box.total_rest
        return beta.upper()

    def failing(self, epsilon: fmpq) -> Limit | None:
        """The first of the three conditions that fails at ε, if any."""
        with ctx.workprec(PRECISION):
            for n in range(len(self.families)):
                if isinstance(box := self.box(n, epsilon), str):
                    return Limit(box, str(self.first.centre.design.families[n]))
            for link in self.first.centre.design.links:
                if not self.is_matched(link, epsilon):
                    return Limit("matching", str(self.first.centre.design.families[link.z]))
        return None

    def is_matched(self, link: Link, epsilon: fmpq) -> bool:
        """Whether no wrong label is possible in a link whose families have boxes."""
        boxes = [self.box(n, epsilon) for n in (link.x, link.y, link.z)]
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
                box = self.box(n, epsilon)
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
        X, Y, Z = (self.families[n].logs for n in (link.x, link.y, link.z))
        wrong = p * x.log_pole[h] + q * y.log_pole[g] + z.log_pole[k]
        if not self.posterior:  # the right one must be nearer than the wrong one
            wrong += p * x.log_pole[h] + q * y.log_pole[h] + z.log_pole[h]
        if abs(link.p * X[h] + link.q * Y[g] - Z[k]) > wrong:
            return True
        return self.posterior and self._residues_differ(link, boxes, heads)

    def _residues_differ(self, link: Link, boxes: tuple[Box, Box, Box], heads: tuple[int, int, int]) -> bool:
        ends = (link.x, link.y, link.z)
        a, b, c = (self.families[n].residues[h] for n, h in zip(ends, heads, strict=True))
        p, q, r = (box.residue[h] for box, h in zip(boxes, heads, strict=True))
        if link.shared_difference:
            return bool(abs(a - b) > p + q or abs(a - c) > p + r)
        return bool(abs(a + b - c) > p + q + r)

    def bounds(self, epsilon: fmpq) -> Bounds | Limit:
        """The bounds for errors of at most ε, or the condition that fails."""
        failed = self.failing(epsilon)
        if failed is not None:
            return failed
        with ctx.workprec(PRECISION):
            design = self.first.centre.design
            boxes = [self.box(n, epsilon) for n in range(len(design.b) * design.dim)]
            return assembled_bounds(self.first, [box for box in boxes if isinstance(box, Box)], epsilon)

    def first_order_limit(self) -> arb:
        """An ε at which first order alone moves a pole by its own size."""
        with ctx.workprec(PRECISION):
            sizes = [
                s + b * t
                for f, b in zip(self.families, self._linear, strict=True)
                for s, t in zip(map(sum, f.S), f.T, strict=True)
            ]
            limit: arb = 2 / largest(sizes)
            return limit
