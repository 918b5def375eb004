"""Coincidences on the log-lattice: foreseen from earlier answers, they cost no query; others draw again.

Layers are made to coincide at the very vectors that a plan draws, which chance does rarely.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from flint import fmpq
from hypothesis import assume, given
from hypothesis import strategies as st
from planted_layers import integral_layer

from exactattn.model import Attention, Head
from exactattn.numbers import LogLattice, Vector, dot, to_matrix
from exactattn.oracle import ExactOracle
from exactattn.recovery import Recovery, recover
from exactattn.recovery.draw import has_short_relation
from exactattn.recovery.methods.directions import separates, separates_alone
from exactattn.recovery.methods.first_row import linked_first_row
from exactattn.recovery.methods.matching_rules import shared_labels, unique_matching
from exactattn.recovery.methods.staged_plan import StagedPlan
from exactattn.recovery.methods.two_powers import two_exponents, two_to
from exactattn.recovery.partial_fractions import PartialFractions
from exactattn.recovery.start import first_plan

METHODS = ("optimal", "consistent")


def drawn_plan(method: Any, heads: int, dim: int, seed: int) -> StagedPlan:
    """The plan of a run, before the first answer."""
    plan = first_plan(method, heads, dim, seed, exact=True, rounds=True)
    assert isinstance(plan, StagedPlan)
    return plan


def orthogonal(x: Vector, k: int = 0) -> list[fmpq]:
    """A vector orthogonal to x, in coordinates k and k + 1."""
    found = [fmpq(0)] * len(x)
    found[k], found[k + 1] = x[k + 1], -x[k]
    return found


def outer(x: Any, y: Any) -> list[list[fmpq]]:
    return [[a * b for b in y] for a in x]


def at_the_count(result: Recovery, layer: Attention) -> None:
    assert result.matches(layer)
    assert result.redraws == 0
    assert result.queries == result.formula


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dim", [2, 3, 4])
def test_a_head_that_the_base_probe_does_not_see(method: Any, dim: int) -> None:
    """Breaks: v·b_1 = 0 hides a head from the base probe. The probes before it show that, and a further token
    takes its place at the same count; with H unknown, too."""
    for seed in range(4):
        b = drawn_plan(method, 3, dim, seed).b[0]
        base = integral_layer(3, dim, dim, seed)
        layer = Attention.of([Head.of(base.heads[0].W, orthogonal(b)), *base.heads[1:]])
        result = recover(ExactOracle(layer), 3, method=method, seed=seed)
        at_the_count(result, layer)
        assert isinstance(result.plan, StagedPlan)
        assert result.plan.by_tokens
        free = recover(ExactOracle(layer), None, method=method, seed=seed)
        assert free.matches(layer)
        assert free.queries == result.formula + 2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dim", [2, 3, 4])
def test_heads_that_agree_in_every_quadratic_form(method: Any, dim: int) -> None:
    """Breaks: two W that differ by an antisymmetric matrix have one b^T W b for every b, so that no base
    probe can tell the heads apart."""
    for seed in range(4):
        base = integral_layer(2, dim, dim, seed)
        first, second = base.heads
        W = [list(row) for row in first.W]
        W[0][1] += 3
        W[1][0] -= 3
        layer = Attention.of([first, Head.of(W, second.v)])
        at_the_count(recover(ExactOracle(layer), 2, method=method, seed=seed), layer)
        free = recover(ExactOracle(layer), None, method=method, seed=seed)
        assert free.matches(layer)
        assert free.queries <= 2 * free.plan.count // len(free.heads) + 2


@pytest.mark.parametrize("method", METHODS)
def test_heads_that_share_the_poles_of_a_row(method: Any) -> None:
    """Breaks: b_2^T (W − W') = 0 gives two heads the same poles in a whole row. Their residues add up, and
    as every v_h is known, the sum shows both."""
    for seed in range(4):
        b = drawn_plan(method, 3, 3, seed).b[1]
        base = integral_layer(3, 3, 3, seed)
        same = [[x + y for x, y in zip(r, s, strict=True)]
                for r, s in zip(base.heads[0].W, outer(orthogonal(b), (1, 2, -1)), strict=True)]  # fmt: skip
        layer = Attention.of([*base.heads[:2], Head.of(same, base.heads[2].v)])
        at_the_count(recover(ExactOracle(layer), 3, method=method, seed=seed), layer)


@pytest.mark.parametrize("method", METHODS)
def test_a_first_row_that_hides_a_head_is_drawn_again(method: Any) -> None:
    """Breaks: b_1^T W = 0 makes a head coincide with one of W = 0 in the whole first row, which no token can
    mend; then b_1 must be replaced, known number of heads or not."""
    b = drawn_plan(method, 2, 2, 1).b[0]
    layer = Attention.of([Head.of(outer(orthogonal(b), (1, 2)), [1, 3]), Head.of([[0, 0], [0, 0]], [2, -5])])
    for heads in (2, None):
        result = recover(ExactOracle(layer), heads, method=method, seed=1)
        assert result.matches(layer)
        assert 0 < result.redraws < 6


def test_no_heads_at_all_is_verified() -> None:
    """Breaks: W = 0 and v·(a_2 + b_1) = 0 answers the count of heads with zeros only. That must not end as
    the zero function."""
    plan = drawn_plan("optimal", 4, 2, 1)
    total = tuple(x + y for x, y in zip(plan.b[0], plan.first_basis[1], strict=True))
    layer = Attention.of([Head.of([[0, 0], [0, 0]], orthogonal(total))])
    result = recover(ExactOracle(layer), None, method="optimal", seed=1)
    assert result.matches(layer)
    assert result.redraws > 0


numbers = st.integers(-60, 60).map(fmpq)
exponents = st.integers(-12, 12)


@given(st.lists(st.tuples(numbers, numbers, exponents, exponents), min_size=1, max_size=4))
def test_separated_heads_cannot_be_confused(heads: list[tuple[fmpq, fmpq, int, int]]) -> None:
    """Breaks: the condition on directions. If it holds, then whatever the exponents are, no residue vanishes
    and only its own head explains that of a pole, in one way."""
    alpha, beta = [a for a, _, _, _ in heads], [b for _, b, _, _ in heads]
    assume(separates(alpha, beta))
    for h, (a, b, e, f) in enumerate(heads):
        S = two_to(e) * a + two_to(f) * b
        assert S != 0
        ways = {(g, x, y) for g in range(len(heads)) for x, y in ((e, f), (f, e))
                if two_to(x) * alpha[g] + two_to(y) * beta[g] == S}  # fmt: skip
        assert ways == {(h, e, f)}


def test_what_directions_must_avoid() -> None:
    """Breaks: each single condition."""
    assert not separates([fmpq(3)], [fmpq(3)])
    assert not separates([fmpq(3)], [fmpq(-12)])
    assert not separates([fmpq(3), fmpq(5)], [fmpq(7), fmpq(3)])
    assert not separates_alone([fmpq(3), fmpq(0)])
    assert has_short_relation((fmpq(0), fmpq(3), fmpq(5), fmpq(7), fmpq(11)))


@given(exponents, exponents)
def test_two_exponents_are_found(e: int, f: int) -> None:
    """Breaks: reading a pole."""
    assert two_exponents(two_to(e) + two_to(f)) == ((e, f) if e <= f else (f, e))


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True), min_size=4, max_size=4))
def test_matching_is_unique_or_none(candidates: list[list[int]]) -> None:
    """Breaks: labels where heads have several candidates; compared with all permutations."""

    fitting = [p for p in permutations(range(4)) if all(k in c for k, c in zip(p, candidates, strict=True))]
    assert unique_matching(candidates) == (list(fitting[0]) if len(fitting) == 1 else None)


def test_labels_that_add_up_must_do_so_in_one_way() -> None:
    """Breaks: a pole shared by heads that could also be shared otherwise must be refused."""
    one = [[(0, fmpq(2), "x")], [(0, fmpq(3), "y")]]
    assert shared_labels([fmpq(5)], one) == ["x", "y"]
    two = [[(0, fmpq(2), "x"), (0, fmpq(3), "z")], [(0, fmpq(3), "y"), (0, fmpq(2), "w")]]
    assert shared_labels([fmpq(5)], two) is None
    assert shared_labels([fmpq(6)], one) is None


@given(st.data(), st.integers(2, 3), st.integers(1, 3))
def test_a_first_row_by_tokens(data: st.DataObject, dim: int, heads: int) -> None:
    """Breaks: the first row without a base probe: rows and v come back from the poles and residues of d
    tokens, or None."""
    small = st.integers(-9, 9)

    def vectors(count: int) -> list[Vector]:
        return [
            tuple(map(fmpq, data.draw(st.lists(small, min_size=dim, max_size=dim)))) for _ in range(count)
        ]

    tokens, (last,), rows, vs = vectors(dim), vectors(1), vectors(heads), vectors(heads)
    probes = []
    for a in tokens:
        shown: dict[fmpq, fmpq] = {}
        for row, v in zip(rows, vs, strict=True):
            x, y = two_to(int(dot(row, a).p)), two_to(int(dot(row, last).p))
            shown[x + y] = shown.get(x + y, fmpq(0)) + x * dot(v, a) + y * dot(v, last)
        poles = sorted(R for R, S in shown.items() if S != 0)
        probes.append(PartialFractions(tuple(poles), tuple(shown[R] for R in poles)))

    assume(to_matrix(tokens).det() != 0 and {len(g.poles) for g in probes} == {heads})
    first = linked_first_row(probes, tokens, last, LogLattice())
    if first is not None:
        assert set(zip(first.row, first.v, strict=True)) == set(zip(rows, vs, strict=True))
