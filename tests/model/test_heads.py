"""Layers, canonical form, queries, evaluation."""

from __future__ import annotations

import math
import random

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from exactattn.exceptions import InputError
from exactattn.model import Attention, Head, Query, evaluate, random_layer, token
from exactattn.numbers import Balls, LogLattice


def some_query(dim: int, rng: random.Random) -> Query:
    def tok() -> tuple[fmpq, ...]:
        return token(*(rng.randint(-3, 3) for _ in range(dim)))

    return Query.of([(tok(), rng.randint(0, 3)) for _ in range(3)], tok())


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 3))
@settings(max_examples=60)
def test_canonical_form_is_the_same_function(seed: int, heads: int, dim: int) -> None:
    """Breaks: merging and dropping heads must not change any value (theory, section 1)."""
    rng = random.Random(seed)
    cancel = rng.randint(0, heads // 2)
    duplicates = rng.randint(0, max(0, heads - 2 * cancel - 1))
    layer = random_layer(heads, dim, seed=seed, cancel=cancel, duplicates=duplicates)
    canonical = layer.canonical()
    assert len(canonical.heads) == heads - duplicates - 2 * cancel
    assert canonical.canonical() == canonical
    for _ in range(3):
        q = some_query(dim, rng)
        assert evaluate(layer, q, LogLattice()) == evaluate(canonical, q, LogLattice())


@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_canonical_form_ignores_order(seed: int, rng: random.Random) -> None:
    """Breaks: equality of layers up to permutation of heads."""
    layer = random_layer(4, 2, seed=seed, duplicates=1)
    shuffled = list(layer.heads)
    rng.shuffle(shuffled)
    assert Attention.of(shuffled).same_function(layer)


@given(st.integers(0, 10**6))
@settings(max_examples=25)
def test_balls_enclose_the_softmax_value(seed: int) -> None:
    """Breaks: ball evaluation; mpmath evaluates the plain definition, token by token, as second engine."""
    rng = random.Random(seed)
    layer = random_layer(3, 2, seed=seed, denominator=4)
    query = some_query(2, rng)
    enclosure = evaluate(layer, query, Balls(200))
    with mp.workdps(80):

        def number(q: fmpq) -> object:
            return mp.mpf(int(q.p)) / int(q.q)

        rows = [[number(x) for x in row] for row in query.expanded()]
        total = mp.mpf(0)
        for head in layer.heads:
            W = mp.matrix([[number(x) for x in row] for row in head.W])
            weights = [mp.exp((mp.matrix([rows[-1]]) * W * mp.matrix(x))[0]) for x in rows]
            values = [mp.fdot(x, [number(c) for c in head.v]) for x in rows]
            total += mp.fdot(weights, values) / mp.fsum(weights)
        middle = mp.mpf(str(enclosure.str(75, radius=False)))
        assert abs(total - middle) < mp.mpf(10) ** -55
    assert enclosure.rad() < fmpq(1, 10**50)


def test_lattice_evaluation_is_softmax_with_base_two() -> None:
    """Breaks: the recorded value Σ 2^s v / Σ 2^s for d = 1 (three copies of 2, then 1)."""
    layer = Attention.of([Head.of([[1]], [1])])
    assert evaluate(layer, Query.of([(token(2), 3)], token(1)), LogLattice()) == fmpq(3 * 4 * 2 + 2 * 1, 14)


def test_denominator_clears_scores() -> None:
    """Breaks: a rational W needs exp(s) = 2^{D s}."""
    layer = Attention.of([Head.of([[0, "1/2"], ["1/3", 0]], [1, 1])])
    assert layer.denominator() == 6
    with pytest.raises(InputError, match="multiple of"):
        evaluate(layer, Query.of([(token(1, 1), 1)], token(0, 1)), LogLattice())
    assert evaluate(layer, Query.of([(token(1, 1), 1)], token(0, 1)), LogLattice(6)) == fmpq(4 * 2 + 1, 5)


def test_query_normal_form() -> None:
    """Breaks: two spellings of one query must have one key, or a query would be asked twice."""
    a, b, c = token(1, 0), token(0, 1), token("1/2", -3)
    left = Query.of([(a, 1), (b, 2), (a, 1)], c)
    right = Query.of([(b, 2), (a, 2), (c, 0)], c)
    assert left == right
    assert left.key == right.key
    assert left.length == 5 == len(left.expanded())


@pytest.mark.parametrize(
    ("W", "v", "word"),
    [([[1, 2]], [1], "1×2"), ([[1]], [1, 2], "2×2"), ([], [], "empty"), ([[math.nan]], [1], "finite")],
)
def test_bad_shapes_are_named(W: list[list[float]], v: list[float], word: str) -> None:
    """Breaks: a user must read what is wrong with the arrays."""
    with pytest.raises(InputError, match=word):
        Head.of(W, v)


def test_random_layer_refuses_the_impossible() -> None:
    """Breaks: planted structure must be what was asked for."""
    for arguments in (
        {"heads": 2, "cancel": 2},
        {"heads": 0},
        {"heads": 3, "duplicates": 3},
        {"heads": 3, "cancel": 1, "duplicates": 1, "dim": 0},
    ):
        with pytest.raises(InputError):
            random_layer(**{"dim": 2, "seed": 1, **arguments})
