"""One evaluation in several number systems: they must agree where one determines the other."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_variants import CASES, biases, of, rotary, table

from exactattn.exceptions import CertificateError
from exactattn.identify import AttentionSpec, Sinks
from exactattn.identify.array_numbers import ArrayNumbers, NoRoot, RationalArrays, ResidueArrays
from exactattn.identify.jacobian import input_sizes, jacobian_rows
from exactattn.identify.kernel import kernel_basis
from exactattn.identify.layer import Constants, LayerRun
from exactattn.identify.parameters import Array, join, parameter_count, parameter_shapes
from exactattn.identify.relations import alibi_steps, independent_powers
from exactattn.identify.specialisation import CHAINS, Point, draw

PRIME = CHAINS[0][0]
MATRICES = st.lists(st.lists(st.integers(0, PRIME - 1), min_size=3, max_size=3), min_size=1, max_size=4)


@given(MATRICES, MATRICES)
def test_contraction_is_exact(a: list[list[int]], b: list[list[int]]) -> None:
    """Limbs in float64 must give the sum of products of integers; one lost bit would change a rank."""
    found = ResidueArrays(PRIME).contract("ik,jk->ij", np.array(a), np.array(b))
    assert found.tolist() == [[sum(x * y for x, y in zip(r, s, strict=True)) % PRIME for s in b] for r in a]


@given(st.integers(1, PRIME - 1), st.integers(0, 2**31 - 1))
def test_powers_roots_and_inverses(x: int, e: int) -> None:
    """Roots exist of exactly half of the residues, and are refused of the others."""
    numbers = ResidueArrays(PRIME)
    array = np.array([x])
    assert numbers.power(array, e)[0] == pow(x, e, PRIME)
    assert numbers.inverse(array)[0] * x % PRIME == 1
    if numbers.is_square(array)[0]:
        assert int(numbers.root(array)[0]) ** 2 % PRIME == x
    else:
        with pytest.raises(NoRoot):
            numbers.root(array)


def test_prime_chains() -> None:
    """Exponentials modulo p need q = (p − 1)/2 prime, caps also (q − 1)/2; roots need 3 modulo 4."""
    for p, q, rest in CHAINS:
        assert (p, q) == (2 * q + 1, 2 * rest + 1)
        assert p > 2**30
        for prime in (p, q, rest):
            ResidueArrays(prime)
        assert pow(4, q, p) == 1
        assert pow(4, rest, q) == 1


def rational_jacobian(spec: AttentionSpec, numbers: ArrayNumbers, exponential: Any, seed: int) -> Array:
    """The Jacobian at integral parameters and tokens, in the given numbers."""
    source = random.Random(seed)

    def drawn(shape: tuple[int, ...]) -> Array:
        entries = [fmpq(source.choice([-2, -1, 1, 2])) for _ in range(int(np.prod(shape)))]
        if isinstance(numbers, ResidueArrays):
            return np.array([numbers.constant(x) for x in entries], dtype=np.int64).reshape(shape)
        return np.array(entries, dtype=object).reshape(shape)

    parameters = {name: drawn(shape) for name, shape in parameter_shapes(spec).items()}
    empty = numbers.zeros((3, 0))
    constants = Constants(empty, empty, drawn((spec.heads,)), numbers.constant(fmpq(1)))
    run = LayerRun(spec, numbers, parameters, constants, exponential)
    outputs = run.outputs(drawn((3, spec.width)), None, [0, 2])
    unit = numbers.zeros((2 * spec.width, 2, spec.width))
    for k in range(2 * spec.width):
        unit[k, k // spec.width, k % spec.width] = numbers.constant(fmpq(1))
    parts = run.tape.pull_back(outputs, unit, list(run.leaves.values()))
    return join(dict(zip(run.leaves, parts, strict=True)), parameter_shapes(spec), lead=1)


@settings(max_examples=8, deadline=None)
@given(
    st.sampled_from(
        [
            of(3, 1, **biases("qkvo")),
            of(4, 2, 1, **biases("v"), sinks=Sinks.LEARNED),
            of(4, 2, alibi=True, sinks=Sinks.ONE),
            of(2, 1, relative_bias=table(4, 3, True), causal=False),
        ]
    ),
    st.integers(0, 99),
)
def test_residues_are_those_of_rationals(spec: AttentionSpec, seed: int) -> None:
    """With exp(s) = 4^s for integers s the rational Jacobian reduces to the one modulo p, entry by entry."""
    numbers = ResidueArrays(PRIME)

    def over_q(_: str, x: Array) -> Array:
        values = [fmpq(4) ** int(e.p) for e in x.flat]
        return np.array(values, dtype=object).reshape(x.shape)

    def modulo_p(_: str, x: Array) -> Array:
        signed = np.where(x > PRIME // 2, x - PRIME, x)
        return numbers.power(np.full_like(x, 4), signed % (PRIME - 1))

    exact = rational_jacobian(spec, RationalArrays(), over_q, seed)
    found = rational_jacobian(spec, numbers, modulo_p, seed)
    assert found.tolist() == [[numbers.constant(x) for x in row] for row in exact]


def test_rows_are_numbered_by_position_and_coordinate() -> None:
    """A wrong number would make the checker look at another output."""
    spec = of(3, 1, causal=True)
    point = Point.draw(spec, 1, ((2, 0), (3, 0)))
    parts = list(jacobian_rows(point))
    assert [number for part in parts for number in part.numbers] == list(range(15))
    alone = list(jacobian_rows(point, [1]))
    assert (alone[0].rows == parts[1].rows).all()


@pytest.mark.parametrize("spec", [spec for _, spec in CASES[::7]], ids=[name for name, _ in CASES[::7]])
def test_enough_inputs_are_planned(spec: AttentionSpec) -> None:
    """Fewer outputs than parameters could never show the rank."""
    needed = parameter_count(spec)
    sizes = input_sizes(spec, needed)
    assert sum(n for n, _ in sizes) * spec.width >= needed


def test_draws_do_not_depend_on_their_number() -> None:
    """Tokens are drawn one by one: a longer plan must not change earlier ones."""
    assert (draw(3, PRIME, "token 0", 5)[:2] == draw(3, PRIME, "token 0", 2)).all()


@pytest.mark.parametrize("base", [10000, 500000, 1000000, 7, 4])
@pytest.mark.parametrize("planes", [1, 2, 6, 32, 64])
def test_angles_independent_over_the_rationals(base: int, planes: int) -> None:
    """β^d = 1/ratio must hold exactly, and for no smaller d: else relations between angles would be lost."""
    d, ratio = independent_powers(fmpq(base), planes)
    assert ratio**planes == fmpq(base) ** d
    smaller = [k for k in range(1, d) if _is_power(base**k, planes)]
    assert smaller == []


def _is_power(x: int, degree: int) -> bool:
    low, high = 1, x + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= x else (low, middle)
    return low**degree == x


@pytest.mark.parametrize("heads", [1, 2, 3, 4, 8, 12, 16, 40])
def test_alibi_slopes_are_the_published_ones(heads: int) -> None:
    """Slopes of the first power of two of the heads, then every other one of twice as many."""
    steps, independent = alibi_steps(heads)
    power = 1 << (heads.bit_length() - 1)
    unit = -4.0 / power if power >= 4 else -1.0
    published = [2 ** (-8.0 * (h + 1) / power) for h in range(power)]
    published += [2 ** (-8.0 * (2 * h + 1) / (2 * power)) for h in range(heads - power)]
    assert np.allclose([2 ** (unit * k) for k in steps], published)
    assert 2 ** (unit * independent) == 0.5


@given(st.lists(st.lists(st.integers(-5, 5), min_size=4, max_size=4), min_size=1, max_size=3))
def test_kernels_are_orthogonal(rows: list[list[int]]) -> None:
    """A vector outside the kernel would be a tangent that changes the function."""
    exact = [[fmpq(x) for x in row] for row in rows]
    try:
        basis = kernel_basis(exact, 4, fmpq(1))
    except CertificateError:
        return
    assert len(basis) == 4 - len(rows)
    assert all(sum(x * y for x, y in zip(row, v, strict=True)) == 0 for row in exact for v in basis)


def test_rotations_of_true_angles_keep_their_relations() -> None:
    """Base 10 000, 4 planes: angles 1, 1/10, 1/100, 1/1000; ten steps of a plane are one of that before."""
    spec = of(9, 1, head_size=8, rotary=rotary(8, base=fmpq(10000)))
    constants = Point.draw(spec, 1, ((2, 0),)).levels[0].constants(12)
    for turned in (constants.cosines, constants.sines):
        assert (turned[10, 1:] == turned[1, :-1]).all()
        assert len(set(turned[1].tolist())) == 4
