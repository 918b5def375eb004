"""Certificates of enclosures: runs over balls, and recoveries from answers with errors.

A certificate holds queries, answers with one bound on their errors, poles and residues of every probe with
the bounds that the checker verifies, and the enclosures that follow. The words of the sentences belong to
the checker, which rebuilds them from the content; the proof is in the documentation of
:mod:`exactattn.checker.enclosure` (theory, section 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq

from exactattn.certificate.content import accepted, made_by, published_schema, sealed
from exactattn.checker.boxes import families, image, response, sum_bound
from exactattn.checker.enclosure_content import Boxes, Layout, beta, needed_constant_radius, needed_radii
from exactattn.checker.enclosure_text import enclosure_texts
from exactattn.errors import AnyLayer, Enclosure, enclose
from exactattn.errors.design import Design
from exactattn.exceptions import CertificateError, ErrorsTooLarge
from exactattn.model.affine import AffineAttention
from exactattn.numbers import Balls, LogLattice, rational_text
from exactattn.recovery import PublishedPlan, Recovery

__all__ = ["ball_certificate", "enclosure_certificate", "enclosure_schema"]

# Bounds of poles start a little above first order and grow until they are mapped into themselves.
SLACK = Fraction(33, 32)
MAX_STEPS = 60


def ball_certificate(result: Recovery, model: AnyLayer | None = None) -> dict[str, Any]:
    """The certificate of a recovery over balls by the published method; with ``model``, that the answers are
    its values is part of the statement.

    Raises CertificateError if the run was not over balls or not published, found fewer heads than its bound,
    or if its answers are not precise enough to prove the enclosures.
    """
    if not isinstance(result.system, Balls) or not isinstance(result.plan, PublishedPlan):
        raise CertificateError("enclosure certificates are for runs over balls by the published method")
    if len(result.heads) < result.plan.heads:
        raise CertificateError(
            f"{len(result.heads)} heads were found, and that there are no more of at most "
            f"{result.plan.heads} cannot be proved from enclosures; recover again with their number as "
            "bound, or on the lattice"
        )
    radius = max(x.rad().fmpq() for x in result.answers)
    bits = _bits(radius) + 8
    answers = [_rounded(x.mid(), bits) for x in result.answers]
    error = max(
        abs(a - x.mid().fmpq()) + x.rad().fmpq() for a, x in zip(answers, result.answers, strict=True)
    )
    error = _short(error)
    try:
        found = enclose(Design.published(result.plan), answers, error)
    except ErrorsTooLarge as reason:
        raise CertificateError(f"the answers do not prove the enclosures: {reason}") from None
    return enclosure_certificate(found, answers, error, model)


def enclosure_certificate(
    found: Enclosure,
    answers: Sequence[fmpq],
    error: fmpq,
    model: AnyLayer | None = None,
    system: LogLattice | None = None,
) -> dict[str, Any]:
    """The certificate of enclosures from answers within ``error`` of the truth: in base e, or in the units of
    ``system``.

    The checker has accepted it before it is returned. Raises CertificateError if it does not.
    """
    content = _content(found, answers, error, model, system)
    return accepted(sealed(content, enclosure_texts(content)))


def enclosure_schema() -> dict[str, Any]:
    """The published JSON Schema (2020-12) of enclosure certificates, version 1.

    >>> enclosure_schema()["title"]
    'exactattn enclosure certificate, version 1'
    """
    return published_schema("enclosure.v1")


def _content(
    found: Enclosure,
    answers: Sequence[fmpq],
    error: fmpq,
    model: AnyLayer | None,
    system: LogLattice | None,
) -> dict[str, Any]:
    design = found.design
    total = _short(found.error * fmpq(1 << 20, (1 << 20) - 1))  # room for the checker's rounding
    layout = _layout(design, system)
    boxes, totals = _boxes(layout, found, total)
    heads, radii = [], []
    widest = found.widest_radius.fmpq()
    for h, head in enumerate(found.heads):
        bits = _bits(min(x.rad().fmpq() for x in head.entries) or widest) + 32
        W = tuple(tuple(_fraction(_rounded(x.mid(), bits)) for x in row) for row in head.W)
        v = tuple(_fraction(_rounded(x.mid(), bits)) for x in head.v)
        heads.append((W, v))
        radii.append(needed_radii(layout, boxes, h, (W, v), bits + 32))
    constant, constant_radius = None, None
    if found.constant is not None:
        bits = _bits(found.constant.rad().fmpq()) + 32
        constant = _fraction(_rounded(found.constant.mid(), bits))
        needed = needed_constant_radius(
            layout, boxes, constant, _fraction(answers[0]), _fraction(error), totals
        )
        constant_radius = _up_short(needed)
    return {
        "format": "exactattn-certificate",
        "version": 1,
        "kind": "enclosure",
        "base": "e" if system is None else "2",
        "denominator": 1 if system is None else system.denominator,
        "bias": design.bias,
        "heads_bound": design.heads,
        "dim": design.dim,
        "direct": design.is_direct,
        "b": _rows(design.b),
        "u": _rows(design.u),
        "b_inverse": _rows(design.b_inverse),
        "u_inverse": _rows(design.u_inverse),
        "nodes": [[[node.copies, node.lasts] for node in nodes] for nodes in design.nodes_of],
        "answers": _texts(answers),
        "error": rational_text(error),
        "error_with_rounding": rational_text(total),
        "families": [
            {
                "poles": _texts(box.r),
                "residues": _texts(box.c),
                "pole_bounds": _texts(box.X),
                "residue_bounds": _texts(box.Y),
            }
            for box in boxes
        ],
        "heads": [{"W": _rows(W), "v": _texts(v)} for W, v in heads],
        "radii": [
            {"W": [_texts(map(_up_short, row)) for row in W], "v": _texts(map(_up_short, v))}
            for W, v in radii
        ],
        "constant": None if constant is None else _text(constant),
        "constant_radius": None if constant_radius is None else _text(constant_radius),
        "queries": design.count,
        "longest": design.longest,
        "model": None if model is None else _model(model),
        "made_by": made_by(),
    }


def _model(model: AnyLayer) -> dict[str, Any]:
    content: dict[str, Any] = {"heads": [{"W": _rows(h.W), "v": _texts(h.v)} for h in model.heads]}
    if isinstance(model, AffineAttention):
        content["constant"] = _text(model.constant)
    return content


def _layout(design: Design, system: LogLattice | None) -> Layout:
    b, u, B, U = (
        [tuple(_fraction(x) for x in row) for row in rows]
        for rows in (design.b, design.u, design.b_inverse, design.u_inverse)
    )
    nodes = [[(node.copies, node.lasts) for node in own] for own in design.nodes_of]
    own = families(b, u, design.is_direct, design.bias, nodes)
    D = None if system is None else system.denominator
    return Layout(design.heads, design.is_direct, design.bias, D, b, u, B, U, own)


def _boxes(layout: Layout, found: Enclosure, total: fmpq) -> tuple[list[Boxes], list[Fraction]]:
    """Poles and residues of every family, with bounds that the checker's own arithmetic accepts, and what it
    finds for the sums of residues in the first row."""
    error = _fraction(total)
    totals: list[Fraction] = []
    boxes = []
    for n, family in enumerate(layout.families):
        r = [_fraction(x) for x in found.centre.poles[n]]
        c = [_fraction(x) for x in found.centre.residues[n]]
        own = response(family.nodes, r, c)
        share = beta(layout, family, totals, error)
        X = [
            _up_short(error * (sum(row) + share * nu) * SLACK)
            for row, nu in zip(own.log_pole, own.log_pole_nu, strict=True)
        ]
        for _ in range(MAX_STEPS):
            mapped = image(own, X, error, share)
            if mapped is None or all(x <= y for x, y in zip(mapped[0], X, strict=True)):
                break
            X = [_up_short(x * SLACK) for x in mapped[0]]
        if mapped is None:
            raise CertificateError(f"{family.name}: the error is too large for the checker's bounds")
        if n < len(layout.u):
            totals.append(sum_bound(own, X, error))
        boxes.append(Boxes(r, c, X, [_up_short(y) for y in mapped[1]]))
    return boxes, totals


def _up_short(x: Fraction) -> Fraction:
    """The least number not below x ≥ 0 with 32 significant bits."""
    return _fraction(_short(fmpq(x.numerator, x.denominator)))


def _short(x: fmpq) -> fmpq:
    """The same for a flint rational."""
    with ctx.workprec(32):
        return arb(x).upper().fmpq()


def _bits(size: fmpq) -> int:
    """Bits after the point of the leading bit of a positive number; 64 for larger ones."""
    return max(64, int(size.q).bit_length() - int(size.p).bit_length()) if size else 64


def _rounded(x: Any, bits: int) -> fmpq:
    """The multiple of 2^-bits next to the midpoint of a ball."""
    exact = x.fmpq() * fmpq(2) ** (bits + 1)
    return fmpq((exact.p // exact.q + 1) >> 1) / fmpq(2) ** bits


def _fraction(x: fmpq) -> Fraction:
    return Fraction(int(x.p), int(x.q))


def _text(x: Any) -> str:
    return rational_text(x if isinstance(x, fmpq) else fmpq(x.numerator, x.denominator))


def _texts(xs: Any) -> list[str]:
    return [_text(x) for x in xs]


def _rows(rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    return [_texts(row) for row in rows]
