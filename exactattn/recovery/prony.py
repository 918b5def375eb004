"""Rational interpolation by moments and Prony's method, in any number system.

With nodes x_1 … x_N, λ_m = 1/Π_{m'≠m}(x_m − x_{m'}) and g(x) = Σ_h c_h/(x + r_h), the moments

    μ_k = Σ_m λ_m x_m^k g(x_m) = Σ_h ĉ_h (−r_h)^k,   ĉ_h = −c_h / Π_m (−r_h − x_m),   k < N,

are a fixed linear map of the samples (theory, section 3). Their minimal recurrence is Π(z + r_h); the rank of
their Hankel matrix is the number of poles.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from flint import fmpq

from exactattn.exceptions import CannotTell, InconsistentAnswers
from exactattn.numbers import Decision, NumberSystem
from exactattn.recovery.partial_fractions import PartialFractions

__all__ = ["minimal_recurrence", "moments", "prony", "residues"]


@lru_cache(maxsize=64)
def _weights(nodes: tuple[fmpq, ...]) -> tuple[tuple[fmpq, ...], ...]:
    """Row k holds λ_m x_m^k."""
    row = []
    for m, x in enumerate(nodes):
        product = fmpq(1)
        for other, y in enumerate(nodes):
            if other != m:
                product *= x - y
        row.append(1 / product)
    rows = [tuple(row)]
    for _ in nodes[1:]:
        row = [w * x for w, x in zip(row, nodes, strict=True)]
        rows.append(tuple(row))
    return tuple(rows)


def moments(nodes: Sequence[fmpq], values: Sequence[Any], system: NumberSystem[Any, Any]) -> list[Any]:
    """The moments μ_0 … μ_{N−1} of N samples.

    >>> from exactattn.numbers import LogLattice
    >>> moments([fmpq(1), fmpq(2)], [fmpq(1, 2), fmpq(1, 3)], LogLattice())   # 1/(x + 1): −1/6·(−1)^{k+1}
    [-1/6, 1/6]
    """
    return [
        system.sum([value * system.value(w) for w, value in zip(row, values, strict=True)])
        for row in _weights(tuple(nodes))
    ]


def minimal_recurrence(
    mu: Sequence[Any], max_poles: int, system: NumberSystem[Any, Any]
) -> tuple[list[Any], bool]:
    """Coefficients q_0 … q_{k−1}, 1 of the minimal recurrence Σ_j q_j μ_{i+j} = 0 of order k ≤ max_poles,
    and whether k is proved.

    k is the largest size of an invertible leading Hankel matrix; over balls "invertible" is proved and
    "singular" never is, so a k below max_poles is unproved there. Raises InconsistentAnswers if the moments
    provably need more than max_poles terms; CannotTell if they provably need more than k.
    """
    one = system.value(fmpq(1))
    for k in range(max_poles, -1, -1):
        hankel = [[mu[i + j] for j in range(k)] for i in range(k)]
        try:
            solution = system.solve(hankel, [[-mu[i + k]] for i in range(k)]) if k else []
        except ZeroDivisionError:
            continue
        coefficients = [*(row[0] for row in solution), one]
        zero = system.value(fmpq(0))
        for i in range(k, len(mu) - k):
            defect = system.sum([q * mu[i + j] for j, q in enumerate(coefficients)])
            if system.equal(defect, zero) is Decision.NO:
                if k < max_poles and not system.exact:
                    raise CannotTell(f"cannot tell the number of poles: it is above {k}")
                raise InconsistentAnswers(
                    f"the samples need more than {max_poles} poles, so the answers are not those of an "
                    f"attention layer with at most {max_poles} heads"
                )
        return coefficients, k == max_poles or system.exact
    raise AssertionError("a Hankel matrix of size 0 is invertible")


def residues(
    nodes: Sequence[fmpq],
    mu: Sequence[Any],
    recurrence: Sequence[Any],
    poles: Sequence[Any],
    system: NumberSystem[Any, Any],
) -> list[Any]:
    """The residues c_h from moments, recurrence and poles r_h.

    ĉ_h = N(−r_h)/Q'(−r_h) with N the polynomial part of Q(z) Σ_k μ_k z^{−k−1}.
    """
    k = len(poles)
    numerator = [system.sum([recurrence[i] * mu[i - 1 - j] for i in range(j + 1, k + 1)]) for j in range(k)]
    result = []
    for h, r in enumerate(poles):
        at = -r
        value = numerator[-1]
        for coefficient in reversed(numerator[:-1]):
            value = value * at + coefficient
        slope: Any = system.value(fmpq(1))
        for g, other in enumerate(poles):
            if g != h:
                slope = slope * (other - r)
        nodal: Any = system.value(fmpq(1))
        for x in nodes:
            nodal = nodal * (at - system.value(x))
        result.append(-(value / slope) * nodal)
    return result


def prony(
    nodes: Sequence[fmpq], values: Sequence[Any], max_poles: int, system: NumberSystem[Any, Any]
) -> PartialFractions:
    """Interpolation over any number system; see :func:`exactattn.recovery.interpolate`."""
    with system.context():
        mu = moments(nodes, values, system)
        recurrence, proved = minimal_recurrence(mu, max_poles, system)
        poles = [-z for z in system.simple_roots(recurrence)]
        found = residues(nodes, mu, recurrence, poles, system)
        return PartialFractions(tuple(poles), tuple(found), proved)
