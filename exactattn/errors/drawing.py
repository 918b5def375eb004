"""Query vectors that separate the heads of a known layer, for bounds computed before any answer.

A plan from the seed alone is what a blind recovery would ask. Quiet vectors are chosen with the layer in
view, one after the other, each the best of some candidates; a recovery may do the same once it knows the
heads roughly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Any

from flint import arb, fmpq

from exactattn.errors.centre import AnyLayer, Centre, NotGeneric, centre_of_layer, family_poles
from exactattn.errors.design import Design, Family, Link, published_nodes
from exactattn.errors.nodes import badness
from exactattn.exceptions import GenericityExhausted
from exactattn.model import Attention
from exactattn.model.affine import AffineAttention
from exactattn.numbers import Matrix, NumberSystem, Vector, to_matrix
from exactattn.recovery import PublishedPlan, TokenRange
from exactattn.recovery.genericity import vectors_to_replace

__all__ = ["colliding_families", "generic_plan", "log_size", "quiet_design"]

MAX_REDRAWS = 40


def generic_plan(
    layer: AnyLayer, system: NumberSystem[Any, Any], *, seed: int = 0, tokens: TokenRange
) -> PublishedPlan:
    """The published plan for the canonical heads of a layer, with vectors redrawn until in every family poles
    are distinct, no residue vanishes, and products of poles alone label the heads.

    Raises GenericityExhausted after 40 redraws, InputError for a layer without heads.
    """
    bias = isinstance(layer, AffineAttention)
    plan = PublishedPlan.draw(len(layer.canonical().heads), layer.dim, seed, tokens, bias=bias)
    for _ in range(MAX_REDRAWS):
        try:
            failing = colliding_families(centre_of_layer(Design.published(plan), layer, system))
        except NotGeneric as error:
            failing = set(error.families)
        if not failing:
            return plan
        plan = plan.redrawn(vectors_to_replace(plan, [plan.probes[n] for n in failing]))
    raise GenericityExhausted("no query vectors separate the heads; use a wider token range")


def colliding_families(centre: Centre) -> set[int]:
    """Product families in which a wrong pair of poles has (or, over balls, may have) the product of a right
    one, so that products alone do not label the heads."""
    return {
        link.z
        for link in centre.design.links
        if _collides(link, centre.poles[link.x], centre.poles[link.y], centre.poles[link.z])
    }


def _collides(link: Link, x: Sequence[Any], y: Sequence[Any], z: Sequence[Any]) -> bool:
    heads = range(len(x))
    return any(
        _may_equal(x[h] ** link.p * y[g] ** link.q, r) for h in heads for g in heads if g != h for r in z
    )


def _may_equal(x: Any, y: Any) -> bool:
    return bool(x.overlaps(y)) if isinstance(x, arb) else bool(x == y)


def log_size(x: Any) -> float:
    """log |x| of a rational or a ball, as a float."""
    return float(abs(arb(x)).mid().log())


def quiet_design(
    layer: Attention,
    system: NumberSystem[Any, Any],
    *,
    seed: int = 0,
    tokens: TokenRange,
    candidates: int = 1,
) -> Design:
    """The published design at vectors chosen one by one from the token range, each the best of
    ``candidates`` vectors (by the first-order constants of the families it completes) that keep the families
    generic and the bases independent. After five dead ends the range is widened by its own width.

    Raises GenericityExhausted after 40 dead ends.
    """
    for attempt in range(MAX_REDRAWS):
        design = _grown(layer, system, f"{seed}.{attempt}", tokens, 1 + attempt // 5, candidates)
        if design is not None:
            return design
    raise GenericityExhausted("no query vectors separate the heads; use a wider token range")


def _grown(
    layer: Attention,
    system: NumberSystem[Any, Any],
    stream: str,
    tokens: TokenRange,
    widened: int,
    candidates: int,
) -> Design | None:
    """A design grown vector by vector, differences and last tokens in turn; None at a dead end."""
    rng = Random(f"quiet vectors {stream}")
    growth = _Growth(layer, system)
    for name in ("u", "b") * layer.dim:
        radius = widened * (tokens.difference if name == "u" else tokens.last)
        found: list[tuple[float, Vector]] = []
        for _ in range(60 + 4 * candidates):
            x = tuple(fmpq(rng.randint(-radius, radius), tokens.denominator) for _ in range(layer.dim))
            if any(x == y for _, y in found):
                continue
            value = growth.badness_with(name, x)
            if value < math.inf:
                found.append((value, x))
            if len(found) == candidates:
                break
        if not found:
            return None
        growth.add(name, min(found)[1])
    return growth.design


class _Growth:
    """A published design with fewer vectors than a basis, and what was computed for its families."""

    def __init__(self, layer: Attention, system: NumberSystem[Any, Any]) -> None:
        self.layer, self.system = layer, system
        self.design = self._designed((), ())
        self._known: dict[tuple[Vector, Vector], Any] = {}

    def add(self, name: str, x: Vector) -> None:
        """One vector more."""
        self.design = self._with(name, x)

    def badness_with(self, name: str, x: Vector) -> float:
        """The largest first-order constant of the families that a vector completes, as a logarithm; infinite
        if it depends on the vectors before or a family is not generic."""
        rows = self.design.b if name == "b" else self.design.u
        if to_matrix([*rows, x]).rank() <= len(rows):
            return math.inf
        before, trial = set(map(_tokens, self.design.families)), self._with(name, x)
        fresh = {n for n, family in enumerate(trial.families) if _tokens(family) not in before}
        found = {n: self._poles(trial.families[n]) for n in fresh}
        if any(pair is None for pair in found.values()):
            return math.inf
        for link in trial.links:
            if link.z in fresh:
                ends = [self._poles(trial.families[n])[0] for n in (link.x, link.y, link.z)]
                if _collides(link, *ends):
                    return math.inf
        return max(
            (
                badness([log_size(r) for r in poles], [log_size(c) for c in residues], nodes, 1.0)
                for (poles, residues), nodes in ((found[n], trial.families[n].nodes) for n in fresh)
            ),
            default=0.0,
        )

    def _poles(self, family: Family) -> Any:
        key = _tokens(family)
        if key not in self._known:
            with self.system.context():
                self._known[key] = family_poles(self.layer, family, False, self.system)
        return self._known[key]

    def _with(self, name: str, x: Vector) -> Design:
        b, u = self.design.b, self.design.u
        return self._designed((*b, x), u) if name == "b" else self._designed(b, (*u, x))

    def _designed(self, b: Matrix, u: Matrix) -> Design:
        heads = len(self.layer.canonical().heads)
        families = len(b) * len(u) + len(b) * max(len(u) - 1, 0) + max(len(b) - 1, 0) * bool(u)
        return Design(heads, b, u, (published_nodes(heads),) * families)


def _tokens(family: Family) -> tuple[Vector, Vector]:
    return family.last, family.difference
