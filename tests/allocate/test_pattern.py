"""The least head size of an attention pattern: exact ranks, factors that realise it, and open cases."""

from __future__ import annotations

import random

import pytest
import sympy
from flint import fmpq, fmpz_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from exactattn.allocate import AttentionPattern, rank_at_logarithms
from exactattn.exceptions import CannotTell, InputError


def assert_factors_realise(pattern: AttentionPattern) -> None:
    """Q Kᵀ equals the log ratios up to one number a row, as rational functions of the logs of generators."""
    factors = pattern.factors()
    assert factors.size == pattern.head_size
    logs = [sympy.log(sympy.Rational(int(g.p), int(g.q))) for g in pattern.generators]
    letters = sympy.symbols(f"y:{len(logs)}")
    scores = (factors.query * factors.key.T).subs(dict(zip(logs, letters, strict=True)))
    for i, row in enumerate(pattern.rows):
        for j, weight in enumerate(row):
            expression = sympy.cancel(scores[i, j] - scores[i, len(row) - 1])
            exponents = [expression.coeff(letter) for letter in letters]
            linear = sympy.Add(*(e * x for e, x in zip(exponents, letters, strict=True)))
            assert sympy.expand(expression - linear) == 0
            ratio = fmpq(1)
            for g, e in zip(pattern.generators, exponents, strict=True):
                assert e.is_Integer
                ratio *= g ** int(e)
            assert ratio == weight / row[-1]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(0, 3), st.integers(0, 10**6), st.sampled_from(["2", "6", "3/2"]))
def test_lattice_patterns(n: int, rank: int, seed: int, base: str) -> None:
    """Breaks: the rank criterion where everything is exact, or the factors. Second engine: sympy's rank of
    the scores minus their row means."""
    rng = random.Random(seed)

    def integers(rows: int, columns: int) -> sympy.Matrix:
        return sympy.Matrix(rows, columns, lambda *_: rng.randint(-3, 3))

    scores = integers(n, rank) * integers(rank, n) if rank else sympy.zeros(n, n)
    pattern = AttentionPattern.softmax(scores.tolist(), base)
    assert pattern.head_size == (scores * (sympy.eye(n) - sympy.ones(n, n) / n)).rank()
    assert_factors_realise(pattern)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_some_patterns_need_all_of_n_minus_one(n: int) -> None:
    """Breaks: the claim that n − 1 is needed; the pattern doubles the weight of the own token."""
    pattern = AttentionPattern.softmax([[int(i == j) for j in range(n)] for i in range(n)])
    assert pattern.head_size == n - 1
    assert_factors_realise(pattern)


def test_uniform_attention_needs_no_dimension() -> None:
    """Breaks: the empty case, also for one token."""
    assert AttentionPattern.of([["1/2", "1/2"], ["1/2", "1/2"]]).head_size == 0
    assert AttentionPattern.of([[1]]).head_size == 0


def test_rank_that_no_rational_relation_shows() -> None:
    """Breaks: the exact upper bound by polynomials. The log ratios form a skew matrix in log 2, log 3, log 5:
    rank 2, though its rows and columns are independent over Q. K has ratios of logs."""
    pattern = AttentionPattern.normalised(
        [[1, 2, 3, 1], ["1/2", 1, 5, 1], ["1/3", "1/5", 1, 1], [1, 1, 1, 1]]
    )
    assert pattern.generators == (2, 3, 5)
    assert pattern.head_size == 2
    assert "polynomial 0" in pattern.rank.upper_by
    assert "enclosed away from 0" in pattern.rank.lower_by
    assert_factors_realise(pattern)


def test_one_direction_with_many_primes() -> None:
    """Breaks: ranks bounded by rational relations alone, without any factorisation."""
    pattern = AttentionPattern.normalised([[2**i, 3**i, 7**i, 11**i, 13**i] for i in range(1, 6)])
    assert pattern.head_size == 1
    assert_factors_realise(pattern)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 4), st.integers(0, 10**6))
def test_generic_rank_against_sympy(generators: int, seed: int) -> None:
    """Breaks: the Kronecker substitution. Skew forms have even rank; second engine: sympy over Q(x)."""
    rng = random.Random(seed)
    n = rng.choice([3, 4])
    forms = []
    for _ in range(generators):
        upper = sympy.Matrix(n, n, lambda i, j: rng.choice([0, 0, 1, -1, 2]) if i < j else 0)
        forms.append(upper - upper.T)
    letters = sympy.symbols(f"x:{generators}")
    symbolic = sum((x * A for x, A in zip(letters, forms, strict=True)), sympy.zeros(n, n))
    bounds = rank_at_logarithms(
        [fmpz_mat(n, n, [int(x) for x in A]) for A in forms], [fmpq(p) for p in (2, 3, 5, 7)[:generators]]
    )
    assert bounds.value == symbolic.to_DM(field=True).rank()


def test_open_cases_stay_open() -> None:
    """Breaks: honesty. Without any precision for the balls, three generators leave two bounds."""
    forms = [fmpz_mat([[1, 0], [0, 0]]), fmpz_mat([[0, 0], [0, 1]]), fmpz_mat([[0, 1], [1, 0]])]
    bounds = rank_at_logarithms(forms, [fmpq(2), fmpq(3), fmpq(5)], max_precision=1)
    assert (bounds.lower, bounds.upper) == (1, 2)
    with pytest.raises(CannotTell, match="between 1 and 2"):
        _ = bounds.value
    assert rank_at_logarithms(forms, [fmpq(2), fmpq(3), fmpq(5)]).value == 2


def test_random_rationals_have_full_rank() -> None:
    """Breaks: many generators at once, where only balls can decide."""
    rng = random.Random(5)
    pattern = AttentionPattern.normalised([[rng.randint(1, 99) for _ in range(7)] for _ in range(7)])
    assert len(pattern.generators) > 7
    assert pattern.head_size == 6


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["1/2", "1/2"]], r"pattern\[0\]: has 2 entries, but there are 1 rows"),
        ([[1, 0], [0, 1]], r"pattern\[0\]\[1\]: is 0; softmax gives positive weights only"),
        ([["1/2", "1/3"], ["1/2", "1/2"]], r"pattern\[0\]: has the sum 5/6, not 1"),
        ([], "has 0 rows"),
    ],
)
def test_what_is_no_pattern(rows: list[list[object]], message: str) -> None:
    """Breaks: one clear sentence for each way a matrix is not an attention pattern."""
    with pytest.raises(InputError, match=message):
        AttentionPattern.of(rows)
    with pytest.raises(InputError, match=r"pattern\[0\]: has a weight that is not positive"):
        AttentionPattern.normalised([[1, -1], [1, 1]])
