"""One suite of laws for every number system (design: one interface, one conformance suite).

If one of these fails, the algorithms written over the interface are wrong in that system.
"""

from __future__ import annotations

from typing import Any

import pytest
from flint import arb, fmpq, fmpz
from hypothesis import given, settings
from hypothesis import strategies as st

from exactattn.exceptions import CannotTell, InconsistentAnswers, InputError, PrecisionExhausted
from exactattn.numbers import Balls, Decision, LogLattice, NumberSystem, PrimeNumbers, encloses
from exactattn.numbers.smooth_primes import WORD_PRIMES

SYSTEMS: list[NumberSystem[Any, Any]] = [
    LogLattice(),
    LogLattice(6),
    PrimeNumbers(),
    PrimeNumbers(WORD_PRIMES[1], 6),
    Balls(64),
    Balls(300),
]

small = st.integers(-40, 40)
rationals = st.builds(fmpq, st.integers(-200, 200), st.integers(1, 60))
systems = pytest.mark.parametrize("system", SYSTEMS, ids=repr)


def scores(system: NumberSystem[Any, Any]) -> st.SearchStrategy[fmpq]:
    D = system.denominator if isinstance(system, LogLattice | PrimeNumbers) else 7
    return st.builds(lambda k: fmpq(k, D), small)


def holds(system: NumberSystem[Any, Any], x: Any, y: Any) -> None:
    """x = y: decided exactly, or by overlapping balls with small radii."""
    if system.exact:
        assert system.equal(x, y) is Decision.YES
    else:
        assert x.overlaps(y)
        for z in (x, y):
            assert z.rad() <= (abs(z.mid()) + 1) * arb(2) ** (20 - system.precision)  # type: ignore[attr-defined]


@systems
@given(data=st.data())
def test_exponential_turns_sums_into_products(system: NumberSystem[Any, Any], data: st.DataObject) -> None:
    """Breaks: softmax weights, and matching by products of poles."""
    s, t = data.draw(scores(system)), data.draw(scores(system))
    with system.context():
        holds(system, system.exp(s + t), system.exp(s) * system.exp(t))
        holds(system, system.exp(fmpq(0)), system.value(fmpq(1)))


@systems
@given(data=st.data())
def test_logarithm_inverts_exponential(system: NumberSystem[Any, Any], data: st.DataObject) -> None:
    """Breaks: recovered scores."""
    s = data.draw(scores(system))
    with system.context():
        back = system.log(system.exp(s))
        if system.exact:
            assert system.equal_scores(back, system.score(s)) is Decision.YES
        else:
            assert encloses(back, s)


@systems
@given(x=rationals, y=rationals, z=rationals)
def test_field_axioms(system: NumberSystem[Any, Any], x: fmpq, y: fmpq, z: fmpq) -> None:
    """Breaks: every value computed in the system."""
    with system.context():
        a, b, c = (system.value(q) for q in (x, y, z))
        holds(system, (a + b) * c, a * c + b * c)
        holds(system, a - a, system.value(fmpq(0)))
        holds(system, system.sum([a, b, c]), system.value(x + y + z))
        if y != 0:
            holds(system, a / b * b, a)


@systems
@given(x=rationals, y=rationals)
def test_decisions_are_never_wrong(system: NumberSystem[Any, Any], x: fmpq, y: fmpq) -> None:
    """Breaks: yes or no answers; balls may only say cannot tell instead."""
    with system.context():
        answer = system.equal(system.value(x), system.value(y))
    allowed = {Decision.of(x == y)} | (set() if system.exact else {Decision.CANNOT_TELL})
    assert answer in allowed


@systems
@settings(max_examples=40)
@given(
    rows=st.lists(st.lists(rationals, min_size=3, max_size=3), min_size=3, max_size=3),
    x=st.lists(rationals, min_size=3, max_size=3),
)
def test_solve_inverts(system: NumberSystem[Any, Any], rows: list[list[fmpq]], x: list[fmpq]) -> None:
    """Breaks: assembly of W and v, and recurrences over balls."""
    right = [sum((a * b for a, b in zip(row, x, strict=True)), fmpq(0)) for row in rows]
    with system.context():
        matrix = [[system.value(a) for a in row] for row in rows]
        try:
            solved = system.solve(matrix, [[system.value(r)] for r in right])
        except ZeroDivisionError:
            return
        again = system.solve_scores(rows, [[system.score(r)] for r in right])
        same = [system.value(a) for a in x] if isinstance(system, PrimeNumbers) else x
    for got, wanted in ((solved, same), (again, x)):
        for row, want in zip(got, wanted, strict=True):
            assert row[0] == want if system.exact else encloses(row[0], want)


@systems
@given(roots=st.sets(rationals, min_size=0, max_size=6))
def test_simple_roots_finds_planted_roots(system: NumberSystem[Any, Any], roots: set[fmpq]) -> None:
    """Breaks: poles. Over balls every root must be enclosed exactly once, or the system must abstain."""
    coefficients = [fmpq(1)]
    for r in roots:
        shifted = [fmpq(0), *coefficients]
        coefficients = [s - r * c for s, c in zip(shifted, [*coefficients, fmpq(0)], strict=True)]
    with system.context():
        try:
            found = system.simple_roots([system.value(c) for c in coefficients])
        except CannotTell:
            assert not system.exact
            return
    if isinstance(system, PrimeNumbers):
        assert sorted(map(int, found)) == sorted(int(system.value(r)) for r in roots)
    elif system.exact:
        assert sorted(found) == sorted(roots)
    else:
        assert sorted(sum(1 for x in found if encloses(x, r)) for r in roots) == [1] * len(roots)


@systems
def test_roots_outside_the_system_are_refused(system: NumberSystem[Any, Any]) -> None:
    """Breaks: refusing answers that are not those of an attention layer (z² + 1 has no real root, and z² − g
    no root in a prime field)."""
    constant = fmpq(-system.field.generator) if isinstance(system, PrimeNumbers) else fmpq(1)
    with system.context(), pytest.raises(InconsistentAnswers):
        system.simple_roots([system.value(constant), system.value(fmpq(0)), system.value(fmpq(1))])


@systems
def test_double_root_is_never_two_simple_roots(system: NumberSystem[Any, Any]) -> None:
    """Breaks: the promise that poles are distinct."""
    with system.context(), pytest.raises((InconsistentAnswers, CannotTell)):
        system.simple_roots([system.value(fmpq(c)) for c in (4, -4, 1)])


@systems
def test_log_outside_the_image_of_exp_is_refused(system: NumberSystem[Any, Any]) -> None:
    """Breaks: poles on the wrong side, or at 0 in a prime field, must end in a named refusal."""
    with system.context(), pytest.raises(InconsistentAnswers):
        system.log(system.value(fmpq(0 if isinstance(system, PrimeNumbers) else -4)))


@systems
@given(x=rationals)
def test_value_text_reads_back(system: NumberSystem[Any, Any], x: fmpq) -> None:
    """Breaks: resuming from a transcript. Exact values are equal, balls enclose what was written."""
    with system.context():
        value = system.value(x) / system.value(fmpq(3))
        back = system.parse_value(system.value_text(value))
    if system.exact:
        assert back == value
    else:
        assert back.contains(value)
        assert back.rad() <= value.rad() * 2


def test_lattice_exponential_is_a_power_of_two() -> None:
    """Breaks: the specialisation t = e^{1/D} → 2 (recorded values)."""
    assert LogLattice(4).exp(fmpq(-3, 4)) == fmpq(1, 8)
    assert LogLattice(3).log(fmpq(fmpz(2) ** 500)) == fmpq(500, 3)


def test_prime_scores_are_equal_modulo_the_order_of_the_group() -> None:
    """Breaks: a match that is decided modulo p − 1, and the proof that a mismatch is one."""
    numbers = PrimeNumbers(WORD_PRIMES[0], 3)
    turn = fmpq(numbers.field.order, 3)
    assert numbers.equal_scores(fmpq(1, 3) + turn, fmpq(1, 3)) is Decision.YES
    assert numbers.equal_scores(fmpq(1, 3) + turn / 2, fmpq(1, 3)) is Decision.NO
    assert numbers.log(numbers.exp(fmpq(1, 3) + turn)) == fmpq(1, 3)


@pytest.mark.parametrize("number", [0, 2, 15, 2**61 - 1, 2**64 + 13, 2013265921 * 3])
def test_moduli_that_are_no_smooth_primes_are_refused(number: int) -> None:
    """Breaks: python-flint aborts on composite moduli, and logarithms would take for ever."""
    with pytest.raises(InputError):
        PrimeNumbers(number)


@given(q=st.builds(fmpq, st.integers(-(10**9), 10**9), st.integers(1, 10**9)))
def test_lift_returns_short_rationals(q: fmpq) -> None:
    """Breaks: rational v from residues."""
    numbers = PrimeNumbers()
    assert numbers.lift(numbers.value(q)) == q


def test_long_parameters_are_not_lifted() -> None:
    """Breaks: refusal of a parameter that one prime does not determine. For a number of 80 bits the chance
    of a short fraction with the same residue is about 2/3; of ten in a row 2 in 100."""
    numbers = PrimeNumbers()
    refused = 0
    for k in range(10):
        try:
            numbers.lift(numbers.value(fmpq(3**50 + k)))
        except PrecisionExhausted:
            refused += 1
    assert refused > 0


def test_balls_keep_their_own_precision() -> None:
    """Breaks: precision belongs to the object although python-flint keeps it in one global place."""
    widths = []
    for bits in (64, 1024, 64):
        system = Balls(bits)
        with system.context():
            widths.append(float(system.exp(fmpq(1, 3)).rad().log() / arb(2).log()))
    assert widths[0] == widths[2]
    assert widths[1] < widths[0] - 900
