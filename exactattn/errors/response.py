"""How one family answers to errors, to first order: the explicit inverse of the confluent Cauchy Jacobian.

For nodes x_m, poles −r_h and residues c_h put Q(x) = Π_g (x + r_g), N(x) = Π_j (x − x_j), and let ℓ_m be the
Lagrange basis at the nodes. If the samples g(x_m) = Σ_h c_h/(x_m + r_h) change by dg_m, then

    dr_h = −(1/c_h) Σ_m A_hm dg_m,        dc_h = Σ_m A_hm λ_hm dg_m,
    A_hm = ℓ_m(−r_h) Q(x_m)²/Q'(−r_h)²,   λ_hm = −Σ_{j≠m} 1/(r_h + x_j) − 2 Σ_{g≠h} 1/(r_g − r_h),
    d Σ_h c_h = Σ_m Q(x_m)²/N'(x_m) dg_m.

Proof: the change of the interpolant times Q² is a polynomial of degree below 2H, so it is its own Lagrange
interpolant; its double and single poles are read off. Answers enter by dg_m = (ν − φ_m)/x_m with φ_m the
error of f at x_m and ν that of V·b; the sum over ν has a closed form, as if V·b were a sample at the node 0.
The node at infinity is the limit of every formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exactattn.errors.design import Node

__all__ = ["Response", "response"]


@dataclass(frozen=True)
class Response:
    """Derivatives at one family, as exact rationals or balls, like its poles.

    ``log_pole[h][m]``: of log r_h by the error φ_m; ``log_pole_constant[h]``: by the error ν of V·b.
    ``residue`` and ``residue_constant``: the same of c_h. ``total[m]``, ``total_constant``: of Σ_h c_h.
    ``weight[h][m]``: A_hm/x_m. ``weight_constant[h]``: the same for ν, |c_h| r_h |log_pole_constant[h]|.
    ``constant_share``: Π_h r_h² / Π_m x_m, the part of V·b in Σ_h c_h that comes from the finite nodes.
    """

    log_pole: tuple[tuple[Any, ...], ...]
    log_pole_constant: tuple[Any, ...]
    residue: tuple[tuple[Any, ...], ...]
    residue_constant: tuple[Any, ...]
    total: tuple[Any, ...]
    total_constant: Any
    weight: tuple[tuple[Any, ...], ...]
    weight_constant: tuple[Any, ...]
    constant_share: Any


def response(nodes: Sequence[Node], poles: Sequence[Any], residues: Sequence[Any]) -> Response:
    """The response of a family with 2H nodes, poles −r_h and residues c_h.

    Poles and residues are rationals (flint) or balls; poles must be distinct and residues not 0
    (ZeroDivisionError or infinite balls otherwise).

    >>> from flint import fmpq
    >>> response([Node(1), Node(2)], [fmpq(1)], [fmpq(2)]).log_pole
    ((6, -9/2),)
    """
    one = poles[0] / poles[0]
    finite = [node.ratio for node in nodes if not node.is_infinite]
    log_pole, residue, weight = [], [], []
    log_pole_constant, residue_constant, weight_constant = [], [], []
    squares = _product(one, [r * r for r in poles])
    for h, (r, c) in enumerate(zip(poles, residues, strict=True)):
        gaps = [other - r for g, other in enumerate(poles) if g != h]
        slope = _product(one, gaps) ** 2
        pull = -2 * sum((1 / gap for gap in gaps), one * 0)
        row, slopes = [], []
        for m, node in enumerate(nodes):
            others = [y.ratio for j, y in enumerate(nodes) if j != m and not y.is_infinite]
            if node.is_infinite:
                amplitude = -_product(one, [r + y for y in others]) / slope
            else:
                x = node.ratio
                amplitude = _product(one, [(r + y) / (y - x) for y in others]) / (slope * x)
                amplitude *= _product(one, [x + g for g in poles]) ** 2
            row.append(amplitude)
            slopes.append(pull - sum((1 / (r + y) for y in others), one * 0))
        log_pole.append(tuple(a / (c * r) for a in row))
        residue.append(tuple(-a * s for a, s in zip(row, slopes, strict=True)))
        weight.append(tuple(row))
        at_zero = squares * _product(one, [(r + y) / y for y in finite]) / (r * slope)
        log_pole_constant.append(-at_zero / (c * r))
        residue_constant.append(at_zero * (pull + 1 / r - sum((1 / (r + y) for y in finite), one * 0)))
        weight_constant.append(at_zero)
    share = squares / _product(one, finite)
    if len(finite) < len(nodes):
        total = tuple(-one if node.is_infinite else one * 0 for node in nodes)
        total_constant = one
    else:
        total = tuple(
            -(_product(one, [x + g for g in poles]) ** 2)
            / (x * _product(one, [x - y for j, y in enumerate(finite) if j != m]))
            for m, x in enumerate(finite)
        )
        total_constant = 1 - share
    return Response(
        tuple(log_pole),
        tuple(log_pole_constant),
        tuple(residue),
        tuple(residue_constant),
        total,
        total_constant,
        tuple(weight),
        tuple(weight_constant),
        share,
    )


def _product(one: Any, factors: Sequence[Any]) -> Any:
    result = one
    for factor in factors:
        result = result * factor
    return result
