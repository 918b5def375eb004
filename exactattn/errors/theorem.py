"""The a-priori theorem: an explicit ε0 and C with ‖parameter error‖_∞ ≤ C ε for all answer errors ≤ ε ≤ ε0.

If the conditions of :mod:`exactattn.errors.conditions` hold at a layer, then for every perturbation of size
at most ε each family is interpolated by exactly one function with H poles, the nearest-product rule labels
all poles rightly, and every parameter is off by at most ε times its first-order constant plus a stated rest.
Boxes for ε serve every smaller ε, and C(ε) does not decrease with ε, so C = C(ε0) serves all ε ≤ ε0.

One condition more makes ε0 useful to those who see the noisy answers only (*sharpness*): for all answers
within ε/2 of the truth, the enclosure from them, with ε/2 as the stated error, exists, and its largest
constant C_post is at most 6/5 of the first-order constant C1 of the true layer (rounding of the centre, about
2^-90 of ε, aside). All centres that such answers may give are bounded at once
(:mod:`exactattn.errors.nearby`).

So ε0 is the largest ε at which every run with errors of at most ε finds the parameters to within C·ε, and
every enclosure from answers with errors of at most ε/2 is at most a fifth wider than first order demands.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache, partial

from flint import arb, ctx, fmpq

from exactattn.errors.bounds import Bounds, Limit
from exactattn.errors.box import Box
from exactattn.errors.conditions import PRECISION, Conditions
from exactattn.errors.first_order import FirstOrder, largest
from exactattn.errors.grid import index_near, largest_index, size_at
from exactattn.errors.nearby import around

__all__ = ["SHARP", "ErrorTheorem"]

SHARP = fmpq(6, 5)


class ErrorTheorem:
    """The theorem at a layer; every comparison is decided in balls.

    >>> from exactattn.errors import Design, centre_of_layer
    >>> from exactattn.model import Attention, Head
    >>> from exactattn.numbers import LogLattice
    >>> from exactattn.recovery import PublishedPlan, TokenRange
    >>> design = Design.published(PublishedPlan.draw(1, 1, 0, TokenRange(1, 1)))
    >>> layer = Attention.of([Head.of([[1]], [2])])
    >>> theorem = ErrorTheorem(FirstOrder(centre_of_layer(design, layer, LogLattice())))
    >>> theorem.epsilon0, theorem.limit.condition
    (13/512, 'sharpness')
    """

    def __init__(self, first: FirstOrder) -> None:
        self.first = first
        self._conditions = Conditions(first)
        self.sharpness = lru_cache(maxsize=256)(self._sharpness)

    def limit_at(self, epsilon: fmpq) -> Limit | None:
        """The first condition that fails at ε, if any."""
        return self._conditions.failing(epsilon) or self._blurred(epsilon)

    def bounds(self, epsilon: fmpq) -> Bounds | Limit:
        """The bounds for errors of at most ε, or the condition that fails."""
        return self._blurred(epsilon) or self._conditions.bounds(epsilon)

    # sharpness

    def _sharpness(self, epsilon: fmpq) -> arb | Limit:
        """A bound of C_post/C1 for all enclosures from answers with errors of at most ε, that as the stated
        error; or the condition that may fail there."""
        with ctx.workprec(PRECISION):
            centres = self._centres(epsilon)
            bounds = centres.bounds(epsilon) if isinstance(centres, Conditions) else centres
            return bounds if isinstance(bounds, Limit) else bounds.largest / arb(self.first.largest)

    def _centres(self, epsilon: fmpq) -> Conditions | Limit:
        """The conditions at all centres that answers with errors of at most ε may give."""
        at, families = self._conditions, []
        for n, family in enumerate(at.families):
            box, beta = at.box(n, epsilon), at.beta(n, epsilon)
            if isinstance(box, str) or isinstance(beta, str):
                return Limit(str(box), str(self.first.centre.design.families[n]))
            found = around(family, box, arb(epsilon), beta)
            if isinstance(found, str):
                return Limit(found, str(self.first.centre.design.families[n]))
            families.append(found)
        return Conditions(self.first, posterior=True, families=families)

    def _blurred(self, epsilon: fmpq) -> Limit | None:
        """The condition of sharpness, if it fails, and where."""
        found = self.sharpness(epsilon / 2)
        if isinstance(found, Limit):
            return Limit("sharpness", found.probe)
        with ctx.workprec(PRECISION):
            return None if found <= arb(SHARP) else Limit("sharpness", self._widest(epsilon / 2))

    def _widest(self, epsilon: fmpq) -> str:
        """The base family whose box leaves most beyond first order, by its share."""
        design, at = self.first.centre.design, self._conditions
        shares = []
        for n, family in enumerate(at.families[: len(design.b) * design.dim]):
            box = at.box(n, epsilon)
            if isinstance(box, Box):
                rests = zip(box.log_pole_rest + box.residue_rest, family.S + family.S_residue, strict=True)
                shares.append((largest([rest / sum(row, arb(0)) for rest, row in rests]).mid().fmpq(), n))
        return str(design.families[max(shares)[1]])

    # the largest ε

    @cached_property
    def _search(self) -> tuple[fmpq, Limit]:
        """ε0 and what limits it: every condition in turn lowers ε as far as it needs."""
        at, design = self._conditions, self.first.centre.design
        index, limit = index_near(at.first_order_limit()), Limit("poles", "")
        with ctx.workprec(PRECISION):
            for n, family in enumerate(design.families):
                has_box = self._has_box(n)
                if not has_box(size_at(index)):
                    index = largest_index(index, has_box)
                    above = at.box(n, size_at(index + 1))
                    limit = Limit(above if isinstance(above, str) else "poles", str(family))
            for link in design.links:
                is_matched = partial(at.is_matched, link)
                if not is_matched(size_at(index)):
                    index = largest_index(index, is_matched)
                    limit = Limit("matching", str(design.families[link.z]))
        if self._blurred(size_at(index)) is not None:
            index = largest_index(index, lambda epsilon: self._blurred(epsilon) is None)
            limit = self._blurred(size_at(index + 1)) or limit
        return size_at(index), limit

    def _has_box(self, n: int) -> Callable[[fmpq], bool]:
        return lambda epsilon: not isinstance(self._conditions.box(n, epsilon), str)

    @property
    def epsilon0(self) -> fmpq:
        """The largest ε (to within 1/16) at which all conditions hold."""
        return self._search[0]

    @property
    def limit(self) -> Limit:
        """The condition that fails just above ε0, and its probe."""
        return self._search[1]
