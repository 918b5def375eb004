"""Whole recoveries from oracles with errors: float answers, intervals, two passes, refusals."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from error_samples import LATTICE, random_error, sample_layer
from flint import fmpq
from float_digits import float_layer, float_run

from exactattn.crosscheck.float_oracle import torch_oracle
from exactattn.errors import float_oracle, largest_error, recover_with_error
from exactattn.exceptions import ErrorsTooLarge, InputError
from exactattn.model import Attention, Query, evaluate
from exactattn.numbers import Balls
from exactattn.oracle import ExactOracle, FunctionOracle


@pytest.mark.parametrize(("heads", "dim"), [(1, 2), (2, 2), (2, 3), (3, 2)])
def test_float64_answers_give_digits_and_none_is_wrong(heads: int, dim: int) -> None:
    """If this fails, a float run gives an enclosure without the truth, or robust queries do not help."""
    layer = float_layer(heads, dim)
    plain = float_run(layer, "float64", robust=False)
    robust = float_run(layer, "float64", robust=True)
    for run in (plain, robust):
        assert run.found is None or run.found.matches(layer)
    assert robust.found is not None
    assert robust.found.digits >= 5
    assert robust.found.longest == 2 * heads + 1
    assert plain.found is None or robust.found.digits >= plain.found.digits


def oracle_maker(arithmetic: str) -> Any:
    """What makes oracles with the floating-point arithmetic of a package."""
    if arithmetic == "numpy":
        return float_oracle
    pytest.importorskip("torch", reason="torch is not installed (extra torch)")
    return torch_oracle


ARITHMETICS = ["numpy", pytest.param("torch", marks=pytest.mark.crosscheck)]


@pytest.mark.slow
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("kind", ["float64", "float32", "bfloat16"])
def test_no_digit_of_any_float_format_is_wrong(kind: Any, arithmetic: str) -> None:
    """The same for H = 1 … 4, d = 2 … 8 in three formats, computed by numpy and by torch, with robust queries
    (numpy's float64 with published ones too): an enclosure holds the truth, or there is none. At float64 some
    digits must survive up to three heads of size two."""
    found = set()
    choices = (False, True) if (kind, arithmetic) == ("float64", "numpy") else (True,)
    for heads in range(1, 5):
        for dim in range(2, 9):
            layer = float_layer(heads, dim)
            for robust in choices:
                run = float_run(layer, kind, robust=robust, redraws=0, make_oracle=oracle_maker(arithmetic))
                assert run.found is None or run.found.matches(layer)
                assert run.found is not None or run.condition in {"poles", "residues", "matching"}
                if run.found is not None:
                    found.add((heads, dim))
    assert kind != "float64" or {(1, 2), (1, 8), (2, 2), (3, 2)} <= found


@pytest.mark.crosscheck
@pytest.mark.parametrize("kind", ["float64", "float32", "bfloat16"])
def test_answers_of_torch_and_numpy_agree_to_their_errors(kind: Any) -> None:
    """If this fails, one of the two float oracles computes another layer, or in another format."""
    layer = float_layer(2, 3)
    make_torch, answers = oracle_maker("torch"), {}
    query = Query.of([((fmpq(1), fmpq(0), fmpq(1, 2)), 3)], last=(fmpq(0), fmpq(1), fmpq(-1, 2)))
    for name, make in (("numpy", float_oracle), ("torch", make_torch)):
        value = make(layer, kind).function(query)
        answers[name] = (value, largest_error(layer, [query], [value]))
    (a, off_a), (b, off_b) = answers.values()
    assert abs(fmpq(*a.as_integer_ratio()) - fmpq(*b.as_integer_ratio())) <= off_a + off_b
    assert off_b <= {"float64": fmpq(1, 2**48), "float32": fmpq(1, 2**19), "bfloat16": fmpq(1, 2**4)}[kind]
    digits = float_run(layer, kind, robust=True, redraws=0, make_oracle=make_torch)
    assert digits.found is None or digits.found.matches(layer)
    assert (digits.found is None) == (kind == "bfloat16")


def test_bfloat16_answers_are_refused_by_name() -> None:
    """If this fails, answers of three digits are believed: two heads cannot be told from them."""
    layer = float_layer(2, 3)
    run = float_run(layer, "bfloat16", robust=True, redraws=0)
    assert run.found is None
    assert run.condition in {"poles", "residues", "matching"}
    oracle = float_oracle(layer, "bfloat16")
    with pytest.raises(ErrorsTooLarge, match=r"prove at least [012] of 2 heads"):
        recover_with_error(oracle, 2, fmpq(1, 64), max_redraws=1)


def test_answers_given_as_intervals_need_no_stated_error() -> None:
    """If this fails, the radii of answers are not counted as their errors."""
    layer = sample_layer(2, 2, 1)

    def answer(query: Query) -> object:
        exact = evaluate(layer, query, Balls(400))
        return (exact.mid().fmpq() + fmpq(1, 10**30), fmpq(2, 10**30))

    result = recover_with_error(FunctionOracle(answer, dim=2), 2, 0)
    assert result.matches(layer)
    assert fmpq(2, 10**30) <= result.error < fmpq(3, 10**30)
    assert result.queries == 29


def test_lattice_runs_with_errors() -> None:
    """If this fails, recovery with errors does not give the units of the lattice."""
    layer, rng, error = sample_layer(2, 2, 0), Random(5), fmpq(1, 10**20)
    exact = ExactOracle(layer)

    def answer(query: Query) -> fmpq:
        return next(iter(exact.answer([query], LATTICE))) + random_error(rng, error)

    oracle = FunctionOracle(answer, dim=2)
    plain = recover_with_error(oracle, 2, error, numbers="lattice", max_redraws=20)
    robust = recover_with_error(oracle, 2, error, numbers="lattice", robust=True, max_redraws=20)
    assert plain.matches(layer)
    assert robust.matches(layer)
    assert robust.digits >= plain.digits + 1


def test_more_heads_than_there_are_is_refused() -> None:
    """If this fails, spurious poles of noise are reported as heads."""
    layer = sample_layer(2, 2, 1)
    error = fmpq(1, 10**12)

    def answer(query: Query) -> fmpq:
        return evaluate(layer, query, Balls(200)).mid().fmpq() + random_error(Random(query.key), error)

    with pytest.raises(ErrorsTooLarge, match="at least 2 of 3 heads"):
        recover_with_error(FunctionOracle(answer, dim=2), 3, error, max_redraws=1)
    with pytest.raises(InputError, match="negative"):
        recover_with_error(FunctionOracle(answer, dim=2), 2, "-1e-3")


def test_measured_errors_of_float_formats() -> None:
    """If this fails, the error that is stated for float answers is not that of the format."""
    layer = Attention.of(list(float_layer(2, 3).heads))
    query = Query.of([((fmpq(1), fmpq(0), fmpq(1, 2)), 3)], last=(fmpq(0), fmpq(1), fmpq(-1, 2)))
    sizes = []
    for kind in ("float64", "float32", "bfloat16"):
        value = float_oracle(layer, kind).function(query)  # type: ignore[arg-type]
        sizes.append(largest_error(layer, [query], [value]))
    assert sizes[0] < fmpq(1, 2**45) < sizes[1] < fmpq(1, 2**18) < sizes[2] < fmpq(1, 2**5)
