"""Logarithms of rationals as integer vectors: against prime factorisation by sympy."""

from __future__ import annotations

from math import prod

import pytest
import sympy
from flint import fmpq, fmpz
from hypothesis import given
from hypothesis import strategies as st

from exactattn.allocate import coprime_base, log_vectors
from exactattn.exceptions import InputError

numbers = st.integers(1, 400)
rationals = st.lists(st.builds(fmpq, numbers, numbers), min_size=1, max_size=6)


@given(st.lists(numbers, max_size=6))
def test_a_coprime_base_is_one(given_numbers: list[int]) -> None:
    """Breaks: independence of the logs, which rests on pairwise coprime integers."""
    base = [int(b) for b in coprime_base([fmpz(n) for n in given_numbers])]
    assert all(sympy.gcd(a, b) == 1 for i, a in enumerate(base) for b in base[:i])
    for number in given_numbers:
        left = number
        for b in base:
            while left % b == 0:
                left //= b
        assert left == 1


@given(rationals)
def test_vectors_give_the_numbers_back_over_as_few_generators_as_possible(xs: list[fmpq]) -> None:
    """Breaks: a wrong exponent, or generators with a relation, which would make ranks too large."""
    vectors = log_vectors(xs)
    for x, exponents in zip(xs, vectors.exponents, strict=True):
        assert x == prod((g**e for g, e in zip(vectors.generators, exponents, strict=True)), start=fmpq(1))
    primes = sympy.Matrix([_prime_exponents(x) for x in xs])
    assert len(vectors.generators) == primes.rank()
    assert all(g > 1 for g in vectors.generators)


def _prime_exponents(x: fmpq) -> list[int]:
    found = sympy.factorint(int(x.p))
    for p, e in sympy.factorint(int(x.q)).items():
        found[p] = found.get(p, 0) - e
    return [found.get(p, 0) for p in sympy.primerange(401)]


def test_powers_of_one_number_share_one_generator() -> None:
    """Breaks: patterns with powers of 6 would count two generators, and lose exactness for no reason."""
    assert log_vectors([fmpq(36), fmpq(1, 216)]).generators == (fmpq(6),)
    assert log_vectors([fmpq(1)]).generators == ()


def test_what_is_not_positive_has_no_logarithm() -> None:
    """Breaks: a zero weight would send the valuation into an endless loop."""
    with pytest.raises(InputError, match="0 has no logarithm"):
        log_vectors([fmpq(1), fmpq(0)])
