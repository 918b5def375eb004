"""What exact interpolation refuses, and what unlucky primes must not change.

If one of these fails, noisy or wrong answers pass for those of a layer, or right ones do not.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flint import fmpq, fmpz
from interpolation_cases import Engine, Sample, by_elimination, by_primes, copy_counts, form, power, sampled

from exactattn.exceptions import InconsistentAnswers, InputError
from exactattn.recovery.modular_image import PRIMES, modular_image
from exactattn.recovery.nodes import Nodes
from exactattn.recovery.rational import partial_fractions_over_q

p = fmpz(PRIMES[0])
two_poles = [(fmpq(3), fmpq(1)), (fmpq(5), fmpq(2))]
UNLUCKY: dict[str, tuple[list[fmpq], list[tuple[fmpq, fmpq]]]] = {
    "a value with p in its denominator": (copy_counts(4), [(fmpq(3), fmpq(1, p)), (fmpq(5), fmpq(2))]),
    "two poles equal": (copy_counts(4), [(fmpq(3), fmpq(1)), (fmpq(3 + p), fmpq(2))]),
    "poles and residues that cancel": (copy_counts(4), [(fmpq(3), fmpq(1)), (fmpq(3 + p), fmpq(-1))]),
    "a double pole": (copy_counts(4), [(fmpq(3), fmpq(1, p)), (fmpq(3 + p), fmpq(-1, p))]),
    "a value with p in its denominator, at one node": (
        copy_counts(4),
        [(p - fmpq(2), fmpq(1)), two_poles[1]],
    ),
    "a pole at a node": (copy_counts(4), [(p - fmpq(2), fmpq(p)), two_poles[1]]),
    "a residue 0": (copy_counts(4), [(fmpq(3), fmpq(p)), two_poles[1]]),
    "a residue 0, and a spare sample": (copy_counts(5), [(fmpq(3), fmpq(p)), two_poles[1]]),
    "both residues 0": (copy_counts(4), [(fmpq(3), fmpq(p)), (fmpq(5), fmpq(2 * p))]),
    "a pole at infinity": (copy_counts(4), [(fmpq(3, p), fmpq(1, p)), two_poles[1]]),
    "a pole at infinity and a residue 0": (copy_counts(4), [(fmpq(3, p), fmpq(1)), two_poles[1]]),
    "two nodes equal": ([*copy_counts(3), fmpq(1 + p)], two_poles),
    "a node at infinity": ([*copy_counts(3), fmpq(1, p)], two_poles),
    "one of two nodes at infinity": ([fmpq(1), fmpq(1, p)], two_poles[:1]),
    "everything at infinity": ([fmpq(1, p), fmpq(2, p)], [(fmpq(3, p), fmpq(1, p))]),
}


@pytest.mark.parametrize("name", UNLUCKY)
def test_an_unlucky_prime_changes_nothing(name: str) -> None:
    """Breaks: results that depend on a prime p: what is named is so modulo p, and another must be tried."""
    nodes, pairs = UNLUCKY[name]
    assert by_primes(nodes, sampled(nodes, pairs), len(nodes) // 2) == form(pairs)


@pytest.mark.parametrize(
    "name", [name for name in UNLUCKY if not any(w in name for w in ("residue", "equal", "cancel"))]
)
def test_an_unlucky_prime_has_no_image(name: str) -> None:
    """Breaks: images with a residue 0, a double pole or a pole at a node (left out: lower rank modulo p)."""
    nodes, pairs = UNLUCKY[name]
    assert modular_image(Nodes.of(tuple(nodes)), sampled(nodes, pairs), len(nodes) // 2, PRIMES[0]) is None


def test_when_all_primes_are_unlucky_elimination_decides() -> None:
    """Breaks: the last resort."""
    product = fmpz(1)
    for prime in PRIMES:
        product *= prime
    pairs = [(fmpq(h), fmpq(h + 1, product)) for h in range(7)]
    nodes = copy_counts(14)
    with pytest.raises(AssertionError, match="elimination was needed"):
        by_primes(nodes, sampled(nodes, pairs), 7)
    assert partial_fractions_over_q(nodes, sampled(nodes, pairs), 7) == form(pairs)


def of(function: Callable[[fmpq], fmpq], count: int) -> Sample:
    nodes = copy_counts(count)
    return nodes, [function(x) for x in nodes]


def replaced(sample: Sample, index: int, value: fmpq) -> Sample:
    nodes, values = sample
    return nodes, [*values[:index], value, *values[index + 1 :]]


one = fmpq(1)
REFUSED: dict[str, tuple[Sample, int, str]] = {
    "irrational poles": (of(lambda x: 1 / (x * x - 2), 4), 2, "not rational"),
    "complex poles": (of(lambda x: 1 / (x * x + 1) + 1 / (x + 5), 8), 4, "not rational"),
    "a double pole": (of(lambda x: 1 / (x + 3) ** 2, 4), 2, "not simple"),
    "a double pole and a simple one": (of(lambda x: 1 / (x + 3) ** 2 + one / x, 7), 3, "not simple"),
    "too many poles": (of(lambda x: one / x - 1 / (x + 1) + 1 / (x + 2), 5), 2, "more than 2 poles"),
    "no pole allowed": (of(lambda x: one / x, 3), 0, "more than 0 poles"),
    "a constant": (of(lambda x: one, 4), 2, "infinity"),
    "a pole and a constant": (of(lambda x: 1 + one / x, 6), 3, "infinity"),
    "a pole at a node": (
        replaced(of(lambda x: one / (x - 2) if x != 2 else x, 6), 1, fmpq(7)),
        3,
        "pole at the node 2",
    ),
    "a wrong value": (replaced(of(lambda x: 1 / (x + 7), 6), 3, fmpq(9)), 3, "value at the node 4"),
}


@pytest.mark.parametrize("engine", [partial_fractions_over_q, by_elimination], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_reason(engine: Engine, name: str) -> None:
    """Breaks: the message a user gets for answers that no layer of the stated size gives."""
    (nodes, values), max_poles, reason = REFUSED[name]
    with pytest.raises(InconsistentAnswers, match=reason):
        engine(nodes, values, max_poles)


@pytest.mark.parametrize("size", [6, 7, 12])
def test_one_prime_refutes(size: int) -> None:
    """Breaks: quick refusals of noisy answers, and of answers of a layer with more heads."""
    nodes, values = of(lambda x: 1 / (x + 2) - 1 / (x + 3) + power(900) / (x + power(-700)), size)
    with pytest.raises(InconsistentAnswers, match="more than 2 poles"):
        by_primes(nodes, values, 2)
    if size % 2 == 0:
        noisy = [y + fmpq(7**m % 11, 5) for m, y in enumerate(values)]
        with pytest.raises(InconsistentAnswers, match="not rational numbers"):
            by_primes(nodes, noisy, size // 2)


def test_bad_input_is_refused() -> None:
    """Breaks: clear errors for repeated nodes, too few samples, and lists of different lengths."""
    with pytest.raises(InputError, match="twice"):
        partial_fractions_over_q([fmpq(1), fmpq(1, 2), fmpq(2, 4), fmpq(3)], [one] * 4, 2)
    with pytest.raises(InputError, match="at least 4"):
        partial_fractions_over_q(copy_counts(3), [one] * 3, 2)
    with pytest.raises(InputError, match="one value for each node"):
        partial_fractions_over_q(copy_counts(4), [one] * 3, 1)
    with pytest.raises(InputError, match="at least 0"):
        partial_fractions_over_q([], [], -1)
