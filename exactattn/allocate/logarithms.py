"""Logarithms of positive rationals, exactly: integer vectors over multiplicatively independent generators.

No number is factored into primes: greatest common divisors give pairwise coprime integers whose logarithms
are linearly independent over Q, and a basis of the group that the given rationals generate gives as few
generators as possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq, fmpq_mat, fmpz, fmpz_mat

from exactattn.exceptions import InputError

__all__ = ["LogVectors", "coprime_base", "log_vectors"]


@dataclass(frozen=True)
class LogVectors:
    """log of the i-th number = Σ_k exponents[i][k] · log(generators[k]); the logs of the generators are
    linearly independent over Q.
    """

    generators: tuple[fmpq, ...]
    exponents: tuple[tuple[int, ...], ...]


def coprime_base(numbers: Sequence[fmpz]) -> list[fmpz]:
    """Pairwise coprime integers above 1 of which every given positive integer is a product of powers.

    >>> coprime_base([fmpz(12), fmpz(18), fmpz(25)])
    [2, 3, 25]
    """
    base: list[fmpz] = []
    waiting = list(numbers)
    while waiting:
        number = waiting.pop()
        if number == 1:
            continue
        partner = next((b for b in base if b.gcd(number) != 1), None)
        if partner is None:
            base.append(number)
            continue
        base.remove(partner)
        shared = partner.gcd(number)
        # the product of what waits and of the base becomes smaller, so this ends
        waiting += [number // shared, partner // shared, shared]
    return sorted(base)


def log_vectors(numbers: Sequence[fmpq]) -> LogVectors:
    """The logarithms of positive rationals over one basis of the group they generate.

    >>> log_vectors([fmpq(36), fmpq(1, 6), fmpq(1)])
    LogVectors(generators=(6,), exponents=((2,), (-1,), (0,)))

    Raises InputError for a number that is not positive.
    """
    for number in numbers:
        if number <= 0:
            raise InputError(f"{number} has no logarithm; all numbers must be positive")
    base = coprime_base([part for number in numbers for part in (number.p, number.q)])
    rows = [[_valuation(number, b) for b in base] for number in numbers]
    if not base:
        return LogVectors((), tuple(() for _ in numbers))
    basis = _row_basis(fmpz_mat(rows))
    generators = tuple(_product(base, row) for row in basis.tolist())
    coordinates = _coordinates(fmpz_mat(rows), basis)
    turned = [1 if g > 1 else -1 for g in generators]
    return LogVectors(
        tuple(g if sign > 0 else 1 / g for g, sign in zip(generators, turned, strict=True)),
        tuple(tuple(int(x) * sign for x, sign in zip(row, turned, strict=True)) for row in coordinates),
    )


def _valuation(number: fmpq, b: fmpz) -> int:
    """The exponent of b in a product of powers of pairwise coprime integers, b one of them."""
    count = 0
    for part, sign in ((number.p, 1), (number.q, -1)):
        left = part
        while left % b == 0:
            left //= b
            count += sign
    return count


def _row_basis(rows: fmpz_mat) -> fmpz_mat:
    """A reduced basis of the lattice that the rows generate."""
    reduced = [row for row in rows.hnf().tolist() if any(x != 0 for x in row)]
    if not reduced:
        return fmpz_mat(0, rows.ncols())
    return fmpz_mat(reduced).lll()


def _coordinates(rows: fmpz_mat, basis: fmpz_mat) -> list[list[fmpz]]:
    """Integers X with X · basis = rows."""
    rank = basis.nrows()
    if rank == 0:
        return [[] for _ in range(rows.nrows())]
    gram = basis * basis.transpose()
    solved = fmpq_mat(gram).solve(fmpq_mat(basis * rows.transpose())).transpose()
    return [[x.p for x in row] for row in solved.tolist()]


def _product(base: Sequence[fmpz], exponents: Sequence[fmpz]) -> fmpq:
    result = fmpq(1)
    for b, exponent in zip(base, exponents, strict=True):
        result *= fmpq(b) ** int(exponent)
    return result
