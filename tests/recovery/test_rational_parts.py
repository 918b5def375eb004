"""Laws of the steps of exact interpolation: reconstruction, lifting, exact test, elimination.

If one of these fails, :func:`partial_fractions_over_q` falls back to slower ways, or trusts a wrong one.
"""

from __future__ import annotations

import pytest
from flint import fmpq, fmpz, fmpz_mat
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from exactattn.recovery import elimination
from exactattn.recovery.fractions import sum_of_fractions, takes_values
from exactattn.recovery.lifting import lifted
from exactattn.recovery.modular_image import PRIMES, modular_image
from exactattn.recovery.nodes import Nodes
from exactattn.recovery.reconstruction import power_of_two, rational_from_residue

primes = st.sampled_from(PRIMES)
moduli = st.builds(lambda prime, k: fmpz(prime) ** k, primes, st.sampled_from([1, 2, 5, 60, 70, 100]))


def residue_class(x: fmpq, modulus: fmpz) -> fmpz:
    return x.p * pow(x.q, -1, modulus) % modulus


@settings(max_examples=100, deadline=None)
@given(modulus=moduli, data=st.data())
def test_short_fractions_come_back_from_residues(modulus: fmpz, data: st.DataObject) -> None:
    """Breaks: poles and residues read off an image, with short and with long moduli, up to the bound."""
    bound = int((modulus // 2).isqrt())
    top = data.draw(st.sampled_from([1, 100, bound]))
    x = fmpq(data.draw(st.integers(-top, top)), data.draw(st.integers(1, top)))
    assume(x.q % modulus != 0)
    assert rational_from_residue(residue_class(x, modulus), modulus) == x


@settings(max_examples=100, deadline=None)
@given(modulus=moduli, data=st.data())
def test_whatever_comes_back_has_the_residue_and_is_short(modulus: fmpz, data: st.DataObject) -> None:
    """Breaks: uniqueness of reconstructed numbers."""
    residue = fmpz(data.draw(st.integers(0, int(modulus) - 1)))
    x = rational_from_residue(residue, modulus)
    if x is not None:
        assert (x.p - residue * x.q) % modulus == 0
        assert 2 * max(abs(x.p), x.q) ** 2 <= modulus


@settings(max_examples=100, deadline=None)
@given(prime=primes, exponent=st.integers(-(2**17), 2**17))
def test_powers_of_two_come_back_from_one_word(prime: int, exponent: int) -> None:
    """Breaks: poles with large exponents, found without lifting."""
    assert power_of_two(pow(2, exponent, prime), prime) == fmpq(2) ** exponent


@settings(max_examples=100, deadline=None)
@given(prime=primes, residue=st.integers(0, 10**18))
def test_other_residues_are_not_called_powers_of_two(prime: int, residue: int) -> None:
    """Breaks: trust in the library's logarithm where there is none, and in particular at zero."""
    for value in (0, 22, residue % prime):  # 22 has no logarithm modulo one of the primes
        x = power_of_two(value, prime)
        if x is not None:
            assert residue_class(x, fmpz(prime)) == value
            assert (x.p & (x.p - 1), x.q & (x.q - 1)) == (0, 0)
    assert [power_of_two(value, prime) for value in (0, 3, 22)] == [None] * 3


numbers = st.builds(fmpq, st.integers(-(10**30), 10**30), st.integers(1, 10**30))


@settings(max_examples=30, deadline=None)
@given(
    prime=primes,
    poles=st.lists(numbers, min_size=1, max_size=5, unique_by=str),
    seed=st.data(),
    spare=st.integers(0, 2),
    scale=st.integers(1, 3),
)
def test_every_lift_is_congruent_to_the_truth(
    prime: int, poles: list[fmpq], seed: st.DataObject, spare: int, scale: int
) -> None:
    """Breaks: Newton's iteration; lifting would then never end in the planted numbers."""
    residues = [seed.draw(numbers.filter(lambda c: c != 0)) for _ in poles]
    given_nodes = tuple(fmpq(3 * m + 1, scale) for m in range(2 * len(poles) + spare))
    assume(not any(-r in given_nodes for r in poles))
    nodes = Nodes.of(given_nodes)
    values = [sum((c / (x + r) for r, c in zip(poles, residues, strict=True)), fmpq(0)) for x in given_nodes]
    image = modular_image(nodes, values, len(poles), prime)
    assume(image is not None)
    known = [None] * len(poles)
    lengths = []
    for now in lifted(nodes, values, image, known, 600):
        truth = {
            (residue_class(r * nodes.scale, now.modulus), residue_class(c * nodes.scale, now.modulus))
            for r, c in zip(poles, residues, strict=True)
        }
        assert {
            (r % now.modulus, c % now.modulus) for r, c in zip(now.poles, now.residues, strict=True)
        } == truth
        lengths.append(now.modulus.bit_length())
    assert lengths[-1] >= 600


def test_lifting_stops_at_an_image_of_too_low_a_rank() -> None:
    """Breaks: an unlucky prime would be lifted without end instead of being replaced."""
    nodes = Nodes.of(tuple(fmpq(m) for m in range(1, 6)))
    values = [1 / (x + 3) + PRIMES[0] / (x + 5) for x in nodes.given]
    image = modular_image(nodes, values, 2, PRIMES[0])
    assert image is not None
    assert len(image.poles) == 1
    assert len(list(lifted(nodes, values, image, [None], 5000))) <= 2


@settings(max_examples=60, deadline=None)
@given(
    pairs=st.lists(
        st.tuples(numbers, numbers.filter(lambda c: c != 0)), max_size=4, unique_by=lambda p: str(p[0])
    ),
    which=st.integers(0, 20),
    change=st.sampled_from([fmpq(1), fmpq(-1, 10**40), fmpq(2**70)]),
)
def test_the_exact_test_accepts_the_truth_and_nothing_else(
    pairs: list[tuple[fmpq, fmpq]], which: int, change: fmpq
) -> None:
    """Breaks: the proof that a result takes every sample."""
    nodes = Nodes.of(tuple(fmpq(m, 2) for m in range(1, 2 * len(pairs) + 3)))
    poles, residues = [r for r, _ in pairs], [c for _, c in pairs]
    assume(not any(-r in nodes.given for r in poles))
    values = [sum((c / (x + r) for r, c in pairs), fmpq(0)) for x in nodes.given]
    assert takes_values(nodes, values, poles, residues)
    wrong = list(values)
    wrong[which % len(wrong)] += change
    assert not takes_values(nodes, wrong, poles, residues)
    if pairs:
        residues[which % len(pairs)] += change
        assert not takes_values(nodes, values, poles, residues)


def test_the_exact_test_refuses_a_pole_at_a_node() -> None:
    """Breaks: 0/0 would pass as a value."""
    nodes = Nodes.of((fmpq(1), fmpq(2)))
    assert not takes_values(nodes, [fmpq(0), fmpq(0)], [fmpq(-1)], [fmpq(0)])


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 9)), min_size=1, max_size=7))
def test_sum_of_fractions(terms: list[tuple[int, int]]) -> None:
    """Breaks: the product tree that all exact tests and lifts use."""
    P, Q = sum_of_fractions([(fmpz(n), fmpz(d)) for n, d in terms])
    assert fmpq(P, Q) == sum((fmpq(n, d) for n, d in terms), fmpq(0))


@settings(max_examples=100, deadline=None)
@given(data=st.data(), first_prime=st.sampled_from([2, 3, 2**62]))
def test_both_ways_to_the_first_relation_agree(data: st.DataObject, first_prime: int) -> None:
    """Breaks: elimination of large systems, in particular when the first primes are unlucky."""
    rank, columns, rows = (data.draw(st.integers(1, 4)) for _ in range(3))
    entry = st.integers(-6, 6)
    left = fmpz_mat(
        rows + 1, rank, data.draw(st.lists(entry, min_size=(rows + 1) * rank, max_size=(rows + 1) * rank))
    )
    right = fmpz_mat(
        rank, columns, data.draw(st.lists(entry, min_size=rank * columns, max_size=rank * columns))
    )
    matrix = left * right
    assume(any(matrix[i, 0] != 0 for i in range(matrix.nrows())))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination, "FIRST_PRIME", first_prime)
        other = elimination._first_relation_by_prime(matrix)
    plain = elimination._first_relation_by_reduction(matrix)
    if plain is None or other is None:
        assert plain == other
    else:
        assert [x * other[-1] for x in plain] == [x * plain[-1] for x in other]
