"""All roots of many polynomials over a field with smooth p − 1, as powers of the generator.

Graeffe steps take the roots down the chain of subgroups to the smallest one, whose elements are all tried. On
the way back each root x of a step with factor f has f candidates; those at which the earlier polynomial
vanishes are its roots. Their exponents are known throughout, so roots and discrete logarithms are found
together, and a full set of distinct roots is proved by evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from exactattn.prime.arithmetic import Array, minus, plus, product, reduce, times
from exactattn.prime.field import PrimeField
from exactattn.prime.graeffe import of_root_powers

__all__ = ["root_exponents"]

Flags = NDArray[np.bool_]


def root_exponents(polynomials: Array, field: PrimeField) -> tuple[Array, Array, Flags]:
    """Exponents e and values g^e of the roots (K, P each) of monic polynomials (K+1, P), and which
    polynomials do not have K distinct non-zero roots; their columns are 0.

    >>> field = PrimeField()
    >>> exponents, roots, bad = root_exponents(np.array([[6], [2013265916], [1]], dtype=np.uint64), field)
    >>> sorted(roots[:, 0].tolist()), bad.tolist()
    ([2, 3], [False])
    """
    degree, count = len(polynomials) - 1, polynomials.shape[1]
    if degree == 0:
        empty = np.zeros((0, count), dtype=np.uint64)
        return empty, empty, np.zeros(count, dtype=np.bool_)
    tower = [polynomials]
    for factor in field.steps:
        tower.append(of_root_powers(tower[-1], factor, field.p))
    state = _Roots(degree, count, field)
    state.begin(tower.pop())
    for factor in reversed(field.steps):
        state.step(tower.pop(), factor)
    bad = state.found != degree
    state.exponents[:, bad] = state.values[:, bad] = 0
    return state.exponents, state.values, bad


class _Roots:
    """Distinct roots found so far: the first ``found`` rows of each column; further rows repeat the first."""

    def __init__(self, degree: int, count: int, field: PrimeField) -> None:
        self.degree = degree
        self.field = field
        self.exponents = np.zeros((degree, count), dtype=np.uint64)
        self.values = np.ones((degree, count), dtype=np.uint64)
        self.found = np.zeros(count, dtype=np.int64)
        self.size = field.top  # the order of the present subgroup

    def begin(self, polynomials: Array) -> None:
        """Tries all elements of the smallest subgroup."""
        table = self.field.unity_matrix(self.size, self.degree + 1)
        zero = product(table, polynomials, self.field.p) == 0
        chosen = np.arange(self.size, dtype=np.uint64)
        everything = np.arange(polynomials.shape[1])
        self._compress(zero, np.broadcast_to(chosen[:, None], zero.shape), everything)
        self.values = self.field.roots_of_unity(self.size)[self.exponents.astype(np.int64)]

    def step(self, polynomials: Array, factor: int) -> None:
        """The roots of the polynomials from those, to the power ``factor``, of the step before."""
        field, size = self.field, self.size
        self.size = size * factor
        # g^(n/(size f)) to the power e, e < size, is one of the roots of the candidate's power
        first = field.exp(self.exponents * np.uint64(field.order // self.size))
        complete = self.found == self.degree
        rest = np.flatnonzero(~complete & (self.found > 0))
        most = complete.any()
        if len(rest):
            branched = self._branched(polynomials[:, rest], rest, first[:, rest], factor, size)
        if most:
            choice = np.zeros(self.exponents.shape, dtype=np.uint64)
            sure = np.zeros(self.exponents.shape, dtype=np.bool_)
            for c, zero in enumerate(self._zeros(polynomials, self.values, first, factor)):
                sure |= zero
                choice = np.maximum(choice, zero * np.uint64(c))
            self.values = times(first, field.roots_of_unity(factor)[choice.astype(np.int64)], field.p)
            self.exponents += choice * np.uint64(size)
            self.found[complete & ~sure.all(axis=0)] = 0  # no root in the field
        if len(rest):
            self._compress(*branched, rest)
            values = self.field.exp(self.exponents[:, rest] * np.uint64(field.order // self.size))
            self.values[:, rest] = values

    def _branched(
        self, polynomials: Array, columns: NDArray[np.intp], first: Array, factor: int, size: int
    ) -> tuple[Flags, Array]:
        """Which of all candidates (f·K, P) are roots, and their exponents."""
        known = np.arange(self.degree)[:, None] < self.found[columns]
        zeros = self._zeros(polynomials, self.values[:, columns], first, factor)
        zero = np.concatenate([z & known for z in zeros])
        exponents = self.exponents[:, columns]
        shifted = [exponents + np.uint64(c * size) for c in range(factor)]
        return zero, np.concatenate(shifted)

    def _compress(self, zero: Flags, exponents: Array, columns: NDArray[np.intp]) -> None:
        """The flagged exponents of each column become its roots."""
        position = np.cumsum(zero, axis=0) - 1
        row, column = np.nonzero(zero)
        found = np.zeros((self.degree, len(columns)), dtype=np.uint64)
        place = position[row, column]
        found[place, column] = exponents[row, column]
        count = zero.sum(axis=0)
        repeated = np.arange(self.degree)[:, None] >= count
        self.exponents[:, columns] = np.where(repeated, found[0], found)
        self.found[columns] = count

    def _zeros(self, polynomials: Array, powers: Array, x: Array, factor: int) -> Iterator[Flags]:
        """For each candidate x ζ^c, c < f, whether the polynomial vanishes there; ``powers`` is x^f.

        Coefficients in classes modulo f give T_s = x^s Σ_l q_{s+fl} (x^f)^l, and the value is Σ_s T_s ζ^{cs}.
        """
        p = self.field.p
        terms = _class_sums(polynomials, powers, factor, p)
        power = x
        for s in range(1, len(terms)):
            terms[s] = times(terms[s], power, p)
            if s + 1 < len(terms):
                power = times(power, x, p)
        if len(terms) == 2 and factor == 2:
            total = terms[0] + terms[1]
            yield (total == p) | (total == 0)
            yield terms[0] == terms[1]
        elif len(terms) == 4 and factor == 4:
            quarter = self.field.roots_of_unity(4)[1]
            even, odd = plus(terms[0], terms[2], p), plus(terms[1], terms[3], p)
            low, high = minus(terms[0], terms[2], p), times(minus(terms[1], terms[3], p), quarter, p)
            opposite, turned = even + odd, low + high
            yield (opposite == p) | (opposite == 0)
            yield (turned == p) | (turned == 0)
            yield even == odd
            yield low == high
        else:
            table = self.field.unity_matrix(factor, len(terms))
            values = product(table, terms.reshape(len(terms), -1), p)
            for row in values:
                yield (row == 0).reshape(x.shape)


def _class_sums(polynomials: Array, powers: Array, factor: int, p: np.uint64) -> Array:
    """Σ_l q_{s+fl} y^l for each class s < f with a coefficient (s, K, P); y are the ``powers``."""
    size, count = polynomials.shape
    classes = min(factor, size)
    rows = -(-size // factor)
    padded = np.zeros((rows * factor, count), dtype=np.uint64)
    padded[:size] = polynomials
    table = padded.reshape(rows, factor, 1, count)[:, :classes]
    total = np.broadcast_to(table[-1], (classes, *powers.shape)).copy()
    for row in table[-2::-1]:
        total *= powers
        total += row
        reduce(total, p)
    return total
