"""First-order constants: against exact inverses, exact Jacobians, and exact finite differences."""

from __future__ import annotations

import pytest
from error_samples import LATTICE, mixed_nodes, sample_centre, sample_design, sample_layer, variants
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from exactattn.errors import (
    Design,
    FirstOrder,
    Node,
    NotGeneric,
    answer_jacobian,
    centre_of_layer,
    colliding_families,
    generic_plan,
    one_norm,
    published_nodes,
    response,
    square_constants,
)
from exactattn.exceptions import InputError
from exactattn.model import Attention
from exactattn.recovery import PublishedPlan, TokenRange

ZERO = fmpq(0)
RATIONALS = st.fractions(min_value=-4, max_value=4, max_denominator=6).map(
    lambda x: fmpq(x.numerator, x.denominator)
)


@st.composite
def families(draw: st.DrawFn) -> tuple[list[Node], list[fmpq], list[fmpq]]:
    """Distinct finite nodes, distinct positive poles, residues that are not 0."""
    heads = draw(st.integers(1, 3))
    positive = RATIONALS.filter(lambda x: x > 0)
    poles = draw(st.lists(positive, min_size=heads, max_size=heads, unique=True))
    residues = draw(st.lists(RATIONALS.filter(lambda x: x != 0), min_size=heads, max_size=heads))
    ratios = st.lists(positive, min_size=2 * heads, max_size=2 * heads, unique=True)
    nodes = [Node(int(x.p), int(x.q)) for x in draw(ratios)]
    return nodes, poles, residues


@given(families())
def test_response_is_the_inverse_of_the_confluent_cauchy_jacobian(
    family: tuple[list[Node], list[fmpq], list[fmpq]],
) -> None:
    """If this fails, the explicit inverse differs from the inverse that flint computes."""
    nodes, poles, residues = family
    found = response(nodes, poles, residues)
    size = len(nodes)
    rows = [
        [-c / (n.ratio + r) ** 2 for r, c in zip(poles, residues, strict=True)]
        + [1 / (n.ratio + r) for r in poles]
        for n in nodes
    ]
    inverse = fmpq_mat(size, size, [x for row in rows for x in row]).inv().tolist()
    for h, r in enumerate(poles):  # dg_m = −φ_m / x_m
        for m, node in enumerate(nodes):
            assert found.log_pole[h][m] == -inverse[h][m] / (node.ratio * r)
            assert found.residue[h][m] == -inverse[len(poles) + h][m] / node.ratio


@given(families(), st.booleans())
def test_responses_to_a_common_shift_cancel(
    family: tuple[list[Node], list[fmpq], list[fmpq]], infinite: bool
) -> None:
    """If this fails, the closed form for the error of V·b is wrong: answers and V·b that shift together
    change no pole and no residue; and the residues must add up to their sum, with the node at infinity
    too."""
    nodes, poles, residues = family
    if infinite:
        nodes = [Node(1, 0), *nodes[1:]]
    found = response(nodes, poles, residues)
    for row, constant in (
        *zip(found.log_pole, found.log_pole_constant, strict=True),
        *zip(found.residue, found.residue_constant, strict=True),
        (found.total, found.total_constant),
    ):
        assert sum(row, ZERO) + constant == 0
    for m in range(len(nodes)):
        assert sum((row[m] for row in found.residue), ZERO) == found.total[m]


@pytest.mark.parametrize(("heads", "dim"), [(1, 2), (2, 2), (2, 3)])
def test_derivative_is_a_left_inverse_of_the_jacobian(heads: int, dim: int) -> None:
    """If this fails, the derivative of the recovery map is wrong: along the layers it must undo the
    derivative of the answers, exactly."""
    layer = sample_layer(heads, dim, 1)
    for design in variants(sample_design(layer)):
        first = FirstOrder(centre_of_layer(design, layer, LATTICE))
        jacobian = answer_jacobian(layer, design.queries(), LATTICE)
        rows = [
            row
            for h in range(heads)
            for row in (
                *(first.matrix_entry(h, i, j) for i in range(dim) for j in range(dim)),
                *(first.vector_entry(h, k) for k in range(dim)),
            )
        ]
        for n, row in enumerate(rows):
            for column in range(len(rows)):
                product = sum((x * jacobian[place][column] for place, x in row.items()), ZERO)
                assert product == (n == column)


def test_constants_are_norms_of_rows_and_direct_queries_change_them() -> None:
    """If this fails, a stated constant is not the norm of its row, or C1 is not the largest of them."""
    layer, centre = sample_centre(2, 2, 1)
    first = FirstOrder(centre)
    assert first.matrix_constants[1][0][1] == one_norm(first.matrix_entry(1, 0, 1))
    assert first.vector_constants[0][1] == one_norm(first.vector_entry(0, 1))
    everything = [x for rows in first.matrix_constants for row in rows for x in row]
    everything += [x for row in first.vector_constants for x in row]
    assert first.largest == max(everything)
    other = FirstOrder(centre_of_layer(centre.design.direct(), layer, LATTICE))
    assert other.largest != first.largest


def test_published_design_asks_the_published_queries() -> None:
    """If this fails, bounds are for other queries than those that recovery asks."""
    plan = PublishedPlan.draw(2, 3, 5, TokenRange(2, 9))
    design = Design.published(plan)
    assert design.queries() == plan.queries()
    assert [str(f) for f in design.families] == [str(p) for p in plan.probes]
    assert design.longest == 5
    assert design.direct().count == design.count + 2
    assert [q.last for q in design.direct().queries()[:3]] == list(plan.b)
    mixed = design.with_nodes(mixed_nodes)
    assert mixed.count == design.count
    assert mixed.queries()[1].length == 1


def test_centres_refuse_queries_that_do_not_separate_heads() -> None:
    """If this fails, a layer with merged poles, or the wrong number of heads, gets a bound."""
    layer = sample_layer(2, 2, 1)
    design = sample_design(layer)
    with pytest.raises(NotGeneric, match="canonical heads"):
        centre_of_layer(design, Attention.of(list(layer.heads[:1])), LATTICE)
    same = Design(2, design.b, (design.u[0],) * 2, (published_nodes(2),) * 7)
    flat = Attention.of([layer.heads[0], type(layer.heads[0])(layer.heads[0].W, (ZERO, fmpq(1)))])
    with pytest.raises(NotGeneric):
        centre_of_layer(same, flat, LATTICE)
    plan = generic_plan(layer, LATTICE, tokens=TokenRange(1, 2))
    assert not colliding_families(centre_of_layer(Design.published(plan), layer, LATTICE))


def test_square_constants_are_those_of_the_inverse() -> None:
    """If this fails, the constant of a method with as many queries as parameters is not the norm of the
    inverse Jacobian, or a matrix that is not square is taken for one."""
    layer = sample_layer(1, 2, 1)
    chosen = sample_design(layer).queries()
    plan = [*chosen[:1], *chosen[1::2]][:6]
    jacobian = answer_jacobian(layer, plan, LATTICE)
    inverse = fmpq_mat(6, 6, [x for row in jacobian for x in row]).inv()
    constants = square_constants(layer, plan, LATTICE)
    assert constants[4] == sum((abs(inverse[4, k]) for k in range(6)), ZERO)
    with pytest.raises(InputError, match="numbers must be equal"):
        square_constants(layer, chosen, LATTICE)
