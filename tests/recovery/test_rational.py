"""Laws of exact rational interpolation: what is returned is the planted function, or the reason why none is.

Two engines are compared throughout: images modulo primes (the fast way) and elimination over Q; sympy is a
third. If one of these fails, poles, residues or the number of heads recovered from answers are wrong.
"""

from __future__ import annotations

from itertools import islice

import pytest
import sympy
from flint import fmpq
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from interpolation_cases import (
    Engine,
    Sample,
    by_elimination,
    by_primes,
    copy_counts,
    engines,
    form,
    power,
    sampled,
)

from exactattn.exceptions import InconsistentAnswers
from exactattn.numbers import LogLattice
from exactattn.recovery import PartialFractions, rational
from exactattn.recovery.lifting import lifted
from exactattn.recovery.prony import prony
from exactattn.recovery.rational import partial_fractions_over_q

short = st.builds(fmpq, st.integers(-50, 50), st.integers(1, 12))
long = st.builds(fmpq, st.integers(-(2**200), 2**200), st.integers(1, 2**200))
powers = st.builds(power, st.integers(-300, 300))
poles = st.one_of(short, powers, long)
residues = st.one_of(short, short, powers, long).filter(lambda c: c != 0)
whole_or_not = st.one_of(st.builds(fmpq, st.integers(1, 30)), short)


@st.composite
def planted(
    draw: st.DrawFn, nodes: st.SearchStrategy[fmpq] = whole_or_not
) -> tuple[Sample, int, PartialFractions]:
    """Samples of a random form, with spare poles and spare samples."""
    rank = draw(st.integers(0, 4))
    r = draw(st.lists(poles, min_size=rank, max_size=rank, unique_by=str))
    pairs = [(x, draw(residues)) for x in r]
    max_poles = rank + draw(st.integers(0, 2))
    size = 2 * max_poles + draw(st.integers(0, 3))
    xs = draw(st.lists(nodes.filter(lambda x: -x not in r), min_size=size, max_size=size, unique_by=str))
    return (xs, sampled(xs, pairs)), max_poles, form(pairs)


@engines
@settings(max_examples=60, deadline=None)
@given(case=planted())
def test_the_planted_function_comes_back(engine: Engine, case: tuple[Sample, int, PartialFractions]) -> None:
    """Breaks: poles, residues and rank, with spare poles, spare samples, rational nodes and any height."""
    (nodes, values), max_poles, g = case
    assert engine(nodes, values, max_poles) == g


@settings(max_examples=40, deadline=None)
@given(case=planted(), seed=st.randoms(use_true_random=False))
def test_order_of_samples_does_not_matter(case: tuple[Sample, int, PartialFractions], seed: object) -> None:
    """Breaks: recordings that list their samples in another order."""
    (nodes, values), max_poles, g = case
    samples = list(zip(nodes, values, strict=True))
    seed.shuffle(samples)  # type: ignore[attr-defined]
    assert by_primes([x for x, _ in samples], [y for _, y in samples], max_poles) == g


def outcome(engine: Engine, nodes: list[fmpq], values: list[fmpq], max_poles: int) -> PartialFractions | None:
    try:
        return engine(nodes, values, max_poles)
    except InconsistentAnswers:
        return None


def by_general_prony(nodes: list[fmpq], values: list[fmpq], max_poles: int) -> PartialFractions:
    g = prony(nodes, values, max_poles, LogLattice())
    lattice = LogLattice()
    if any(-r in nodes for r in g.poles) or any(
        g(x, lattice) != y for x, y in zip(nodes, values, strict=True)
    ):
        raise InconsistentAnswers("not taken")
    return form(list(zip(g.poles, g.residues, strict=True)))


@settings(max_examples=150, deadline=None)
@given(data=st.data(), max_poles=st.integers(0, 3), spare=st.integers(0, 1))
def test_engines_agree_on_arbitrary_values(data: st.DataObject, max_poles: int, spare: int) -> None:
    """Breaks: the decision whether any attention layer of that size gives these answers."""
    size = 2 * max_poles + spare
    tiny = st.builds(fmpq, st.integers(-3, 3), st.integers(1, 3))
    values = data.draw(st.lists(tiny, min_size=size, max_size=size))
    nodes = copy_counts(size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rational, "ELIMINATION_POLES", -1)
        fast = outcome(partial_fractions_over_q, nodes, values, max_poles)
    assert fast == outcome(by_elimination, nodes, values, max_poles)
    assert fast == outcome(by_general_prony, nodes, values, max_poles)


@pytest.mark.parametrize("rank", [1, 2, 3, 5])
@pytest.mark.parametrize("engine", [partial_fractions_over_q, by_primes], ids=lambda f: f.__name__)
def test_agrees_with_sympy(engine: Engine, rank: int) -> None:
    """Breaks: agreement with rational interpolation of another computer-algebra system."""
    nodes = copy_counts(2 * rank)
    values = sampled(nodes, [(fmpq(3 * h + 1, h + 2), fmpq(2 * h + 1, 5 - 2 * h)) for h in range(rank)])
    samples = [
        (sympy.Rational(int(x.p), int(x.q)), sympy.Rational(int(y.p), int(y.q)))
        for x, y in zip(nodes, values, strict=True)
    ]
    x = sympy.Symbol("x")
    other = sympy.polys.polyfuncs.rational_interpolate(samples, rank - 1, X=x)
    g = engine(nodes, values, rank)
    ours = sum(
        sympy.Rational(int(c.p), int(c.q)) / (x + sympy.Rational(int(r.p), int(r.q)))
        for r, c in zip(g.poles, g.residues, strict=True)
    )
    assert sympy.cancel(other - ours) == 0
    assert sympy.apart(sympy.cancel(other), x).equals(ours)


@pytest.mark.parametrize("bound", [100, 2000, 15000])
def test_powers_of_two_need_no_lifting(bound: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks: the log-lattice, where scores make poles of tens of thousands of bits."""
    monkeypatch.setattr(rational, "lifted", lambda *arguments: islice(lifted(*arguments), 1))
    exponents = [-bound, bound, -bound // 3, bound // 7, 1, -bound // 11]
    pairs = [(power(e), fmpq(h + 1, 2 - 5 * h)) for h, e in enumerate(exponents)]
    nodes = copy_counts(12)
    assert by_primes(nodes, sampled(nodes, pairs), 6) == form(pairs)


def test_a_pole_of_a_million_bits() -> None:
    """Breaks: very large scores on the log-lattice."""
    pairs = [(power(2**20), fmpq(-7, 3)), (power(-(2**20) + 1), fmpq(5))]
    nodes = copy_counts(4)
    assert by_primes(nodes, sampled(nodes, pairs), 2) == form(pairs)


def test_sums_of_two_powers_are_lifted() -> None:
    """Breaks: queries with two distinct tokens before the last, whose poles are sums of two exponentials."""
    pairs = [(power(150 * h) + power(-97 * h), power(60 - 41 * h) - 3) for h in range(5)]
    nodes = [fmpq(m) for m in range(1, 12)]
    assert by_primes(nodes, sampled(nodes, pairs), 5) == form(pairs)


@settings(max_examples=40, deadline=None)
@given(case=planted(), data=st.data())
def test_one_wrong_value_is_never_taken(
    case: tuple[Sample, int, PartialFractions], data: st.DataObject
) -> None:
    """Breaks: the guarantee that a result takes every sample."""
    (nodes, values), max_poles, _ = case
    assume(values)
    index = data.draw(st.integers(0, len(values) - 1))
    values[index] += 1
    for engine in (partial_fractions_over_q, by_elimination):
        g = outcome(engine, nodes, values, max_poles)
        if g is not None:
            assert len(nodes) == 2 * max_poles or g.rank == max_poles
            assert [g(x, LogLattice()) for x in nodes] == values


@engines
def test_zero_function(engine: Engine) -> None:
    """Breaks: layers without heads."""
    for size, max_poles in [(0, 0), (3, 0), (2, 1), (14, 7)]:
        assert engine(copy_counts(size), [fmpq(0)] * size, max_poles) == PartialFractions((), ())
