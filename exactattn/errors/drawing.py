"""Query vectors that separate the heads of a known layer, for bounds computed before any answer.

A plan from the seed alone is what a blind recovery would ask. Quiet vectors are chosen with the layer in
view, one after the other, each the best of some candidates; a recovery may do the same once it knows the
heads roughly.
"""

from __future__ import annotations

import math
from random import Random
from typing import Any

from flint import arb, fmpq

from exactattn.errors.centre import Centre, NotGeneric, centre_of_layer
from exactattn.errors.design import Design, published_nodes
from exactattn.errors.nodes import badness
from exactattn.exceptions import GenericityExhausted
from exactattn.model import Attention
from exactattn.numbers import Matrix, NumberSystem, Vector, to_matrix
from exactattn.recovery import PublishedPlan, TokenRange
from exactattn.recovery.genericity import vectors_to_replace

__all__ = ["colliding_families", "generic_plan", "log_size", "quiet_design"]

MAX_REDRAWS = 40


def generic_plan(
    layer: Attention, system: NumberSystem[Any, Any], *, seed: int = 0, tokens: TokenRange
) -> PublishedPlan:
    """The published plan for the canonical heads of a layer, with vectors redrawn until in every family poles
    are distinct, no residue vanishes, and products of poles alone label the heads.

    Raises GenericityExhausted after 40 redraws, InputError for a layer without heads.
    """
    plan = PublishedPlan.draw(len(layer.canonical().heads), layer.dim, seed, tokens)
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
    found = set()
    heads = range(centre.heads)
    for link in centre.design.links:
        x, y, z = (centre.poles[n] for n in (link.x, link.y, link.z))
        for h in heads:
            for g in heads:
                if g != h and any(_may_equal(x[h] ** link.p * y[g] ** link.q, r) for r in z):
                    found.add(link.z)
    return found


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
    heads, dim = len(layer.canonical().heads), layer.dim
    vectors: dict[str, Matrix] = {"u": (), "b": ()}
    rng = Random(f"quiet vectors {stream}")
    for name in ("u", "b") * dim:
        radius = widened * (tokens.difference if name == "u" else tokens.last)
        rows = vectors[name]
        found: list[tuple[float, Vector]] = []
        for _ in range(60 + 4 * candidates):
            x = tuple(fmpq(rng.randint(-radius, radius), tokens.denominator) for _ in range(dim))
            if to_matrix([*rows, x]).rank() <= len(rows) or any(x == y for _, y in found):
                continue
            trial = {**vectors, name: (*rows, x)}
            value = _score(heads, trial["b"], trial["u"], layer, system)
            if value < math.inf:
                found.append((value, x))
            if len(found) == candidates:
                break
        if not found:
            return None
        vectors[name] = (*rows, min(found)[1])
    return _partial(heads, vectors["b"], vectors["u"])


def _partial(heads: int, b: Matrix, u: Matrix) -> Design:
    """The published design at fewer or unequal numbers of vectors (all its families and links so far)."""
    families = len(b) * len(u) + len(b) * (len(u) - 1) + len(b) - 1
    return Design(heads, b, u, (published_nodes(heads),) * families)


def _score(heads: int, b: Matrix, u: Matrix, layer: Attention, system: NumberSystem[Any, Any]) -> float:
    """The largest first-order constant of the families, infinite if one is not generic."""
    if not b or not u:
        return 0.0
    try:
        centre = centre_of_layer(_partial(heads, b, u), layer, system)
    except NotGeneric:
        return math.inf
    if colliding_families(centre):
        return math.inf
    return max(
        badness([log_size(r) for r in poles], [log_size(c) for c in residues], family.nodes, 1.0)
        for family, poles, residues in zip(centre.design.families, centre.poles, centre.residues, strict=True)
    )
