"""One softmax row on the log-lattice: the exact numbers that counterexamples need."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from exactattn.numbers import LogLattice, common_denominator

__all__ = ["attend"]


def attend(scores: Sequence[fmpq], values: Sequence[fmpq], sink: fmpq | None = None) -> fmpq:
    """Σ_j e^{s_j} v_j / (Σ_j e^{s_j} + e^{sink}) with e^s replaced by 2^(N s), N the common denominator.

    ``sink`` is the score of an attention sink, None for a plain softmax. Two values that differ also differ
    with the exponential itself, because t = e^{1/N} is transcendental (theory, section 2).

    >>> attend([fmpq(1), fmpq(0)], [fmpq(1), fmpq(0)])
    2/3
    >>> attend([fmpq(1), fmpq(0)], [fmpq(1), fmpq(0)], sink=fmpq(0))
    1/2
    """
    exponents = [*scores, *([] if sink is None else [sink])]
    lattice = LogLattice(common_denominator(exponents))
    weights = [lattice.exp(score) for score in exponents]
    seen = zip(weights, values, strict=sink is None)
    return lattice.sum([weight * value for weight, value in seen]) / lattice.sum(weights)
