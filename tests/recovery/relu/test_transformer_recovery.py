"""Recovery of Transformers end to end: the same function comes back, within the stated queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from flint import fmpq
from relu_cases import LATTICE, kink_spacing, recovered, require_counts, require_equal, teacher

from exactattn.exceptions import InputError, OracleError, TranscriptError
from exactattn.model import Attention, Head, Query, random_layer
from exactattn.model.transformer import Transformer
from exactattn.numbers import NumberSystem
from exactattn.oracle.transformer import TransformerOracle
from exactattn.recovery import recover
from exactattn.recovery.relu import UNKNOWN, AntisymmetricOracle, recover_transformer

PLAIN: dict[str, Any] = {}
CASES: list[tuple[int, int, int, dict[str, Any]]] = [
    (1, 2, 1, PLAIN),
    (2, 3, 3, PLAIN),
    (2, 3, 5, PLAIN),
    (3, 4, 6, PLAIN),
    (2, 2, 8, PLAIN),
    (2, 3, 4, {"residual": True}),
    (3, 4, 6, {"residual": True, "bypass": True}),
]
LARGE = [(2, 8, 20, PLAIN), (4, 6, 10, PLAIN)]


def check(heads: int, dim: int, neurons: int, options: dict[str, Any], seed: int) -> None:
    """One run: the same function, certified, within the counts."""
    model = teacher(heads, dim, neurons, seed, **options)
    result = recovered(model, seed)
    require_equal(result, model)
    require_counts(result, model)
    assert result.certified
    if not result.notes:
        assert result.longest <= 2 * heads + 1
    if not model.bypass:
        assert result.bypass is None
        assert len(result.neurons) == neurons


@pytest.mark.parametrize(("heads", "dim", "neurons", "options"), CASES)
def test_transformers_come_back_exactly(heads: int, dim: int, neurons: int, options: dict[str, Any]) -> None:
    """Breaks: the main promise, for three models of every shape."""
    for seed in range(1000, 1003):
        check(heads, dim, neurons, options, seed)


@pytest.mark.slow
@pytest.mark.parametrize(("heads", "dim", "neurons", "options"), CASES)
def test_a_hundred_transformers_of_each_shape(
    heads: int, dim: int, neurons: int, options: dict[str, Any]
) -> None:
    """Breaks: the same, for a hundred models of every shape."""
    for seed in range(100):
        check(heads, dim, neurons, options, seed)


@pytest.mark.slow
@pytest.mark.parametrize(("heads", "dim", "neurons", "options"), LARGE)
def test_large_transformers(heads: int, dim: int, neurons: int, options: dict[str, Any]) -> None:
    """Breaks: many neurons, or many heads, ten models each."""
    for seed in range(10):
        check(heads, dim, neurons, options, seed)


@pytest.mark.parametrize(("heads", "dim", "neurons"), [(2, 3, 3), (2, 2, 4)])
def test_kink_spacing_in_place_of_the_number_of_neurons(heads: int, dim: int, neurons: int) -> None:
    """Breaks: δ must certify as K does; brackets narrower than δ hold one kink each."""
    for seed in range(4):
        model = teacher(heads, dim, neurons, seed)
        path = recovered(model, seed).path
        result = recovered(model, seed, kink_spacing=kink_spacing(model, path))  # type: ignore[arg-type]
        assert result.path == path
        assert result.certified
        require_equal(result, model, queries=10)


def test_heads_from_regions_alone() -> None:
    """Breaks: without antisymmetric queries all heads show in the regions, at fewer queries."""
    for seed in range(3):
        model = teacher(2, 3, 3, seed)
        result = recovered(model, seed, antisymmetric=False)
        require_equal(result, model, queries=10)
        assert result.counts["heads"] == 0
        assert result.queries < recovered(model, seed).queries or result.notes


def test_upper_bound_on_the_heads() -> None:
    """Breaks: more heads allowed than there are; the walk's regions show that none is hidden."""
    for seed in range(3):
        model = teacher(2, 3, 3, seed)
        require_equal(recovered(model, seed, heads=3), model, queries=10)


def test_denominators() -> None:
    """Breaks: rational matrices on the lattice with their common denominator."""
    plain = teacher(2, 3, 3, 5)
    halves = [[[x / 2 for x in row] for row in W] for W in plain.matrices]
    model = Transformer.of(halves, plain.neurons, dim=3)
    assert model.denominator() == 2
    assert recovered(model, 5, denominator=2).matches(model)


def test_without_network_and_without_kinks() -> None:
    """Breaks: K = 0, a linear function of Z, and the function 0."""
    layer = random_layer(2, 3, seed=1)
    matrices, v = [h.W for h in layer.heads], [h.v for h in layer.heads]
    linear = Transformer.of(matrices, [], dim=3, bypass=v)
    result = recovered(linear, 0)
    assert result.matches(linear)
    assert result.neurons == ()
    assert result.bypass is not None
    zero = Transformer.of(matrices, [], dim=3)
    for stated in (0, None):
        result = recovered(zero, 0, neurons=stated)
        assert (result.heads, result.neurons, result.bypass) == ((), (), None)
        assert result.certified is (stated == 0)


def test_nothing_known_is_never_certified() -> None:
    """Breaks: no finite set of values excludes a nearly parallel pair; the label must say so."""
    model = teacher(2, 3, 3, 1)
    result = recover_transformer(TransformerOracle(model), 2, seed=1)
    assert not result.certified
    assert result.completeness.startswith(UNKNOWN)
    assert dict(result.facts())["completeness"].startswith(UNKNOWN)
    assert result.matches(model)


class _Fragile(TransformerOracle):
    """Counts queries, and fails after so many."""

    def __init__(self, model: Transformer, lasts: int) -> None:
        super().__init__(model)
        self.lasts, self.served = lasts, 0

    def answer(self, queries: Sequence[Query], system: NumberSystem[Any, Any]) -> Iterator[Any]:
        for value in super().answer(queries, system):
            if self.served == self.lasts:
                raise OracleError("gone")
            self.served += 1
            yield value


def test_a_run_resumes_from_its_transcript(tmp_path: Path) -> None:
    """Breaks: an interrupted run must go on without asking again, and must not mix with another run."""
    model = teacher(2, 2, 3, 4)
    whole = recovered(model, 4)
    file = tmp_path / "run.sqlite"
    first = _Fragile(model, whole.queries // 2)
    with pytest.raises(OracleError):
        recover_transformer(first, 2, neurons=3, seed=4, transcript=file)
    second = _Fragile(model, 10**9)
    result = recover_transformer(second, 2, neurons=3, seed=4, transcript=file)
    assert result.matches(model)
    assert first.served + second.served == result.queries == whole.queries
    assert result.asked == whole.asked
    with pytest.raises(TranscriptError):
        recover_transformer(second, 2, neurons=4, seed=4, transcript=file)


def test_the_result_keeps_what_a_certificate_needs() -> None:
    """Breaks: pieces must have their values, regions their queries, and everything asked its answer."""
    model = teacher(2, 3, 4, 2)
    result = recovered(model, 2)
    answers = {item.query: item.answer for item in result.asked}
    assert len(answers) == result.queries
    assert all(model(query, LATTICE) == answer for query, answer in answers.items())
    for piece in result.walked.pieces:
        assert len(piece.points) >= 3
        assert all(piece.at(t) == result.walked.values[t] for t in piece.points)
        assert all(answers[result.path.query(t)] == result.walked.values[t] for t in piece.points)
    for region in result.regions:
        assert {*region.fitted, *region.tests} <= answers.keys()
    total = result.regions[0].blocks
    for jump, region in zip(result.jumps, result.regions[1:], strict=True):
        total = tuple(
            tuple(x + y for x, y in zip(a, b, strict=True))
            for a, b in zip(total, jump.direction, strict=True)
        )
        assert total == region.blocks


def test_heads_over_balls() -> None:
    """Breaks: the antisymmetric part is an attention layer in every number system; the walk is not: it needs
    decided equalities, so everything after the heads stays on the lattice."""
    plain = teacher(2, 2, 2, seed=1)
    small = [[[x / 8 for x in row] for row in W] for W in plain.matrices]
    model = Transformer.of(small, plain.neurons, dim=2)
    result = recover(AntisymmetricOracle(TransformerOracle(model)), 2, numbers="balls", digits=10)
    form = model.canonical()
    layer = Attention.of([Head(W, v) for W, v in zip(form.matrices, form.linear, strict=True)])
    assert result.matches(layer)


@pytest.mark.parametrize(
    ("heads", "options"),
    [(0, {}), (1, {"neurons": -1}), (1, {"kink_spacing": 0}), (1, {"kink_spacing": "x"})],
)
def test_bad_options_are_refused(heads: int, options: dict[str, Any]) -> None:
    """Breaks: wrong options must end in one sentence."""
    with pytest.raises(InputError):
        recover_transformer(TransformerOracle(teacher(1, 2, 1, 1)), heads, **options)


def test_queries_do_not_depend_on_the_form_of_the_model() -> None:
    """Breaks: the solver sees answers only: two forms of one function give the same run."""
    model = teacher(2, 3, 3, 7)
    doubled = Transformer.of(
        model.matrices,
        [type(n)(n.a / 2, tuple(tuple(2 * x for x in b) for b in n.beta)) for n in reversed(model.neurons)],
        dim=3,
    )
    assert recovered(model, 1).asked == recovered(doubled, 1).asked
    assert fmpq(1) in {fmpq(abs(n.a)) for n in recovered(model, 1).neurons}
