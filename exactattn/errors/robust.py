"""Designs that stand more noise: V·b asked directly, better copy ratios, better query vectors.

All of it needs the poles roughly: a layer in view, or a first pass of a recovery.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exactattn.errors.centre import AnyLayer, Centre, centre_of_layer
from exactattn.errors.design import Design, Family, Node
from exactattn.errors.drawing import log_size, quiet_design
from exactattn.errors.first_order import FirstOrder
from exactattn.errors.nodes import choose_nodes
from exactattn.exceptions import GenericityExhausted, InputError
from exactattn.model import Attention
from exactattn.numbers import LogLattice, NumberSystem
from exactattn.recovery import TokenRange

__all__ = ["noise_tokens", "robust_design", "with_best_nodes"]

# Vectors tried for each vector of a quiet design, fewer for designs with many families.
CANDIDATES = 12
CANDIDATE_FAMILIES = 200
UNIT = 64


def noise_tokens(system: NumberSystem[Any, Any], dim: int) -> TokenRange:
    """Small tokens, for answers with errors: entries −1, 0, 1 on the log-lattice; over balls dyadic vectors
    of
    length about 5/4, so that scores of unit-size heads are of size 1 and poles stay near the nodes."""
    if isinstance(system, LogLattice):
        return TokenRange(1, 1)
    radius = max(4, int(UNIT * 2.2 / dim**0.5))
    return TokenRange(radius, radius, UNIT)


def with_best_nodes(
    design: Design, log_sizes: Sequence[tuple[Sequence[float], Sequence[float]]], longest: int
) -> Design:
    """The direct design with nodes chosen for poles and residues whose sizes are roughly known.

    ``log_sizes``: log r_h and log |c_h| for each family. ``longest``: the longest sequence that may be asked,
    at least 2H + 1 (InputError).
    """
    if longest < 2 * design.heads + 1:
        raise InputError(f"must be at least 2H + 1 = {2 * design.heads + 1}, not {longest}", field="longest")
    direct = design.direct()
    known = {str(f): pair for f, pair in zip(direct.families, log_sizes, strict=True)}

    def best(family: Family) -> tuple[Node, ...]:
        share = float(sum(abs(int(x.p)) for x in family.known))
        return choose_nodes(*known[str(family)], longest, share)

    return direct.with_nodes(best)


def log_sizes(centre: Centre) -> list[tuple[list[float], list[float]]]:
    """log r_h and log |c_h| of every family, as floats."""
    return [
        ([log_size(r) for r in poles], [log_size(c) for c in residues])
        for poles, residues in zip(centre.poles, centre.residues, strict=True)
    ]


def robust_design(
    layer: AnyLayer,
    system: NumberSystem[Any, Any],
    design: Design,
    *,
    seed: int = 0,
    tokens: TokenRange,
    longest: int | None = None,
) -> Design:
    """The design with the smallest first-order constant among some with direct V·b, the best nodes within
    ``longest`` tokens (default: as long as the published ones), and the vectors of ``design`` or (without
    biases) quiet ones, over balls at three scales.
    """
    length = 2 * design.heads + 1 if longest is None else longest
    candidates = [design]
    if isinstance(layer, Attention):
        ranges = [tokens] if system.exact else [_scaled(tokens, n) for n in (2, 4, 8)]
        number = max(1, min(CANDIDATES, CANDIDATE_FAMILIES // len(design.families)))
        for each in ranges:
            try:
                quiet = quiet_design(layer, system, seed=seed, tokens=each, candidates=number)
            except GenericityExhausted:
                continue
            candidates.append(quiet)
    found: list[tuple[float, int, Design]] = []
    for candidate in candidates:
        improved = with_best_nodes(candidate, log_sizes(centre_of_layer(candidate, layer, system)), length)
        centre = centre_of_layer(improved, layer, system)
        with system.context():
            found.append((log_size(FirstOrder(centre).largest), len(found), improved))
    return min(found)[2]


def _scaled(tokens: TokenRange, quarters: int) -> TokenRange:
    last, difference = (max(1, x * quarters // 4) for x in (tokens.last, tokens.difference))
    return TokenRange(last, difference, tokens.denominator)
