"""Exact Transformers: values, canonical form, files, random ones with plants."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from exactattn.exceptions import InputError
from exactattn.model import Query
from exactattn.model.random_transformer import PLANTS, Plant, random_transformer
from exactattn.model.transformer import Neuron, Transformer
from exactattn.model.transformer_files import (
    is_transformer_file,
    load_transformer,
    save_transformer,
    transformer_from_json,
    transformer_json,
    transformer_schema,
)
from exactattn.numbers import LogLattice, rational_vector
from exactattn.oracle.transformer import TransformerOracle

LATTICE = LogLattice()
VALIDATOR = jsonschema.Draft202012Validator(transformer_schema())
PLANTED = [None, *PLANTS]
any_model = st.builds(
    lambda seed, plant, residual, bypass: random_transformer(
        2, 2, 4, seed=seed, plant=plant, residual=residual, bypass=bypass, gap=3
    ),
    st.integers(0, 10**6),
    st.sampled_from(PLANTED),
    st.booleans(),
    st.booleans(),
)


def random_query(dim: int, seed: int) -> Query:
    """Four tokens of small integers, one of them twice."""
    rng = random.Random(seed)
    tokens = [rational_vector([rng.randint(-3, 3) for _ in range(dim)]) for _ in range(4)]
    return Query.of([(tokens[1], 2), (tokens[2], 1), (tokens[3], 1)], tokens[0])


def by_fractions(model: Transformer, query: Query) -> Fraction:
    """F with Python's fractions, straight from the definition."""
    rows = [[Fraction(int(x.p), int(x.q)) for x in row] for row in query.expanded()]
    last = rows[-1]
    z: list[Fraction] = []

    def number(x: Any) -> Fraction:
        return Fraction(int(x.p), int(x.q))

    for W in model.matrices:
        scores = [
            sum(last[i] * number(W[i][j]) * row[j] for i in range(model.dim) for j in range(model.dim))
            for row in rows
        ]
        weights = [Fraction(2) ** int(s - scores[-1]) for s in scores]
        z += [
            sum(w * row[i] for w, row in zip(weights, rows, strict=True)) / sum(weights)
            for i in range(model.dim)
        ]
    if model.residual:
        z += last
    total = Fraction(0)
    if model.bypass is not None:
        total += sum(number(x) * y for x, y in zip([x for b in model.bypass for x in b], z, strict=True))
    for neuron in model.neurons:
        inner = sum(number(x) * y for x, y in zip([x for b in neuron.beta for x in b], z, strict=True))
        total += number(neuron.a) * max(Fraction(0), Fraction(inner))
    return total


@given(any_model, st.integers(0, 10**6))
def test_three_evaluations_agree(model: Transformer, seed: int) -> None:
    """Breaks: Python fractions, the definition over the lattice, and the canonical form give one value."""
    query = random_query(model.dim, seed)
    value = model(query, LATTICE)
    expected = by_fractions(model, query)
    assert value == fmpq(expected.numerator, expected.denominator)
    assert list(TransformerOracle(model).answer([query], LATTICE)) == [value]


@given(any_model, st.integers(1, 5), st.randoms(use_true_random=False))
def test_rewritten_models_are_the_same_function(model: Transformer, factor: int, rng: random.Random) -> None:
    """Breaks: equality must not see order, scales, splits, dead neurons and dead heads."""
    neurons = [
        Neuron(n.a / factor, tuple(tuple(factor * x for x in b) for b in n.beta)) for n in model.neurons
    ]
    first = neurons.pop(0)
    neurons += [Neuron(first.a / 3, first.beta), Neuron(first.a * 2 / 3, first.beta)]
    neurons.append(Neuron(fmpq(0), first.beta))
    rng.shuffle(neurons)
    zero = (fmpq(0),) * model.dim
    dead = ((fmpq(9),) * model.dim,) * model.dim
    order = list(range(len(model.matrices)))
    rng.shuffle(order)

    def moved(blocks: Any) -> Any:
        rest = list(blocks[len(order) :])
        return [zero, *(blocks[h] for h in order), *rest]

    other = Transformer.of(
        [dead, *(model.matrices[h] for h in order)],
        [Neuron.of(n.a, moved(n.beta)) for n in neurons],
        dim=model.dim,
        residual=model.residual,
        bypass=None if model.bypass is None else moved(model.bypass),
    )
    assert model.same_function(other)


@given(st.integers(0, 10**6), st.booleans())
def test_a_change_that_a_query_sees_is_another_function(seed: int, residual: bool) -> None:
    """Breaks: equality that says yes to different functions."""
    model = random_transformer(2, 2, 3, seed=seed, residual=residual)
    first, *others = model.neurons
    block = (first.beta[0][0] + 1, *first.beta[0][1:])
    changed = Transformer.of(
        model.matrices, [Neuron(first.a, (block, *first.beta[1:])), *others], dim=2, residual=residual
    )
    queries = [random_query(2, seed + n) for n in range(30)]
    differ = any(model(q, LATTICE) != changed(q, LATTICE) for q in queries)
    assert model.same_function(changed) is not differ


@pytest.mark.parametrize("plant", PLANTS)
def test_plants_are_what_they_say(plant: Plant) -> None:
    """Breaks: a plant that plants nothing would make the recovery's tests empty."""
    for seed in range(10):
        model = random_transformer(2, 3, 4, seed=seed, plant=plant, gap=6)
        form = model.canonical()
        sums = [[sum(column, fmpq(0)) for column in zip(*n.beta, strict=True)] for n in model.neurons]
        match plant:
            case "duplicate neuron" | "opposite neuron":
                assert len(form.kinks) == 3
            case "linear pair":
                assert len(form.kinks) == 2
            case "duplicate head":
                assert len(form.matrices) == 1
            case "cancelling heads":
                assert form.matrices == ()
            case "hidden head":
                assert any(not any(block) for block in form.linear)
                assert len(form.matrices) == 2
            case "wedge head":
                h = form.matrices.index(model.matrices[0])
                assert not any(form.linear[h])
                assert sum(any(D[h]) for _, D in form.kinks) == 2
            case "zero block sum":
                assert not any(sums[0])
                assert len(form.kinks) == 4
            case "parallel block sums":
                assert all(
                    sums[0][i] * sums[1][j] == sums[0][j] * sums[1][i] for i in range(3) for j in range(3)
                )
                assert len(form.kinks) == 4
            case "dependent block sums":
                weights = [n.a for n in model.neurons[:3]]
                assert not any(
                    sum((a * s[i] for a, s in zip(weights, sums, strict=False)), fmpq(0)) for i in range(3)
                )
            case "near-parallel pair":
                assert len(form.kinks) == 4
                difference = [
                    x - y
                    for b, c in zip(*(n.beta for n in model.neurons[:2]), strict=True)
                    for x, y in zip(b, c, strict=True)
                ]
                assert all(abs(x) <= fmpq(5, 64) for x in difference)


@given(any_model)
def test_files_give_the_model_back(model: Transformer) -> None:
    """Breaks: a model must survive its JSON text to the last digit; the text keeps the published schema."""
    VALIDATOR.validate(transformer_json(model))
    assert transformer_from_json(json.loads(json.dumps(transformer_json(model)))) == model


def test_a_file_is_recognised(tmp_path: Path) -> None:
    """Breaks: the command line tells Transformers from layers by their files."""
    file = tmp_path / "model.json"
    save_transformer(random_transformer(2, 2, 2, seed=1, residual=True, bypass=True), file)
    assert is_transformer_file(file)
    assert load_transformer(file).residual
    other = tmp_path / "layer.json"
    other.write_text('{"format": "exactattn-model"}')
    assert not is_transformer_file(other)
    assert not is_transformer_file(tmp_path / "absent.json")


GOOD: dict[str, Any] = {
    "format": "exactattn-transformer", "version": 1, "dim": 1, "residual": False, "matrices": [[[1]]],
    "neurons": [{"a": 1, "beta": [[1]]}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 2}, "version"),
        ({"dim": 0}, "dim"),
        ({"residual": 1}, "residual"),
        ({"name": 3}, "name"),
        ({"matrices": [[[1, 2]]]}, r"matrices\[0\]"),
        ({"matrices": 3}, "list"),
        ({"neurons": [{"a": 1}]}, r"neurons\[0\]"),
        ({"neurons": [{"a": "x", "beta": [[1]]}]}, "not a number"),
        ({"neurons": [{"a": 1, "beta": [[1], [1]]}]}, "1 blocks"),
        ({"bypass": [[1, 2]]}, "bypass"),
        ({"more": 1}, "not a Transformer"),
    ],
)
def test_bad_files_are_refused_by_field(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    """Breaks: a wrong file must be named with its field, not half read."""
    file = tmp_path / "model.json"
    file.write_text(json.dumps({**GOOD, **change}))
    with pytest.raises(InputError, match=words):
        load_transformer(file)


def test_the_schema_refuses_what_it_can() -> None:
    """Breaks: the schema itself, and that it says no to keys and types of another format."""
    jsonschema.Draft202012Validator.check_schema(transformer_schema())
    VALIDATOR.validate(GOOD)
    for change in ({"version": 2}, {"residual": 1}, {"more": 1}, {"neurons": [{"a": 1}]}, {"dim": 0}):
        assert not VALIDATOR.is_valid({**GOOD, **change})


def test_sizes_are_checked() -> None:
    """Breaks: a query of another size, or a plant without room."""
    with pytest.raises(InputError):
        random_transformer(1, 2, 2, seed=1)(Query.of([], rational_vector([1])), LATTICE)
    with pytest.raises(InputError):
        random_transformer(1, 2, 2, seed=1, plant="wedge head")
    with pytest.raises(InputError):
        random_transformer(0, 2, 2, seed=1)
