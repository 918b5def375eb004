"""Compiled kernels (numba, extra ``compiled``): the same numbers as the numpy functions, bit for bit."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from exactattn.prime.arithmetic import Array
from exactattn.prime.compiled import lanes, matching, recurrence, roots, values
from exactattn.prime.field import PrimeField
from exactattn.prime.kernels import Flags, Kernels, Labels

__all__ = ["KERNELS"]

R = 1 << 32


@lru_cache(maxsize=16)
def _constants(prime: int) -> tuple[np.uint64, np.uint64, np.uint64]:
    """p, −1/p modulo R and R² modulo p."""
    return np.uint64(prime), np.uint64(-pow(prime, -1, R) % R), np.uint64(R * R % prime)


def _montgomery(x: Array, prime: int) -> Array:
    return (x << np.uint64(32)) % np.uint64(prime)


class _Tables:
    """What :func:`roots.root_exponents` needs of a field, in Montgomery's form."""

    def __init__(self, field: PrimeField, degree: int) -> None:
        prime = field.prime
        self.steps = np.array(field.steps, dtype=np.int64)
        self.elements = _montgomery(field.roots_of_unity(field.top), prime)
        self.unities = np.zeros((len(field.steps), max(field.steps, default=1)), dtype=np.uint64)
        for row, factor in zip(self.unities, field.steps, strict=True):
            row[:factor] = _montgomery(field.roots_of_unity(factor), prime)
        self.low, self.high = (_montgomery(t, prime).astype(np.uint32) for t in field.tables)
        numbers = np.arange(degree + 1, dtype=np.uint64)
        reciprocals = np.array([0, *(pow(k, -1, prime) for k in range(1, degree + 1))], dtype=np.uint64)
        self.numbers, self.reciprocals = _montgomery(numbers, prime), _montgomery(reciprocals, prime)


@lru_cache(maxsize=16)
def _tables(field: PrimeField, degree: int) -> _Tables:
    return _Tables(field, degree)


def _sums_of_fractions(
    base: Array, numerator: Array, weight: Array, copies: Array, field: PrimeField
) -> Array:
    out = np.empty((len(copies), weight.shape[1]), np.uint64)
    values.values(base, numerator, weight, copies, *_constants(field.prime), out)
    return out


def _recurrences(moments: Array, rank: int, field: PrimeField) -> tuple[Array, Flags]:
    out, bad = np.empty((rank + 1, moments.shape[1]), np.uint64), np.empty(moments.shape[1], np.bool_)
    recurrence.recurrences(moments, rank, *_constants(field.prime), out, bad)
    return out, bad


def _root_exponents(polynomials: Array, field: PrimeField) -> tuple[Array, Array, Flags]:
    degree, count = len(polynomials) - 1, polynomials.shape[1]
    exponents, found = (np.zeros((degree, count), np.uint64) for _ in range(2))
    bad = np.zeros(count, np.bool_)
    if degree:
        t = _tables(field, degree)
        roots.root_exponents(
            polynomials, t.steps, field.top, field.n, t.elements, t.unities, t.low, t.high, t.numbers,
            t.reciprocals, *_constants(field.prime), exponents, found, bad,
        )  # fmt: skip
    return exponents, found, bad


def _residue_quotients(numerator: Array, polynomials: Array, found: Array, field: PrimeField) -> Array:
    out = np.empty_like(found)
    roots.residue_quotients(numerator, polynomials, found, *_constants(field.prime), out)
    return out


def _labels(
    x: tuple[Array, Array], y: tuple[Array, Array], z: tuple[Array, Array], added: bool, field: PrimeField
) -> tuple[Labels, Labels]:
    labels, partners = (np.empty(x[0].shape, np.uint8) for _ in range(2))
    tables: list[NDArray[np.uint64]] = [np.ascontiguousarray(t) for t in (*x, *y, *z)]
    matching.labels_and_partners(*tables, added, field.n, field.p, labels, partners)
    return labels, partners


def _powers(x: Array, exponent: int, field: PrimeField) -> Array:
    flat = np.ascontiguousarray(x).reshape(-1)
    out = np.empty_like(flat)
    lanes.powers(flat, np.uint64(exponent), exponent.bit_length(), *_constants(field.prime), out)
    return out.reshape(x.shape)


KERNELS = Kernels(_sums_of_fractions, _recurrences, _root_exponents, _residue_quotients, _labels, _powers)
