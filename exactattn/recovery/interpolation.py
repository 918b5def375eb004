"""Rational interpolation: samples in, poles and residues out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exactattn.exceptions import InputError
from exactattn.numbers import LogLattice, NumberSystem, rational
from exactattn.recovery.partial_fractions import PartialFractions
from exactattn.recovery.prony import prony
from exactattn.recovery.rational import partial_fractions_over_q

__all__ = ["interpolate"]


def interpolate(
    nodes: Sequence[Any],
    values: Sequence[Any],
    max_poles: int,
    system: NumberSystem[Any, Any] | None = None,
) -> PartialFractions:
    """The function Σ_h c_h/(x + r_h) with at most ``max_poles`` simple poles through all samples.

    ``nodes``: N ≥ 2·max_poles distinct rationals, none of them a pole. ``values``: the samples; exact
    rationals without a ``system`` (or with the log-lattice), balls with ``Balls``. Exact results are
    verified against every sample; the number of poles is then decided. Over balls the enclosures hold for
    every function in the given balls that has exactly the found number of poles.

    Raises InconsistentAnswers if provably no such function exists, CannotTell if balls are too wide,
    InputError on bad nodes. Source: theory, section 3.

    >>> g = interpolate([1, 2, 3, 4], ["5/6", "7/12", "9/20", "11/30"], max_poles=2)
    >>> sorted(zip(g.poles, g.residues))
    [(1, 1), (2, 1)]
    """
    chosen = LogLattice() if system is None else system
    exact_nodes = [rational(x) for x in nodes]
    if len(values) != len(exact_nodes):
        raise InputError(f"{len(exact_nodes)} nodes but {len(values)} values; give one value a node")
    if isinstance(chosen, LogLattice):
        return partial_fractions_over_q(exact_nodes, [rational(v) for v in values], max_poles)
    if len(set(exact_nodes)) < len(exact_nodes):
        raise InputError("two nodes are equal; nodes must be distinct")
    if len(exact_nodes) < 2 * max_poles:
        raise InputError(f"{len(exact_nodes)} samples cannot decide {max_poles} poles; give {2 * max_poles}")
    return prony(exact_nodes, values, max_poles, chosen)
