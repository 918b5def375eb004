"""Recovery from answers with a known error bound: enclosures of every parameter, or a named refusal.

The interpolants of the noisy answers are made the centre; the layer that gave the answers is a perturbation
of it by at most the error bound, so the boxes around the centre hold its poles and residues, and the theorem
at the centre bounds every parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, ctx, fmpq

from exactattn.errors.bounds import Bounds, Limit
from exactattn.errors.centre import Centre
from exactattn.errors.conditions import PRECISION, Conditions
from exactattn.errors.design import Design
from exactattn.errors.first_order import FirstOrder
from exactattn.errors.recovery_map import in_order, interpolate_all, parameters, sum_of_heads
from exactattn.exceptions import ErrorsTooLarge, InconsistentAnswers, InputError
from exactattn.numbers import dot
from exactattn.recovery import RecoveredHead

__all__ = ["Enclosure", "enclose"]


@dataclass(frozen=True)
class Enclosure:
    """Certified enclosures from answers with errors.

    ``heads``: balls for every entry of W_h and v_h, in one order of the heads that nothing fixes; with biases
    W_h has the query bias as its first row, and ``constant`` encloses the constant output (else None).
    ``error``: the bound that was used, the stated error plus what rounding the centre took. ``centre``: poles
    and residues of the noisy answers. ``bounds``: the radii divided by the error, in natural units.
    """

    heads: tuple[RecoveredHead, ...]
    design: Design
    centre: Centre
    error: fmpq
    bounds: Bounds
    constant: arb | None = None

    @cached_property
    def widest_radius(self) -> arb:
        """The largest radius of an entry."""
        radii = [x.rad() for head in self.heads for x in head.entries]
        widest: arb = max(radii, key=lambda r: r.fmpq())
        return widest


def enclose(design: Design, answers: Sequence[fmpq], error: fmpq, unit: arb | None = None) -> Enclosure:
    """The canonical heads behind the answers to ``design.queries()``, each within ``error`` of the truth.

    The layer must have at most ``design.heads`` canonical heads; that it has as many is proved. ``unit`` is
    the natural logarithm of exp(1) in the number system of the layer (see natural_unit): D·log 2 on the
    log-lattice, 1 (the default) for base e.

    Raises ErrorsTooLarge, with condition and probe, if the error bound leaves a parameter open;
    InconsistentAnswers if no such layer gives answers that close; InputError if the error is not positive.
    Source: theory, section 6.
    """
    if error <= 0:
        raise InputError(f"must be positive, not {error}; exact answers need no error bound", field="error")
    bits = 96 + int(1 / error).bit_length() + 32 * design.heads
    centre, residual = interpolate_all(design, answers, bits)
    total = error + residual
    labelled = _labelled(centre, total)
    bounds = _conditions(labelled).bounds(total)
    if isinstance(bounds, Limit):
        raise _refusal(bounds, error)
    with ctx.workprec(bits):
        heads = tuple(_assembled(labelled, bounds, h, unit) for h in range(design.heads))
        constant = _constant(labelled, bounds, answers[0]) if design.bias else None
    return Enclosure(heads, design, labelled, total, bounds, constant)


def _conditions(centre: Centre) -> Conditions:
    """The conditions at the centre; its long rationals are rounded to balls first."""
    with ctx.workprec(PRECISION):
        rows = [[tuple(arb(x) for x in row) for row in part] for part in (centre.poles, centre.residues)]
        return Conditions(FirstOrder(Centre(centre.design, tuple(rows[0]), tuple(rows[1]))), posterior=True)


def _labelled(centre: Centre, error: fmpq) -> Centre:
    """The centre with the heads of every base family in the order of the first one."""
    conditions = _conditions(centre)
    order: dict[int, list[int]] = {0: list(range(centre.heads))}
    for link in centre.design.links:
        partners = conditions.partners(link, error)
        if isinstance(partners, Limit):
            raise _refusal(partners, error)
        if any(not found for found in partners):
            raise InconsistentAnswers(
                f"in the {centre.design.families[link.z]} scores and residues do not add up to those of the "
                f"probes it joins, so no layer with at most {centre.heads} heads gives answers that close"
            )
        if any(len(found) > 1 for found in partners):
            raise _refusal(Limit("matching", str(centre.design.families[link.z])), error)
        order[link.y] = [next(iter(partners[h])) for h in order[link.x]]

    return in_order(centre, order)


def _refusal(limit: Limit, error: fmpq) -> ErrorsTooLarge:
    words = {
        "poles": "poles may meet, or leave the negative axis",
        "residues": "a residue may vanish",
        "matching": "the labels of two heads cannot be told apart",
    }
    size = arb(error).str(3, radius=False)
    return ErrorsTooLarge(
        f"cannot tell the parameters from answers with errors up to {size}: in the {limit.probe} "
        f"{words[limit.condition]}; ask for smaller errors, or use queries that stand more noise",
        condition=limit.condition,
        probe=limit.probe,
    )


def _assembled(centre: Centre, bounds: Bounds, h: int, unit: arb | None) -> RecoveredHead:
    head = parameters(centre, h)
    error, scale = arb(bounds.epsilon), arb(1) if unit is None else unit
    return RecoveredHead(
        tuple(
            tuple((x + arb(0, (c * error).upper())) / scale for x, c in zip(row, limits, strict=True))
            for row, limits in zip(head.W, bounds.matrix[h], strict=True)
        ),
        tuple(x + arb(0, (c * error).upper()) for x, c in zip(head.v, bounds.vector[h], strict=True)),
    )


def _constant(centre: Centre, bounds: Bounds, alone: fmpq) -> arb:
    """The constant output: the answer at b_1 less V·b_1."""
    value = alone - dot(centre.design.b[0], sum_of_heads(centre.design, centre.residues))
    return arb(value) + arb(0, (bounds.constant * arb(bounds.epsilon)).upper())
