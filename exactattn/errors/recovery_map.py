"""The recovery map that error bounds are about: interpolate every family, label by products, assemble.

It is a function of the answers, exact or not; nothing is certified here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from flint import arb, ctx, fmpq

from exactattn.errors.centre import Centre
from exactattn.errors.design import Design, Family
from exactattn.errors.noisy import interpolated, value_at
from exactattn.exceptions import ErrorsTooLarge, InputError
from exactattn.numbers import Balls, dot
from exactattn.recovery import RecoveredHead
from exactattn.recovery.assembly import assemble_matrix, assemble_vector

__all__ = [
    "in_order",
    "interpolate_all",
    "known_value",
    "nearest_labels",
    "parameters",
    "recovered",
    "sum_of_heads",
]


def recovered(design: Design, answers: Sequence[fmpq], bits: int) -> tuple[Centre, tuple[RecoveredHead, ...]]:
    """What recovery gives for these answers, rounded to about ``bits`` bits: poles and residues of all
    families, and heads in natural units, labelled by the nearest-product rule.

    Raises ErrorsTooLarge if a family has no positive distinct poles, or two heads get one label.
    """
    centre, _ = interpolate_all(design, answers, bits)
    labelled = in_order(centre, nearest_labels(centre))
    with ctx.workprec(bits):
        return labelled, tuple(parameters(labelled, h) for h in range(centre.heads))


def interpolate_all(design: Design, answers: Sequence[fmpq], bits: int) -> tuple[Centre, fmpq]:
    """Rational poles and residues of every family, each in its own order, and a bound on the distance of
    their values from the answers (from rounding)."""
    if len(answers) != design.count:
        raise InputError(f"{len(answers)} answers to {design.count} queries; give one a query")
    poles: list[tuple[fmpq, ...]] = []
    residues: list[tuple[fmpq, ...]] = []
    residual = fmpq(0)
    total: tuple[fmpq, ...] = tuple(fmpq(0) for _ in design.u)
    for n, family in enumerate(design.families):
        if n == design.dim and not design.is_direct:
            total = sum_of_heads(design, residues)
        known = known_value(family, answers, total)
        samples = answers[family.start : family.start + len(family.nodes)]
        found = interpolated(family.nodes, known, samples, bits, str(family))
        poles.append(tuple(found[0]))
        residues.append(tuple(found[1]))
        for node, f in zip(family.nodes, samples, strict=True):
            residual = max(residual, abs(f - value_at(node, known, *found)))
    with ctx.workprec(bits):
        return Centre(design, tuple(poles), tuple(residues)), arb(residual).upper().fmpq()


def sum_of_heads(design: Design, residues: Sequence[Sequence[fmpq]]) -> tuple[fmpq, ...]:
    """V, the sum of all v_h, from the residues of the first row."""
    sums = tuple(sum(row, fmpq(0)) for row in residues[: design.dim])
    return tuple(dot(row, sums) for row in design.u_inverse)


def known_value(family: Family, answers: Sequence[fmpq], total: Sequence[fmpq]) -> fmpq:
    """V·b as the design knows it, with V = ``total`` where it is derived."""
    single = dot(family.known, tuple(answers[: len(family.known)]))
    return single + dot(family.of_sum, tuple(total))


def nearest_labels(centre: Centre) -> dict[int, list[int]]:
    """For every base family the positions of the heads of the first one, by the nearest product: for each
    head h of X the pair (g, k) of Y and Z that minimises |p log r_h + q log r_g − log r_k|."""
    logs = [[arb(r).log() for r in poles] for poles in centre.poles]
    heads = range(centre.heads)
    order: dict[int, list[int]] = {0: list(heads)}
    for link in centre.design.links:
        chosen = []
        for h in order[link.x]:
            distances = {
                (g, k): abs(link.p * logs[link.x][h] + link.q * logs[link.y][g] - logs[link.z][k])
                for g in heads
                for k in heads
            }
            chosen.append(min(distances, key=lambda pair: distances[pair].mid().fmpq())[0])
        if len(set(chosen)) < len(chosen):
            name = str(centre.design.families[link.z])
            raise ErrorsTooLarge(
                f"the answers are too far off to tell the heads apart: in the {name} two heads get one "
                "label; ask for smaller errors, or use queries that stand more noise",
                condition="matching",
                probe=name,
            )
        order[link.y] = chosen
    return order


def in_order(centre: Centre, order: Mapping[int, Sequence[int]]) -> Centre:
    """The centre with the heads of some families put in order; other families stay as they are."""

    def sorted_like(rows: Sequence[Sequence[fmpq]]) -> tuple[tuple[fmpq, ...], ...]:
        return tuple(
            tuple(row[h] for h in order[n]) if n in order else tuple(row) for n, row in enumerate(rows)
        )

    return replace(centre, poles=sorted_like(centre.poles), residues=sorted_like(centre.residues))


def parameters(centre: Centre, h: int) -> RecoveredHead:
    """W_h (natural units) and v_h of a labelled centre, at the working precision."""
    design, d = centre.design, centre.design.dim
    rows = [(fmpq(1), *b) if design.bias else b for b in design.b]
    system = Balls(ctx.prec)
    logs = [[arb(centre.poles[i * d + j][h]).log() for j in range(d)] for i in range(len(rows))]
    W = assemble_matrix(rows, design.u, logs, system)
    return RecoveredHead(W, assemble_vector(design.u, [arb(centre.residues[j][h]) for j in range(d)], system))
