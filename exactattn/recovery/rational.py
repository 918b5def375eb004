"""Rational interpolation over Q: samples in, poles and residues out, with the number of poles decided.

A word-sized prime shows the poles and residues modulo the prime (:mod:`.modular_image`). Numbers of small
height, and powers of two of any height, follow from there (:mod:`.reconstruction`); others are lifted
(:mod:`.lifting`). Nothing is returned that was not checked exactly against every sample, so no result rests
on a lucky prime. What stays open after a few primes is decided by elimination over Q (:mod:`.elimination`).
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq, fmpz

from exactattn.exceptions import InputError
from exactattn.recovery.elimination import eliminate
from exactattn.recovery.fractions import takes_values
from exactattn.recovery.lifting import Approximation, lifted
from exactattn.recovery.modular_image import PRIMES, ModularImage, modular_image
from exactattn.recovery.nodes import Nodes, prepared_nodes
from exactattn.recovery.partial_fractions import PartialFractions
from exactattn.recovery.reconstruction import power_of_two, rational_from_residue

__all__ = ["partial_fractions_over_q"]

# Up to this size elimination is faster, as measured by tests/benchmarks/interpolation_table.py.
ELIMINATION_POLES = 5
ELIMINATION_BITS = 256
MARGIN_BITS = 128


def partial_fractions_over_q(
    nodes: Sequence[fmpq], values: Sequence[fmpq], max_poles: int
) -> PartialFractions:
    """The function Σ_h c_h/(x + r_h) with at most ``max_poles`` simple rational poles that takes the values.

    ``nodes``: N ≥ 2·max_poles distinct rationals. ``values``: the N exact samples. The result has its poles
    in increasing order of r_h, none of them at a node; two such functions that agree at 2·max_poles nodes are
    equal, so it is unique and its rank is decided. It was compared exactly with every sample.

    Raises InputError for repeated or too few nodes or another number of values, and InconsistentAnswers,
    with the reason, if there is no such function. Source: theory, section 3.

    >>> g = partial_fractions_over_q([fmpq(1), fmpq(2)], [fmpq(3, 8), fmpq(1, 3)], 1)
    >>> g.poles, g.residues
    ((7,), (3,))
    """
    if len(nodes) != len(values):
        raise InputError(f"{len(nodes)} nodes but {len(values)} values; give one value for each node")
    if max_poles < 0:
        raise InputError(f"the number of poles must be at least 0, not {max_poles}", field="max_poles")
    if len(nodes) < 2 * max_poles:
        raise InputError(
            f"{len(nodes)} samples do not determine {max_poles} poles; give at least {2 * max_poles}"
        )
    prepared = prepared_nodes(nodes)
    if max_poles > ELIMINATION_POLES or max([y.height_bits() for y in values], default=0) > ELIMINATION_BITS:
        for prime in PRIMES:
            image = modular_image(prepared, values, max_poles, prime)
            found = None if image is None else _from_image(prepared, values, image)
            if found is not None:
                return found
    return eliminate(prepared, values, max_poles)


def _from_image(nodes: Nodes, values: Sequence[fmpq], image: ModularImage) -> PartialFractions | None:
    """The form with this image, or None if it is not found up to a reasonable height."""
    unknown: list[fmpq | None] = [None] * len(image.poles)
    first = Approximation.of(image)
    found = _reconstructed(nodes, values, first, unknown)
    if found is not None:
        return found
    # Poles and residues are hardly ever longer than the values; the rare others are left to elimination.
    bits = 2 * max(y.height_bits() for y in values) + MARGIN_BITS
    known = _powers_of_two(nodes, image)
    for approximation in lifted(nodes, values, image, known, bits):
        found = _reconstructed(nodes, values, approximation, known)
        if found is not None:
            return found
    return None


def _powers_of_two(nodes: Nodes, image: ModularImage) -> list[fmpq | None]:
    """For every pole the power of two with this image, if there is one.

    Asked before short fractions: about every other residue is that of one.
    """
    unscale = pow(nodes.scale, -1, image.prime)
    return [power_of_two(pole * unscale % image.prime, image.prime) for pole in image.poles]


def _reconstructed(
    nodes: Nodes, values: Sequence[fmpq], approximation: Approximation, known: Sequence[fmpq | None]
) -> PartialFractions | None:
    """The form whose numbers are the known poles and otherwise the short fractions with the given residues,
    if all of these exist and it takes the values."""
    modulus = approximation.modulus
    unscale = pow(fmpz(nodes.scale), -1, modulus)
    pairs = []
    for r, c, exact in zip(approximation.poles, approximation.residues, known, strict=True):
        residue = rational_from_residue(c * unscale % modulus, modulus)
        pole = exact if exact is not None else rational_from_residue(r * unscale % modulus, modulus)
        if residue is None or pole is None:
            return None
        pairs.append((pole, residue))
    pairs.sort()
    poles, residues = tuple(r for r, _ in pairs), tuple(c for _, c in pairs)
    return PartialFractions(poles, residues) if takes_values(nodes, values, poles, residues) else None
