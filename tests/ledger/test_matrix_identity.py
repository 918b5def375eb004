"""Matrix identities for all sizes, against explicit matrices."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Identity, MatrixSymbol, ZeroMatrix

from exactattn.exceptions import InputError
from exactattn.ledger import matrix_equal, trace_equal

n, m = sympy.symbols("n m", integer=True, positive=True)
A, B, S = (MatrixSymbol(name, n, n) for name in "ABS")
P, Q = MatrixSymbol("P", n, m), MatrixSymbol("Q", m, n)
# 3×3 matrices satisfy no identity of degree below 6 that all matrices do not
EXPLICIT = {
    "A": sympy.Matrix([[1, 2, 0], [0, 1, 5], [3, 0, 1]]),
    "B": sympy.Matrix([[2, -1, 1], [1, 0, 4], [0, 7, 1]]),
    "S": sympy.Matrix([[1, 1, 0], [0, 1, 1], [2, 0, 1]]),
}
Recipe = list[tuple[int, list[tuple[str, bool]]]]


def symbolic(recipe: Recipe) -> sympy.MatrixExpr:
    """The sum of multiples of products of letters, transposed or not."""
    total = ZeroMatrix(n, n)
    for factor, word in recipe:
        product = Identity(n)
        for name, transposed in word:
            letter = MatrixSymbol(name, n, n)
            product = product * (letter.T if transposed else letter)
        total = total + factor * product
    return total


def explicit(recipe: Recipe) -> sympy.Matrix:
    """The same with 3×3 integer matrices."""
    total = sympy.zeros(3)
    for factor, word in recipe:
        product = sympy.eye(3)
        for name, transposed in word:
            product = product * (EXPLICIT[name].T if transposed else EXPLICIT[name])
        total += factor * product
    return total


letters = st.tuples(st.sampled_from("ABS"), st.booleans())
words = st.lists(letters, min_size=1, max_size=2)
recipes = st.lists(st.tuples(st.integers(-2, 2), words), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(recipes, recipes)
def test_agrees_with_explicit_matrices(left: Recipe, right: Recipe) -> None:
    """If it fails, the algebra accepts a false identity or refuses a true one of sums of products."""
    assert matrix_equal("", symbolic(left), symbolic(right)).holds == (explicit(left) == explicit(right))


@settings(max_examples=40, deadline=None)
@given(recipes)
def test_transposes_and_orders_of_sums_do_not_matter(recipe: Recipe) -> None:
    """If it fails, true identities would be refused."""
    turned = [(f, [(name, not t) for name, t in reversed(word)]) for f, word in reversed(recipe)]
    assert matrix_equal("", symbolic(recipe).T, symbolic(turned)).holds
    assert trace_equal("", symbolic(recipe), symbolic(turned)).holds


@settings(max_examples=40, deadline=None)
@given(recipes, recipes)
def test_traces_agree_with_explicit_matrices(left: Recipe, right: Recipe) -> None:
    """If it fails, a false statement about gradients and tangents could be accepted."""
    if trace_equal("", symbolic(left), symbolic(right)).holds:
        assert explicit(left).trace() == explicit(right).trace()


def test_relations_and_inverses() -> None:
    """If it fails, orthonormality and inverses, the hypotheses of most identities, are not used."""
    assert matrix_equal("inverse", (S * A).T * (S.I.T * B), A.T * B).holds
    assert not matrix_equal("wrong inverse", (S * A).T * (S.I * B), A.T * B).holds
    orthonormal = {P.T * P: Identity(m)}
    assert matrix_equal("projection", P * P.T * P * P.T, P * P.T, orthonormal).holds
    assert not matrix_equal("no relation", P * P.T * P * P.T, P * P.T).holds
    assert matrix_equal("symmetric", (A * B).T, B.T * A, symmetric=(A,)).holds
    assert not matrix_equal("not symmetric", (A * B).T, B.T * A).holds
    assert matrix_equal("a transposed relation", (B.T * A.T) * S, P * Q * S, {A * B: (P * Q).T}).holds


def test_shapes_are_compared() -> None:
    """If it fails, products that do not exist could be part of a proof."""
    with pytest.raises(InputError, match="shapes"):
        matrix_equal("sides", P, Q)
    with pytest.raises(InputError, match="columns"):
        matrix_equal("product", sympy.MatMul(P, P), P)
    with pytest.raises(InputError, match="square"):
        trace_equal("trace", P, P)
    with pytest.raises(InputError, match="name the inverse"):
        matrix_equal("inverse of a sum", (A + B).I, A)
    with pytest.raises(InputError, match="without end"):
        matrix_equal("turning in circles", A * B * A, B, {A * B: B * A * A * B})
