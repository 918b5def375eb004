"""The finite-perturbation identities, exactly, and the a-priori theorem against perturbed recoveries."""

from __future__ import annotations

import math
from random import Random

import pytest
from error_samples import LATTICE, random_error, sample_centre, sample_layer, variants
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st
from perturbed_runs import Run, entry_checks

from exactattn.errors import (
    Bounds,
    Design,
    ErrorTheorem,
    FirstOrder,
    Limit,
    Node,
    centre_of_layer,
    response,
)

ONE = fmpq(1)
POSITIVE = st.fractions(min_value=0, max_value=5, max_denominator=5).filter(bool)


def _fmpq(x: object) -> fmpq:
    return fmpq(x.numerator, x.denominator)  # type: ignore[attr-defined]


@st.composite
def two_functions(draw: st.DrawFn) -> tuple[list[Node], list[fmpq], list[fmpq], list[fmpq], list[fmpq]]:
    """Nodes, poles and residues of one function, and of another with other poles."""
    heads = draw(st.integers(1, 3))
    distinct = st.lists(POSITIVE, min_size=2 * heads, max_size=2 * heads, unique=True)
    numbers = [_fmpq(x) for x in draw(distinct)]
    c = st.fractions(min_value=-3, max_value=3, max_denominator=4).filter(bool)
    residues = [_fmpq(x) for x in draw(st.lists(c, min_size=2 * heads, max_size=2 * heads))]
    ratios = draw(distinct)
    nodes = [Node(x.numerator, x.denominator) for x in ratios]
    if draw(st.booleans()):
        nodes[0] = Node(1, 0)
    return nodes, numbers[:heads], residues[:heads], numbers[heads:], residues[heads:]


def _product(factors: object) -> fmpq:
    return math.prod(factors, start=ONE)  # type: ignore[call-overload, no-any-return]


@given(two_functions(), POSITIVE)
def test_finite_identity_of_poles_and_sums(
    functions: tuple[list[Node], list[fmpq], list[fmpq], list[fmpq], list[fmpq]], shift: object
) -> None:
    """If this fails, the identity that every box rests on is wrong: for any two functions r, c and r', c'
    and any shift ν of V·b, r'_h − r_h is the first-order response times ω, and the sums of the residues
    follow."""
    nodes, r, c, s, e = functions
    nu = _fmpq(shift)
    own = response(nodes, r, c)
    errors = []  # φ_m, such that the samples with V·b + ν become those of the second function
    for node in nodes:
        if node.is_infinite:
            errors.append(nu - (sum(e, 0 * ONE) - sum(c, 0 * ONE)))
        else:
            x = node.ratio
            change = sum((d / (x + t) for t, d in zip(s, e, strict=True)), 0 * ONE) - sum(
                (d / (x + t) for t, d in zip(r, c, strict=True)), 0 * ONE
            )
            errors.append(nu - x * change)

    def outside(node: Node) -> fmpq:
        if node.is_infinite:
            return ONE
        return _product((node.ratio + t) / (node.ratio + q) for q, t in zip(r, s, strict=True))

    inside = _product(t / q for q, t in zip(r, s, strict=True))
    for h, q in enumerate(r):
        # the pole of the second function that is compared with r_h is s_h: any order will do
        apart = _product(s[g] - q for g in range(len(r)) if g != h)
        if apart == 0:
            continue
        ratio = _product(r[g] - q for g in range(len(r)) if g != h) / apart
        moved = sum(
            (a * phi * outside(n) for a, phi, n in zip(own.log_pole[h], errors, nodes, strict=True)), 0 * ONE
        )
        moved += own.log_pole_constant[h] * nu * inside
        assert s[h] - q == q * ratio * moved
    total = sum((t * phi * outside(n) for t, phi, n in zip(own.total, errors, nodes, strict=True)), 0 * ONE)
    share = 0 if any(n.is_infinite for n in nodes) else own.constant_share
    total += (1 - share * inside) * nu
    assert sum(e, 0 * ONE) - sum(c, 0 * ONE) == total


@pytest.mark.parametrize(("heads", "dim"), [(1, 2), (2, 2), (2, 3)])
def test_errors_stay_within_the_bound(heads: int, dim: int) -> None:
    """If this fails, the theorem is false: a perturbation of allowed size moved a parameter by more than its
    bound, or broke the labels. At tiny ε the signs of a row must also attain its bound."""
    layer, centre = sample_centre(heads, dim, 2)
    rng = Random(heads + 10 * dim)
    for design in variants(centre.design):
        run = Run(layer, design)
        theorem = ErrorTheorem(run.first)
        for epsilon in (theorem.epsilon0, theorem.epsilon0 / 10, fmpq(1, 10**60)):
            bounds = theorem.bounds(epsilon)
            assert isinstance(bounds, Bounds)
            noise = [random_error(rng, epsilon) for _ in range(design.count)]
            adversary = run.adversarial(run.worst_row(), epsilon)
            ratios = [entry_checks(run, bounds, errors)[1] for errors in (noise, adversary)]
            assert all(x <= 1 for x in ratios)
        assert ratios[1] > arb("0.999")


@pytest.mark.slow
@pytest.mark.parametrize(("heads", "dim"), [(1, 2), (2, 2), (2, 3), (3, 3), (4, 4)])
def test_fifty_thousand_entries_stay_within_the_bound(heads: int, dim: int) -> None:
    """The same for five models of each size, published and direct, at ε0, ε0/10, ε0/1000 and 10^-60: over
    10 000 entries a size."""
    rng = Random(heads + 10 * dim)
    checked = 0
    per_run = heads * (dim * dim + dim)
    repeats = 1 + 10_500 // (5 * 2 * 4 * per_run * 2)
    for seed in range(5):
        layer, centre = sample_centre(heads, dim, seed)
        for design in (centre.design, centre.design.direct()):
            run = Run(layer, design)
            theorem = ErrorTheorem(run.first)
            tiny = min(fmpq(1, 10**60), theorem.epsilon0 / 10**6)
            for epsilon in (theorem.epsilon0, theorem.epsilon0 / 10, theorem.epsilon0 / 1000, tiny):
                bounds = theorem.bounds(epsilon)
                assert isinstance(bounds, Bounds)
                for n in range(repeats):
                    adversary = run.adversarial(run.worst_row() if n == 0 else run.random_row(rng), epsilon)
                    noise = [random_error(rng, epsilon) for _ in range(design.count)]
                    for errors in (adversary, noise):
                        count, worst = entry_checks(run, bounds, errors)
                        checked += count
                        assert worst <= 1
                        if n == 0 and errors is adversary and epsilon == tiny:
                            assert worst > arb("0.999")
    assert checked >= 10_000


def test_epsilon0_is_where_the_conditions_end() -> None:
    """If this fails, ε0 is not the largest feasible one, or the condition named is not the one that fails."""
    for seed in range(3):
        theorem = ErrorTheorem(FirstOrder(sample_centre(2, 2, seed)[1]))
        above = theorem.epsilon0 * fmpq(17, 16)
        failed = theorem.limit_at(above)
        assert theorem.limit_at(theorem.epsilon0) is None
        assert failed is not None
        assert isinstance(theorem.bounds(2 * theorem.epsilon0), Limit)
        assert theorem.limit.condition in {"poles", "residues", "matching", "sharpness"}
        assert theorem.limit_at(theorem.epsilon0 / 1000) is None


def test_bound_grows_with_epsilon_and_starts_at_first_order() -> None:
    """If this fails, C(ε0) does not serve smaller ε, or C(ε) does not tend to C1."""
    theorem = ErrorTheorem(FirstOrder(sample_centre(2, 2, 0)[1]))
    sizes = []
    for k in (10**6, 100, 1):
        bounds = theorem.bounds(theorem.epsilon0 / k)
        assert isinstance(bounds, Bounds)
        sizes.append(bounds.largest)
    assert sizes[0] <= sizes[1] <= sizes[2]
    with ctx.workprec(100):
        first = arb(theorem.first.largest)
        assert first <= sizes[0]
        assert sizes[0] < first * arb("1.00001")


def test_direct_design_has_bounds_too() -> None:
    """If this fails, designs that ask V·b directly are not covered by the theorem."""
    layer = sample_layer(2, 2, 0)
    design: Design = sample_centre(2, 2, 0)[1].design.direct()
    theorem = ErrorTheorem(FirstOrder(centre_of_layer(design, layer, LATTICE)))
    assert theorem.epsilon0 > 0
