"""Arithmetic of arrays against Python integers and python-flint."""

from __future__ import annotations

import numpy as np
import pytest
from flint import nmod_poly
from hypothesis import given, settings
from hypothesis import strategies as st

from exactattn.exceptions import InputError
from exactattn.prime import WORD_PRIMES, PrimeField
from exactattn.prime.arithmetic import Array, bits, inverses, product, two_products
from exactattn.prime.careful import careful_interpolation
from exactattn.prime.graeffe import of_root_powers
from exactattn.prime.interpolation import Interpolation
from exactattn.prime.kernels import kernels
from exactattn.prime.recurrence import recurrences
from exactattn.prime.roots import root_exponents

P = WORD_PRIMES[0]
primes = pytest.mark.parametrize("prime", WORD_PRIMES)


def with_roots(columns: Array, prime: int) -> Array:
    """Monic polynomials with given roots, by python-flint."""
    result = []
    for roots in columns.T.tolist():
        polynomial = nmod_poly([1], prime)
        for root in roots:
            polynomial *= nmod_poly([-root, 1], prime)
        result.append([int(c) for c in polynomial.coeffs()])
    return np.array(result, dtype=np.uint64).T


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    inner=st.sampled_from([1, 2, 24, 65, 130, 900]),
    sizes=st.tuples(st.integers(1, 31), st.integers(1, 31)),
)
def test_matrix_products_are_never_rounded(seed: int, inner: int, sizes: tuple[int, int]) -> None:
    """Breaks: scores, moments and assembly, silently, if a float64 sum passes 2^53."""
    rng = np.random.default_rng(seed)
    sign = rng.choice([-1, 1])
    left = np.full((2, inner), sign * (2 ** sizes[0] - 1), dtype=np.int64)
    left[1] = rng.integers(-(2 ** sizes[0]) + 1, 2 ** sizes[0], inner)
    right = np.full((inner, 2), 2 ** sizes[1] - 1, dtype=np.int64)
    right[:, 1] = rng.integers(-(2 ** sizes[1]) + 1, 2 ** sizes[1], inner)
    found = product(left, right, np.uint64(P), left_bits=sizes[0], right_bits=sizes[1])
    assert (found == (left.astype(object) @ right.astype(object)) % P).all()


@pytest.mark.parametrize("size", [5, 12, 20])
def test_two_products_are_those_of_each(size: int) -> None:
    """Breaks: answers; together where sums are short (5 bits), one by one where they are not (20 bits)."""
    rng = np.random.default_rng(size)
    left = rng.integers(0, P - 1, (2, 3, 700)).astype(np.uint64)
    right = rng.integers(-(2**size) + 1, 2**size, (700, 4))
    moduli = np.uint64(P - 1), np.uint64(P)
    found = two_products((left[0], left[1]), right.astype(np.float64), moduli, size)
    for x, table, modulus in zip(found, left, moduli, strict=True):
        assert (x == table.astype(object) @ right.astype(object) % int(modulus)).all()


def test_inverses_with_zeros_between() -> None:
    """Breaks: answers and residues; one zero must not spoil the others."""
    x = np.random.default_rng(1).integers(0, P, 5000).astype(np.uint64)
    x[[0, 7, 4999]] = 0
    for a, b in zip(x.tolist(), inverses(x, np.uint64(P)).tolist(), strict=True):
        assert a * b % P == (a != 0)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 12, 13, 33])
@pytest.mark.parametrize("factor", [2, 3, 4, 5, 31])
def test_graeffe_steps_take_powers_of_roots(degree: int, factor: int) -> None:
    """Breaks: the tower under all roots."""
    roots = np.random.default_rng(degree).integers(1, P, (degree, 5)).astype(np.uint64)
    powers = np.array([[pow(r, factor, P) for r in row] for row in roots.tolist()], dtype=np.uint64)
    found = of_root_powers(with_roots(roots, P), factor, np.uint64(P))
    assert (found == with_roots(powers, P)).all()


@primes
@pytest.mark.parametrize("degree", [1, 2, 5, 12, 20])
def test_roots_and_their_logarithms(prime: int, degree: int) -> None:
    """Breaks: poles. Columns 0 to 2 have a double root, two opposite roots and neighbours; column 3 has other
    coefficients, and is refused if and only if python-flint finds fewer roots."""
    field = PrimeField(prime)
    exponents = np.random.default_rng(degree).integers(0, field.order, (degree, 40)).astype(np.uint64)
    if degree > 1:
        exponents[1, 0] = exponents[0, 0]
        exponents[1, 1] = (int(exponents[0, 1]) + field.order // 2) % field.order
        exponents[:2, 2] = [0, field.order - 1]
    polynomials = with_roots(field.exp(exponents), prime)
    polynomials[0, 3] = (int(polynomials[0, 3]) + 1) % prime
    found, values, bad = root_exponents(polynomials, field)
    split = nmod_poly(polynomials[:, 3].tolist(), prime).roots()
    expected = np.zeros(40, dtype=np.bool_)
    expected[0] = degree > 1
    expected[3] = len([r for r, m in split if m == 1 and int(r)]) < degree
    assert (bad == expected).all()
    right = ~bad & (np.arange(40) != 3)
    assert (np.sort(found[:, right], axis=0) == np.sort(exponents[:, right], axis=0)).all()
    assert (field.exp(found[:, right]) == values[:, right]).all()


def test_recurrences_and_refusals() -> None:
    """Breaks: poles. A sequence that needs more terms, and one with a vanishing minor, are reported."""
    roots = np.array([[1, 1], [P - 1, 2]], dtype=np.uint64)  # 1, 0, 1, 0: regular; and 1·1^k − 1·(−1)^k: not
    sequences = np.array([[2, 0, 2, 0], [0, 2, 0, 2], [3, 5, 9, 17]], dtype=np.uint64).T
    polynomials, bad = recurrences(sequences, 2, PrimeField())
    assert bad.tolist() == [False, True, False]
    assert (polynomials[:, [0, 2]] == with_roots(roots, P)).all()
    assert recurrences(sequences, 1, PrimeField())[1].all()


@primes
def test_interpolation_agrees_with_python_flint(prime: int) -> None:
    """Breaks: everything above it. Every tenth column has a coincidence of poles."""
    field, rank, bound = PrimeField(prime), 4, 5
    rng = np.random.default_rng(prime)
    exponents = rng.integers(0, field.order, (rank, 60)).astype(np.uint64)
    exponents[1, ::10] = exponents[0, ::10]
    residues = rng.integers(1, prime, (rank, 60)).astype(np.uint64)
    copies = tuple(range(1, 2 * bound + 1))
    poles = field.exp(exponents)
    values = np.array(
        [[sum(c * pow(m + r, -1, prime) for c, r in zip(cs, rs, strict=True)) % prime
          for cs, rs in zip(residues.T.tolist(), poles.T.tolist(), strict=True)] for m in copies],
        dtype=np.uint64,
    )  # fmt: skip
    found = Interpolation(field, copies, rank)(values)
    assert found.bad.tolist() == [k % 10 == 0 for k in range(60)]
    for k in range(60):
        careful = careful_interpolation(field.scalar, copies, values[:, k].tolist())
        assert careful is not None
        if k % 10:
            pairs = zip(found.exponents[:, k].tolist(), found.residues[:, k].tolist(), strict=True)
            assert sorted(pairs) == careful
        else:
            assert len(careful) == rank - 1


@pytest.mark.parametrize("number", [15, 2**31 - 1, 29 * 2**57 + 1])
def test_fields_that_arrays_cannot_hold_are_refused(number: int) -> None:
    """Breaks: overflow, composite moduli and rough p − 1 must be named, not met later."""
    with pytest.raises(InputError):
        PrimeField(number)


def test_missing_numba_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks: the message that says how to mend it."""
    monkeypatch.setattr("exactattn.prime.kernels.find_spec", lambda name: None)
    kernels.cache_clear()
    try:
        with pytest.raises(InputError, match="compiled"):
            PrimeField(compiled=True)
    finally:
        kernels.cache_clear()


def test_a_row_of_zeros_is_a_token() -> None:
    """Breaks: sizes of entries that are all 0."""
    zero = np.zeros((1, 3), dtype=np.int64)
    assert bits(zero) == 1
    assert product(zero, np.ones((3, 1), dtype=np.int64), np.uint64(P), left_bits=bits(zero)).tolist() == [
        [0]
    ]
