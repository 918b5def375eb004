"""The compiled kernels against numpy, bit for bit."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from prime_samples import is_recovered, random_prime_layer

from exactattn.prime import WORD_PRIMES, PrimeField, PrimeLayer, recover_prime
from exactattn.prime.arithmetic import times
from exactattn.prime.kernels import kernels

pytest.importorskip("numba", reason="the compiled kernels need numba (extra compiled)")

primes = pytest.mark.parametrize("prime", WORD_PRIMES)
COUNT = 300  # not a multiple of the lanes


def both(prime: int) -> tuple[PrimeField, PrimeField]:
    """The field with numpy and with compiled kernels."""
    return PrimeField(prime), PrimeField(prime, compiled=True)


@primes
@pytest.mark.parametrize("degree", [1, 2, 5, 12, 13])
def test_roots_are_the_same(prime: int, degree: int) -> None:
    """Breaks: results that depend on what is installed; also for columns that have no full set of roots."""
    plain, fast = both(prime)
    exponents = np.random.default_rng(degree).integers(0, plain.order, (degree, COUNT)).astype(np.uint64)
    exponents[-1, ::7] = exponents[0, ::7]
    polynomials = np.zeros((degree + 1, COUNT), dtype=np.uint64)
    polynomials[0] = 1
    for root in plain.exp(exponents):
        shifted = np.roll(polynomials, 1, axis=0)
        shifted[0] = 0
        polynomials = (shifted + times(polynomials, plain.p - root, plain.p)) % plain.p
    polynomials[0, 5::11] += 1
    polynomials %= plain.p
    found = [field.kernels.root_exponents(polynomials, field) for field in (plain, fast)]
    for x, y in zip(*found, strict=True):
        assert (x == y).all()
    assert found[0][2].any() == (degree > 1)
    residues = [
        f.kernels.residue_quotients(polynomials[:-1], polynomials, found[0][1], f) for f in (plain, fast)
    ]
    assert (residues[0] == residues[1]).all()


@primes
@pytest.mark.parametrize(("rank", "length"), [(0, 2), (1, 2), (3, 8), (12, 24)])
def test_recurrences_are_the_same(prime: int, rank: int, length: int) -> None:
    """Breaks: the same, for recurrences; some sequences are not regular."""
    plain, fast = both(prime)
    moments = np.random.default_rng(rank).integers(0, prime, (length, COUNT)).astype(np.uint64)
    moments[0, ::5] = 0
    found = [field.kernels.recurrences(moments, rank, field) for field in (plain, fast)]
    for x, y in zip(*found, strict=True):
        assert (x == y).all()


@primes
def test_sums_of_fractions_are_the_same(prime: int) -> None:
    """Breaks: the same, for answers; some are undefined."""
    plain, fast = both(prime)
    rng = np.random.default_rng(1)
    base, numerator, weight = (
        rng.integers(0, prime, shape).astype(np.uint64) for shape in (COUNT, (5, COUNT), (5, COUNT))
    )
    weight[2, ::9] = prime - 4
    copies = np.arange(0, 10, dtype=np.uint64)
    found = [f.kernels.sums_of_fractions(base, numerator, weight, copies, f) for f in (plain, fast)]
    assert (found[0] == found[1]).all()
    assert (found[0] == np.uint64(2**64 - 1)).sum() == len(range(0, COUNT, 9))


@primes
@pytest.mark.parametrize("added", [True, False])
def test_labels_are_the_same(prime: int, added: bool) -> None:
    """Breaks: the same, for labels; small numbers, so that many pairs have none or several partners."""
    plain, fast = both(prime)
    rng = np.random.default_rng(2)
    tables = [
        (rng.integers(0, 3, (4, COUNT)).astype(np.uint64), rng.integers(0, 2, (4, COUNT)).astype(np.uint64))
        for _ in range(3)
    ]
    found = [f.kernels.labels(tables[0], tables[1], tables[2], added, f) for f in (plain, fast)]
    for x, y in zip(*found, strict=True):
        assert (x == y).all()
    assert set(np.unique(found[0][1])) > {0, 1, 2}


@primes
@pytest.mark.parametrize("exponent", [0, 1, 2, 1000, WORD_PRIMES[1] - 2])
def test_powers_are_the_same(prime: int, exponent: int) -> None:
    """Breaks: the same, for membership in a subgroup and logarithms."""
    x = np.random.default_rng(3).integers(0, prime, (3, COUNT)).astype(np.uint64)
    found = [field.kernels.powers(x[:, ::2], exponent, field) for field in both(prime)]
    assert (found[0] == found[1]).all()
    assert int(found[0][1, 1]) == pow(int(x[1, 2]), exponent, prime)


@pytest.mark.parametrize("method", ["consistent", "optimal"])
def test_methods_with_fewer_queries_are_the_same(method: Literal["consistent", "optimal"]) -> None:
    """Breaks: the same, for the other methods."""
    plain, fast = both(WORD_PRIMES[0])
    layer = random_prime_layer(plain, 4, 8)
    one = recover_prime(layer, 4, 8, plain, method=method)
    two = recover_prime(PrimeLayer(fast, layer.W, layer.v), 4, 8, fast, method=method)
    assert (one.W == two.W).all()
    assert (one.v == two.v).all()


@pytest.mark.parametrize("bias", [False, True])
def test_whole_recoveries_are_the_same(bias: bool) -> None:
    """Breaks: the same, for whole layers."""
    plain, fast = both(WORD_PRIMES[0])
    layer = random_prime_layer(plain, 4, 8, bias=bias)
    other = PrimeLayer(fast, layer.W, layer.v, layer.constant)
    one, two = recover_prime(layer, 4, 8, plain, bias=bias), recover_prime(other, 4, 8, fast, bias=bias)
    assert (one.W == two.W).all()
    assert (one.v == two.v).all()
    assert is_recovered(two, layer)


def test_kernels_are_two_sets() -> None:
    """Breaks: comparing a set with itself."""
    assert kernels(True) != kernels(False)
