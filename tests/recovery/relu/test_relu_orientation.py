"""Orientation, differences with short scores, and the plan with a last token."""

from __future__ import annotations

import itertools

from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from exactattn.model import random_layer
from exactattn.model.random_transformer import random_transformer
from exactattn.model.transformer import Neuron, Transformer, stacked_outputs
from exactattn.numbers import LogLattice, dot
from exactattn.recovery import TokenRange
from exactattn.recovery.relu.differences import Differences
from exactattn.recovery.relu.draws import Draws
from exactattn.recovery.relu.orientation import orient
from exactattn.recovery.relu.plan import LastTokenPlan, ask_and_solve, last_block

LATTICE = LogLattice()


@given(st.integers(0, 10**6), st.integers(1, 7), st.booleans())
def test_oriented_networks_are_the_same_function(seed: int, neurons: int, bypass: bool) -> None:
    """Breaks: the network that is written must be the form; a linear part only if one was there."""
    model = random_transformer(1, 2, neurons, seed=seed, bypass=bypass)
    form = model.canonical()
    found = orient(form)
    for bypassed, network in ((found.bypass, found.neurons), (None, found.as_network)):
        written = Transformer(form.matrices, network, 2, False, bypassed)
        assert written.canonical() == form
    if not bypass:
        assert found.bypass is None
        assert len(found.as_network) == len(form.kinks) == neurons


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_no_orientation_is_overlooked(seed: int, neurons: int) -> None:
    """Breaks: elimination must find a choice of signs whenever trying all 2^K finds one."""
    form = random_transformer(1, 2, neurons, seed=seed, bypass=seed % 2 == 0, size=2).canonical()
    wanted = [x for block in form.linear for x in block]
    columns = [[sign * x for block in D for x in block] for sign, D in form.kinks]
    exists = any(
        [sum((e * c[i] for e, c in zip(signs, columns, strict=True)), fmpq(0)) for i in range(len(wanted))]
        == wanted
        for signs in itertools.product((1, -1), repeat=len(columns))
    )
    assert (orient(form).bypass is None) is exists


def test_a_linear_part_beside_many_neurons() -> None:
    """Breaks: more free signs than can be enumerated must still give the function."""
    neurons = [Neuron.of(1, [[k, 1]]) for k in range(30)]
    model = Transformer.of([[[1, 0], [0, 2]]], neurons, dim=2)
    found = orient(model.canonical())
    assert not found.exhausted
    assert Transformer(model.matrices, found.as_network, 2).same_function(model)


@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
def test_differences_tell_heads_apart(seed: int, heads: int, complete: bool) -> None:
    """Breaks: independent differences with distinct integral scores; short ones where they are solved for."""
    layer = random_layer(heads, 3, seed=seed)
    b = Draws(seed).vector("b", 3, 10**4)
    matrices = [h.W for h in layer.heads]
    differences = Differences(b, matrices, complete, LATTICE, Draws(seed))
    for u in differences.basis():
        scores = [dot(tuple(dot(b, column) for column in zip(*W, strict=True)), u) for W in matrices]
        assert len(set(scores)) == heads
        assert all(s.q == 1 for s in scores)
        if complete and differences._inverse is not None:
            assert max(abs(s) for s in scores) <= 4 + 2 * heads
        if not complete:
            assert all(x.q == 1 for x in u)


@given(st.integers(0, 200))
def test_attention_with_a_last_token(seed: int) -> None:
    """Breaks: heads and the last token's block from 4Hd² − 2H + d answers, here of a known function."""
    layer = random_layer(2, 2, seed=seed)
    last = Draws(seed).vector("v", 2, 9)
    system = LATTICE

    def ask(queries: object) -> list[fmpq]:
        answers = []
        for query in queries:  # type: ignore[attr-defined]
            blocks = stacked_outputs([h.W for h in layer.heads], True, query, system)
            vectors = [*(h.v for h in layer.heads), last]
            terms = [dot(v, tuple(row)) for v, row in zip(vectors, blocks, strict=True)]
            answers.append(system.sum(terms))
        return answers

    plan = LastTokenPlan(2, 2, seed, TokenRange.for_lattice(2, 2)).made_valid()
    assert plan.count == len(plan.queries()) == 4 * 2 * 4 - 4 + 2
    plan, answers, solution = ask_and_solve(plan, ask, system)
    assert [(h.W, h.v) for h in solution.heads] == [(h.W, h.v) for h in layer.canonical().heads]
    assert last_block(plan, answers, system) == last
