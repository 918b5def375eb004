"""The optimal and the consistency method: the canonical form comes back, at exactly the stated counts.

An oracle is built from a layer; the solver gets answers only, and the comparison comes after recovery.
"""

from __future__ import annotations

from typing import Any

import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_layers import integral_layer, real_layer

from exactattn.exceptions import ExactAttnError, GenericityExhausted, InconsistentAnswers, InputError
from exactattn.model import Attention, Head, Query, random_layer
from exactattn.numbers import LogLattice
from exactattn.oracle import ExactOracle, FunctionOracle, RecordedOracle
from exactattn.recovery import Recovery, TokenRange, consistency_count, identified_count, recover
from exactattn.recovery.methods.consistency_plan import ConsistencyPlan
from exactattn.recovery.methods.half_probe import powers_of_two
from exactattn.recovery.methods.labels import nearest
from exactattn.recovery.methods.optimal_plan import OptimalPlan
from exactattn.recovery.methods.two_powers import partial_fractions_of_powers
from exactattn.recovery.rational import partial_fractions_over_q
from exactattn.recovery.start import first_plan

METHODS = ("optimal", "consistent")
COUNTS = {"optimal": identified_count, "consistent": consistency_count}
SIZES = [(H, d) for H in (1, 2, 3, 4, 5) for d in (2, 3, 4, 5, 6)]


def ranks(dim: int) -> list[int | None]:
    return [None, *range(1, dim)]


def check(result: Recovery, layer: Attention, method: str, rank: int | None) -> None:
    """The canonical form, the lengths, and the count unless queries had to be drawn again."""
    heads = result.plan.heads
    assert result.matches(layer)
    assert not result.notes
    assert result.longest <= 2 * heads + 1
    assert result.formula == COUNTS[method](heads, layer.dim, rank)
    assert result.identified == identified_count(len(layer.canonical().heads), layer.dim, rank)
    assert result.verifying <= 1 + result.redraws
    assert (result.queries == result.formula) == (result.redraws == 0)


# ---- plans ----


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 4), st.integers(1, 6), st.data(), st.booleans(), st.integers(0, 10**6))
def test_counts_and_lengths(heads: int, dim: int, data: st.DataObject, bias: bool, seed: int) -> None:
    """Breaks: the counts H(2dr − r² + d) and 2H(2dr − r² + d − 1), from the plans themselves, for every d and
    r, even and odd, with and without a bias; and queries of at most 2H + 1 tokens."""
    rank = data.draw(st.none() | st.integers(1, dim))
    r, extra = rank or dim, int(bias)
    numbers = r * (2 * dim + extra - r) + dim
    for kind, count in (
        (OptimalPlan, heads * numbers + extra),
        (ConsistencyPlan, 2 * heads * (numbers - 1) + extra),
    ):
        plan = kind.draw(heads, dim, seed, TokenRange(6, 40, first=24), bias=bias, rank=rank)
        queries = plan.queries()
        assert len(queries) == len({q.key for q in queries}) == count == plan.count
        assert max(q.length for q in queries) <= 2 * heads + 1


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5])
def test_single_head_needs_the_known_number(dim: int) -> None:
    """Breaks: d² + d queries for one head, the known count."""
    layer = random_layer(1, dim, seed=2)
    result = recover(ExactOracle(layer), 1, method="optimal")
    assert result.matches(layer)
    assert result.formula == dim * dim + dim


def test_ranks_out_of_range_are_named() -> None:
    """Breaks: one clear sentence for options that make no sense."""
    oracle = ExactOracle(random_layer(1, 2, seed=1))
    for options in ({"rank": 3}, {"rank": 0}):
        with pytest.raises(InputError, match="rank"):
            recover(oracle, 1, method="optimal", **options)
    with pytest.raises(InputError, match="rank"):
        recover(oracle, 1, rank=1)


# ---- lattice ----


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("heads", "dim"), [(H, d) for H, d in SIZES if H * d <= 9 or (H, d) == (5, 2)])
def test_lattice(method: Any, heads: int, dim: int) -> None:
    """Breaks: exact recovery at the count, for full rank and every other rank."""
    for rank in ranks(dim):
        layer = integral_layer(heads, dim, rank or dim, seed=1)
        check(recover(ExactOracle(layer), heads, method=method, rank=rank), layer, method, rank)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("heads", "dim"), SIZES)
def test_lattice_sweep(method: Any, heads: int, dim: int) -> None:
    """Breaks: the same over all sizes and ranks, five seeds each."""
    for rank in ranks(dim):
        for seed in range(5):
            layer = integral_layer(heads, dim, rank or dim, seed=100 + seed)
            result = recover(ExactOracle(layer), heads, method=method, rank=rank, seed=seed)
            check(result, layer, method, rank)
            assert result.queries == result.formula


def test_no_verifying_query_where_labels_are_exact() -> None:
    """Breaks: on the lattice, with sizes known, not one query beyond the count is asked."""
    result = recover(ExactOracle(integral_layer(3, 4, 4, seed=4)), 3, method="optimal")
    assert (result.queries, result.verifying) == (60, 0)


def test_bound_above_the_number_of_heads() -> None:
    """Breaks: an upper bound in place of H, with duplicates and cancelling heads."""
    layer = random_layer(4, 3, seed=5, duplicates=1, cancel=1)
    for method in METHODS:
        result = recover(ExactOracle(layer), 4, method=method)  # type: ignore[arg-type]
        check(result, layer, method, None)


@pytest.mark.parametrize("method", METHODS)
def test_heads_that_share_v_fall_back(method: Any) -> None:
    """Breaks: two heads with one v. Labels of later rows cannot tell them apart; the published method can,
    and the result says that it took over."""
    layer = Attention.of([Head.of([[1, 2], [3, 1]], [1, 2]), Head.of([[0, 4], [-1, 2]], [1, 2])])
    honest, seen = ExactOracle(layer), []

    def spy(query: Query) -> fmpq:
        seen.append(query)
        return next(iter(honest.answer([query], LogLattice())))

    result = recover(FunctionOracle(spy, 2), 2, method=method)
    assert result.matches(layer)
    assert result.plan.method == "published"
    assert "same v" in result.notes[0]
    # the first row of the other method, and the published plan
    assert result.queries == len(set(seen)) > result.published


def test_proximity_tells_heads_apart_that_share_v() -> None:
    """Breaks: over balls the optimal method needs no other one for heads with one v; the consistency method
    gives way there too."""
    layer = Attention.of([Head.of([["1/2", 0], [1, "1/4"]], [1, 2]), Head.of([[0, 1], ["1/3", 1]], [1, 2])])
    check(recover(ExactOracle(layer), 2, method="optimal", numbers="balls"), layer, "optimal", None)
    result = recover(ExactOracle(layer), 2, method="consistent", numbers="balls")
    assert result.matches(layer)
    assert result.plan.method == "published"


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(-40, 40), st.integers(-300, 300)), min_size=1, max_size=4))
def test_half_probe_on_the_lattice(heads: list[tuple[int, int]]) -> None:
    """Breaks: exponents from the denominators of H answers. What is returned is the truth; None (draw again)
    is right only where exponents are small, or coincide up to a factor."""
    alpha = [fmpq(a) for a, _ in heads]
    x = [fmpq(2) ** e for _, e in heads]
    values = [
        sum((a * t / (k + t) for a, t in zip(alpha, x, strict=True)), fmpq(0)) for k in range(1, len(x) + 1)
    ]
    found = powers_of_two(alpha, values)
    assert found is None or found == x or len(set(alpha)) < len(alpha) or 0 in alpha
    if len(heads) == 1 and alpha[0] != 0 and abs(heads[0][1]) > 20:
        assert found == x


# ---- balls ----


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("heads", "dim"), [(1, 3), (2, 2), (2, 5), (3, 4), (5, 2)])
def test_balls(method: Any, heads: int, dim: int) -> None:
    """Breaks: every real parameter enclosed to 40 digits at the count, for every rank."""
    for rank in ranks(dim):
        layer = real_layer(heads, dim, rank or dim, seed=1)
        result = recover(ExactOracle(layer), heads, method=method, rank=rank, numbers="balls")
        check(result, layer, method, rank)
        assert result.widest_radius() <= arb(10) ** -40


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("heads", "dim"), SIZES)
def test_balls_sweep(method: Any, heads: int, dim: int) -> None:
    """Breaks: the same over all sizes, full rank and every other, twenty seeds each; queries are drawn again
    in less than 5 % of the runs."""
    again = runs = 0
    for rank in ranks(dim):
        for seed in range(20):
            layer = real_layer(heads, dim, rank or dim, seed=seed)
            result = recover(ExactOracle(layer), heads, method=method, rank=rank, numbers="balls", seed=seed)
            check(result, layer, method, rank)
            assert result.widest_radius() <= arb(10) ** -40
            again += result.redraws > 0
            runs += 1
    assert 20 * again < runs


def test_tokens_come_closer_until_labels_are_right() -> None:
    """Breaks: zero error without a bound on the weights. With δ = 1/2 labels by proximity are wrong; the
    verifying query (or a negative exponential) shows it, δ is squared, and every query is counted."""
    layer = real_layer(4, 3, 3, seed=3)
    result = recover(ExactOracle(layer), 4, method="optimal", numbers="balls", closeness=1)
    assert result.matches(layer)
    assert result.redraws > 0
    assert result.queries > result.formula
    assert isinstance(result.plan, OptimalPlan)
    assert result.plan.closeness > 1


def test_nearest_needs_a_pole_for_each_head() -> None:
    """Breaks: two heads sent to one pole must not be labelled."""
    assert nearest([arb(1), arb("1.1")], [arb(1), arb(7)]) is None


def test_few_digits_suffice_for_the_consistency_method() -> None:
    """Breaks: the point of the consistency method: less is lost than by the optimal one."""
    layer = real_layer(2, 3, 3, seed=1)
    lost = {
        method: recover(ExactOracle(layer), 2, method=method, numbers="balls").digits_lost  # type: ignore[arg-type]
        for method in METHODS
    }
    assert lost["consistent"] < lost["optimal"]


# ---- sizes found out ----


def zero_layer(dim: int) -> Attention:
    head = real_layer(1, dim, dim, seed=9).heads[0]
    return Attention.of([head, Head(head.W, tuple(-x for x in head.v))])


@pytest.mark.parametrize("numbers", ["lattice", "balls"])
@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_number_of_heads_found_out(numbers: Any, dim: int) -> None:
    """Breaks: no bound on the number of heads, and at most K(d² + d) + 2 queries: zero function, one head,
    several heads, duplicates."""
    make = integral_layer if numbers == "lattice" else real_layer
    one, three = make(1, dim, dim, 3), make(3, dim, dim, 3)
    layers = [
        zero_layer(dim),
        Attention.of([], dim),
        one,
        three,
        Attention.of([*three.heads, three.heads[1]]),
    ]
    if numbers == "lattice":
        layers = layers[1:]
    for layer in layers:
        result = recover(ExactOracle(layer), None, method="optimal", numbers=numbers)
        assert result.matches(layer)
        assert result.redraws == 0
        assert result.queries <= len(layer.canonical().heads) * (dim * dim + dim) + 2


@pytest.mark.slow
@pytest.mark.parametrize("numbers", ["lattice", "balls"])
@pytest.mark.parametrize(("heads", "dim"), SIZES)
def test_number_of_heads_sweep(numbers: Any, heads: int, dim: int) -> None:
    """Breaks: at most K(d² + d) + 2 queries in every run, with a duplicate and with heads that cancel."""
    make, seeds = (integral_layer, 8) if numbers == "lattice" else (real_layer, 2)
    for seed in range(seeds):
        layer = make(heads, dim, dim, seed)
        head = layer.heads[0]
        opposite = Head(head.W, tuple(-x for x in head.v))
        for more in ([], [layer.heads[seed % heads]], [opposite]):
            whole = Attention.of([*layer.heads, *more])
            result = recover(ExactOracle(whole), None, method="optimal", numbers=numbers, seed=seed)
            assert result.matches(whole)
            assert result.queries <= len(whole.canonical().heads) * (dim * dim + dim) + 2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("numbers", ["lattice", "balls"])
def test_rank_found_out(numbers: Any, method: Any) -> None:
    """Breaks: the rank is discovered row by row; the excess is at most 2H queries, as the formula says."""
    make = integral_layer if numbers == "lattice" else real_layer
    for dim in (1, 2, 3, 4):
        for rank in range(1, dim + 1):
            layer = make(2, dim, rank, seed=2)
            result = recover(ExactOracle(layer), 2, method=method, numbers=numbers, rank="auto")
            assert result.matches(layer)
            if result.redraws == 0:
                assert result.queries == result.formula <= COUNTS[method](2, dim, rank) + 4


def test_a_rank_stated_too_low_is_refused() -> None:
    """Breaks: a wrong rank must end in a named refusal, not in a wrong layer."""
    layer = integral_layer(2, 4, 3, seed=1)
    with pytest.raises(InconsistentAnswers):
        recover(ExactOracle(layer), 2, method="optimal", rank=2)
    with pytest.raises((GenericityExhausted, InconsistentAnswers)):
        recover(ExactOracle(real_layer(2, 4, 3, seed=1)), 2, method="optimal", rank=2, numbers="balls")


def test_bound_below_the_number_of_heads_is_refused() -> None:
    """Breaks: a wrong bound must end in a named refusal."""
    for method in METHODS:
        with pytest.raises(InconsistentAnswers):
            recover(ExactOracle(random_layer(3, 2, seed=1)), 2, method=method)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS)
def test_one_wrong_answer_is_refused(method: Any) -> None:
    """Breaks: a lying oracle. With as many answers as parameters some lies are another layer's truth; every
    other one must end in a named refusal, never in a wrong statement about what was asked."""
    layer = random_layer(2, 2, seed=4)
    queries = first_plan(method, 2, 2, 0, exact=True).queries()
    answers = dict(zip(queries, ExactOracle(layer).answer(queries, LogLattice()), strict=True))
    told = {query: LogLattice().value_text(x) for query, x in answers.items()}
    assert recover(RecordedOracle(told), 2, method=method).matches(layer)
    for wrong in answers:
        lied = {query: LogLattice().value_text(x + (query == wrong)) for query, x in answers.items()}
        try:
            result = recover(RecordedOracle(lied), 2, method=method)
        except ExactAttnError:
            continue
        fresh = ExactOracle(result.layer).answer(list(lied), LogLattice())
        assert [LogLattice().value_text(x) for x in fresh] == list(lied.values())


def test_asked_queries_are_the_plan() -> None:
    """Breaks: the count from the transcript is that of what the oracle really saw."""
    layer = integral_layer(2, 3, 2, seed=6)
    honest, seen = ExactOracle(layer), []

    def spy(query: Query) -> fmpq:
        seen.append(query)
        return next(iter(honest.answer([query], LogLattice())))

    result = recover(FunctionOracle(spy, 3), 2, method="optimal", rank=2)
    assert result.matches(layer)
    assert len(seen) == len(set(seen)) == result.queries + result.verifying


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-400, 400), st.integers(-400, 400)), min_size=1, max_size=4),
    st.data(),
)
def test_poles_that_are_sums_of_two_powers(exponents: list[tuple[int, int]], data: st.DataObject) -> None:
    """Breaks: the fast interpolation of the lattice. It must agree with the general one, for which nothing is
    special about a power of two; poles that are no such sums must come out the same, too."""
    poles = [fmpq(2) ** a + fmpq(2) ** b for a, b in exponents]
    if data.draw(st.booleans()):
        poles[0] = poles[0] + fmpq(1, 3)
    residues = [fmpq(data.draw(st.integers(1, 50)), data.draw(st.integers(1, 9))) for _ in poles]
    nodes = [fmpq(m) for m in range(2 * len(poles))]
    values = [sum((c / (m + r) for r, c in zip(poles, residues, strict=True)), fmpq(0)) for m in nodes]
    fast = partial_fractions_of_powers(nodes, values, len(poles))
    assert fast == partial_fractions_over_q(nodes, values, len(poles))
