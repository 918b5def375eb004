"""A layer run on given tokens, against formulas written out once more."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from exactattn.exceptions import InputError
from exactattn.identify import AttentionSpec, Pairing, Rotary, Sinks
from exactattn.identify.layer_values import ball_outputs, lattice_outputs

small = st.integers(-2, 2)


@settings(max_examples=30, deadline=None)
@given(st.lists(small, min_size=16, max_size=16), st.lists(st.tuples(small, small), min_size=1, max_size=4))
def test_the_lattice_value_is_the_formula(numbers: list[int], tokens: list[tuple[int, int]]) -> None:
    """Breaks: counterexamples would show the value of something that is not the layer."""
    q, k, v, o = (numbers[4 * i : 4 * i + 4] for i in range(4))
    rows = {name: [x[:2], x[2:]] for name, x in zip("qkvo", (q, k, v, o), strict=True)}
    spec = AttentionSpec.of(width=2, heads=2, sinks=Sinks.ONE)
    weights = {"query": rows["q"], "key": rows["k"], "value": rows["v"], "output": rows["o"]}
    expected = [Fraction(0), Fraction(0)]
    for h in range(2):
        project = {
            name: [r[0] * x + r[1] * y for x, y in tokens] for name, r in ((n, rows[n][h]) for n in "qkv")
        }
        powers = [Fraction(2) ** (project["q"][-1] * key) for key in project["k"]]
        mixed = sum(p * value for p, value in zip(powers, project["v"], strict=True)) / (sum(powers) + 1)
        expected = [expected[i] + rows["o"][i][h] * mixed for i in range(2)]
    found = lattice_outputs(spec, weights, tokens)
    assert [Fraction(int(x.p), int(x.q)) for x in found] == expected


def test_balls_hold_the_rotated_value() -> None:
    """Breaks: an input would be said to separate two layers by values with wrong angles, factor or cap."""
    rotary = Rotary(size=4, pairing=Pairing.INTERLEAVED, base=fmpq(100))
    spec = AttentionSpec.of(width=1, heads=1, head_size=4, value_size=1, rotary=rotary, soft_cap=fmpq(3))
    weights = {"query": [[1], [2], [0], [1]], "key": [[1], [0], [1], [3]], "value": [[1]], "output": [[1]]}
    tokens = [[1], [-1], [2]]
    mp.dps = 40
    scores = []
    for position, (token,) in enumerate(tokens):
        total = mpf(0)
        for plane, step in enumerate((mpf(1), mpf(1) / 10)):
            turn = (2 - position) * step
            a, b = (weights["query"][2 * plane + i][0] * 2 for i in (0, 1))
            c, d = (weights["key"][2 * plane + i][0] * token for i in (0, 1))
            total += mp.cos(turn) * (a * c + b * d) + mp.sin(turn) * (a * d - b * c)
        scores.append(3 * mp.tanh(total / 2 / 3))
    powers = [mp.exp(s) for s in scores]
    expected = sum(p * t for p, (t,) in zip(powers, tokens, strict=True)) / sum(powers)
    with ctx.workprec(100):
        (found,) = ball_outputs(spec, weights, tokens)
        assert abs(found - arb(mp.nstr(expected, 38))) < arb("1e-25")


def test_what_cannot_be_run_is_refused() -> None:
    """Breaks: a value would be shown for angles that nobody knows, or for a rotation that is none."""
    rotary = Rotary(size=2, pairing=Pairing.HALF_SPLIT)
    spec = AttentionSpec.of(width=1, heads=1, head_size=2, value_size=1, rotary=rotary)
    weights = {"query": [[1], [0]], "key": [[1], [0]], "value": [[1]], "output": [[1]]}
    with pytest.raises(InputError, match="angles"):
        ball_outputs(spec, weights, [[1], [2]])
    with pytest.raises(InputError, match="squares"):
        lattice_outputs(spec, weights, [[1], [2]], [(1, 1)])
    assert lattice_outputs(spec, weights, [[3]], [("3/5", "4/5")]) == [fmpq(3)]
