"""Interpolation of answers with errors: the function with H poles through them, as it is.

The answers are taken as exact rationals. Their interpolant is that of no layer, but near the one of the layer
that made them; how near is for the boxes to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import acb, arb, arb_mat, ctx, fmpq, fmpq_poly

from exactattn.errors.design import Node
from exactattn.exceptions import CannotTell, ErrorsTooLarge, InconsistentAnswers
from exactattn.numbers import Balls

__all__ = ["interpolated", "rough_poles", "value_at"]

MAX_PRECISION = 1 << 14


def value_at(node: Node, known: Any, poles: Sequence[Any], residues: Sequence[Any]) -> Any:
    """The answer f = V·b − x Σ_h c_h/(x + r_h) at a node, with V·b = ``known``.

    >>> value_at(Node(1), fmpq(3), [fmpq(1)], [fmpq(2)]), value_at(Node(1, 0), fmpq(3), [fmpq(1)], [fmpq(2)])
    (2, 1)
    """
    if node.is_infinite:
        return known - sum(residues[1:], residues[0])
    x = node.ratio
    terms = [c * x / (x + r) for r, c in zip(poles, residues, strict=True)]
    return known - sum(terms[1:], terms[0])


def _coefficients(nodes: Sequence[Node], known: fmpq, answers: Sequence[fmpq]) -> tuple[list[arb], list[arb]]:
    """P (H coefficients) and Q (H + 1, the last one 1) of the interpolant P/Q of g = (V·b − f)/x."""
    heads = len(nodes) // 2
    rows: list[list[arb]] = []
    right: list[list[arb]] = []
    for node, f in zip(nodes, answers, strict=True):
        if node.is_infinite:
            rows.append([arb(0)] * (heads - 1) + [arb(1)] + [arb(0)] * heads)
            right.append([arb(known - f)])
            continue
        x, g = node.ratio, (known - f) / node.ratio
        powers = [x**i for i in range(heads + 1)]
        rows.append([arb(p) for p in powers[:heads]] + [arb(-g * p) for p in powers[:heads]])
        right.append([arb(g * powers[heads])])
    solution = [row[0] for row in arb_mat(rows).solve(arb_mat(right)).tolist()]
    return solution[:heads], [*solution[heads:], arb(1)]


def interpolated(
    nodes: Sequence[Node], known: fmpq, answers: Sequence[fmpq], precision: int, name: str
) -> tuple[list[fmpq], list[fmpq]]:
    """Rational poles r_h and residues c_h, to about ``precision`` bits, of the interpolant with as many poles
    as half the nodes.

    Raises ErrorsTooLarge if it has poles that are not positive and distinct, or is not unique.
    """
    bits = precision
    while True:
        try:
            with ctx.workprec(bits):
                numerator, denominator = _coefficients(nodes, known, answers)
                poles = [-z for z in Balls(bits).simple_roots(denominator)]
                residues = [_residue(numerator, h, poles) for h in range(len(poles))]
            least = arb(2) ** (-precision // 2)
            if all(x.is_finite() and x.rad() <= abs(x.mid()) * least for x in (*poles, *residues)):
                break
        except (CannotTell, ZeroDivisionError):
            pass
        except InconsistentAnswers:
            raise _too_large(name, "some poles are not real") from None
        bits *= 2
        if bits > MAX_PRECISION:
            raise _too_large(name, "poles cannot be separated, or a residue may vanish")
    if any(not r > 0 for r in poles):
        raise _too_large(name, "a pole is not on the negative axis")
    return [_rounded(x, precision) for x in poles], [_rounded(x, precision) for x in residues]


def _too_large(name: str, what: str) -> ErrorsTooLarge:
    return ErrorsTooLarge(
        f"the answers are too far off to tell the heads apart: in the {name} {what}; ask for smaller errors, "
        "or use queries that stand more noise",
        condition="poles",
        probe=name,
    )


def _residue(numerator: Sequence[arb], h: int, poles: Sequence[arb]) -> arb:
    value = arb(0)
    for coefficient in reversed(numerator):
        value = value * -poles[h] + coefficient
    for g, r in enumerate(poles):
        if g != h:
            value /= r - poles[h]
    return value


def _rounded(x: arb, bits: int) -> fmpq:
    """The midpoint, rounded to about so many bits."""
    with ctx.workprec(bits):
        return (+x.mid()).mid().fmpq()


def rough_poles(
    nodes: Sequence[Node], known: fmpq, answers: Sequence[fmpq]
) -> tuple[list[float], list[float]]:
    """Logarithms of the sizes of poles and residues of the interpolant, real or not: rough numbers to choose
    better nodes by. Raises ErrorsTooLarge if there is no interpolant."""
    try:
        with ctx.workprec(1024):
            numerator, denominator = _coefficients(nodes, known, answers)
    except ZeroDivisionError:
        raise _too_large("first pass", "there is no interpolant") from None
    polynomial = fmpq_poly([x.mid().fmpq() for x in denominator]).numer()
    found: Any = polynomial.complex_roots()
    roots = [root for root, multiplicity in found for _ in range(multiplicity)]
    logs, sizes = [], []
    for h, z in enumerate(roots):
        value = acb(0)
        for coefficient in reversed(numerator):
            value = value * z + coefficient
        for g, other in enumerate(roots):
            if g != h:
                value /= z - other
        logs.append(_log(z))
        sizes.append(_log(value))
    return logs, sizes


def _log(z: acb) -> float:
    size = abs(z).mid()
    return float(size.log()) if size > 0 and size.is_finite() else 0.0
