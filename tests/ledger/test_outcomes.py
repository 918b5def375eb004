"""Rules of the ledger: when a verdict stands, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from flint import fmpq

from exactattn import ExactOracle, random_layer, recover, recovery_certificate
from exactattn.exceptions import InputError
from exactattn.ledger import (
    Claim,
    Counterexample,
    Outcome,
    Paper,
    Step,
    Verdict,
    accepted,
    attend,
    cases,
    decide,
    differ,
    equal,
    holds,
    load_claim,
    load_claims,
    out_of_scope,
    positive,
    proved,
    proved_for,
    refuted,
    select,
    unknown,
)

GOOD, BAD = Step("good", True, "test"), Step("bad", False, "test")
EXAMPLE = Counterexample("it fails", {"x": fmpq(1, 2)}, "one number")
x, H = sympy.symbols("x H")


def claim(establish: Any, **changes: Any) -> Claim:
    fields: dict[str, Any] = {
        "id": "I-0",
        "paper": Paper.IDENTIFICATION,
        "place": "nowhere",
        "says": "something",
        "establish": establish,
        "expected": Verdict.PROVED,
        "does_not_establish": ["anything"],
    }
    return Claim(**{**fields, **changes})


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (proved("by", [GOOD]), Verdict.PROVED),
        (proved("by", [GOOD, BAD]), Verdict.UNKNOWN),
        (proved("by", []), Verdict.UNKNOWN),
        (proved_for(["a size"], "by", [GOOD]), Verdict.PROVED_FOR),
        (proved_for(["a size"], "by", [BAD]), Verdict.UNKNOWN),
        (proved_for([], "by", [GOOD]), Verdict.UNKNOWN),
        (refuted("by", [GOOD], EXAMPLE), Verdict.REFUTED),
        (refuted("by", [GOOD, BAD], EXAMPLE), Verdict.UNKNOWN),
        (refuted("by", [], EXAMPLE), Verdict.UNKNOWN),
        (unknown("a capability"), Verdict.UNKNOWN),
        (out_of_scope("training"), Verdict.OUT_OF_SCOPE),
        (out_of_scope("training", [BAD]), Verdict.UNKNOWN),
    ],
)
def test_a_verdict_needs_steps_that_hold(outcome: Outcome, verdict: Verdict) -> None:
    """If it fails, a claim could be announced as decided although a step failed, or nothing was checked."""
    assert outcome.verdict is verdict


def test_certificates_count_once_the_checker_accepts_them() -> None:
    """If it fails, a damaged certificate could carry a verdict."""
    layer = random_layer(1, 2, seed=1)
    result: Any = recover(ExactOracle(layer), heads=1, seed=2)
    certificate = recovery_certificate(result, layer)
    assert accepted(certificate).holds
    damaged = {**certificate, "queries": certificate["queries"] + 1}
    assert not accepted(damaged).holds
    outcome = proved_for(["one layer"], "by", [GOOD], [certificate, damaged])
    assert outcome.verdict is Verdict.UNKNOWN
    assert outcome.certificates == (certificate,)


@pytest.mark.parametrize("value", [0.5, [1, 0.5], {"a": 0.5}, sympy.Float("0.5") * x, np.array([0.5]), 1j])
def test_floats_are_refused_everywhere(value: Any) -> None:
    """If it fails, a verdict could rest on a float."""
    with pytest.raises(InputError, match="is a float"):
        Counterexample("it fails", {"x": value}, "one number")
    with pytest.raises(InputError):
        differ("floats", value, 1)
    if not isinstance(value, dict | list | np.ndarray):
        with pytest.raises(InputError, match="is a float"):
            equal("floats", value, 1)


def test_equality_is_proved_not_sampled() -> None:
    """If it fails, an identity that holds at some points only would pass."""
    assert equal("true", (x + 1) ** 2, x**2 + 2 * x + 1).holds
    assert not equal("false, but true at 0 and 1", x**2, x).holds
    assert equal("lists", [fmpq(1, 2), x + x], [sympy.Rational(1, 2), 2 * x]).holds
    assert not equal("matrices", sympy.Matrix([[x, 0]]), sympy.Matrix([[x, 1]])).holds


def test_difference_needs_rational_numbers() -> None:
    """If it fails, "could not be simplified to 0" would pass for "is not 0"."""
    assert differ("halves", [fmpq(1, 2), 1], [fmpq(1, 2), 2]).holds
    assert not differ("equal", fmpq(2, 4), sympy.Rational(1, 2)).holds
    hidden_zero = sympy.sqrt(2) * sympy.sqrt(3) - sympy.sqrt(6)
    with pytest.raises(InputError, match="not a rational"):
        differ("an irrational", hidden_zero + sympy.sqrt(2), 0)


def test_signs() -> None:
    """If it fails, an expression that is negative or zero somewhere could pass for positive."""
    assert positive("p", 1 - 1 / H, {H: 2}).holds
    assert not positive("zero at 1", 1 - 1 / H, {H: 1}).holds
    assert not positive("negative somewhere", H - 3, {H: 1}).holds


def test_vacuous_instances_are_counted_and_do_not_prove() -> None:
    """If it fails, a statement about nothing would pass as proved."""
    step = cases("even squares", range(5), lambda n: n * n % 4 == 0, lambda n: n % 2 == 0)
    assert (step.holds, step.checked, step.vacuous) == (True, 5, 2)
    assert not cases("nothing", range(5), lambda n: False, lambda n: n > 10).holds
    assert not cases("no instances", [], lambda n: True).holds
    assert not cases("one wrong", range(3), lambda n: n < 2).holds
    with pytest.raises(TypeError):
        holds("a ball decides nothing by itself", fmpq(1))  # type: ignore[arg-type]


def test_an_error_in_the_evidence_decides_nothing() -> None:
    """If it fails, a crash of the evidence would stop the ledger or leave a verdict standing."""

    def broken() -> Outcome:
        raise ZeroDivisionError("no such inverse")

    (decided,) = decide([claim(broken)])
    assert decided.outcome.verdict is Verdict.UNKNOWN
    assert "ZeroDivisionError" in decided.outcome.failed[0].detail
    assert not decided.as_expected


def test_dependencies_carry_over() -> None:
    """If it fails, a claim could stand on another that is not proved, or be proved for all sizes by one that
    was checked for some."""
    basis = claim(lambda: proved("by", [GOOD]), id="I-1")
    some = claim(lambda: proved_for(["a size"], "by", [GOOD]), id="I-2", expected=Verdict.PROVED_FOR)
    weak = claim(lambda: unknown("evidence"), id="I-3", expected=Verdict.UNKNOWN)
    ours = claim(lambda: proved("by", [GOOD]), id="I-4")
    known = {c.id: c for c in (basis, some, weak)}

    def verdict(needed: str, base: Claim = ours) -> Verdict:
        (decided,) = decide([replace(base, depends_on=[needed])], known)
        return decided.outcome.verdict

    assert verdict("I-1") is Verdict.PROVED
    assert verdict("I-2") is Verdict.UNKNOWN
    assert verdict("I-2", replace(some, id="I-5")) is Verdict.PROVED_FOR
    assert verdict("I-3") is Verdict.UNKNOWN
    around = {"I-6": replace(ours, id="I-6", depends_on=["I-6"])}
    with pytest.raises(InputError, match="depends on itself"):
        list(decide(list(around.values()), around))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "Q-1"}, "not an id"),
        ({"id": "I-Four"}, "not an id"),
        ({"says": " "}, "is empty"),
        ({"hypotheses": "one string"}, "must be a list"),
        ({"does_not_establish": []}, "is empty"),
        ({"expected": Verdict.REFUTED}, "belongs to refuted"),
        ({"corrected": "something else"}, "belongs to refuted"),
    ],
)
def test_claims_check_themselves(change: dict[str, Any], message: str) -> None:
    """If it fails, a claim file could lack what a reader needs."""
    with pytest.raises(InputError, match=message):
        claim(lambda: proved("by", [GOOD]), **change)


def test_files_that_are_no_claims_are_named(tmp_path: Path) -> None:
    """If it fails, a mistake in a claim file would end in a traceback without the file's name."""
    folder = tmp_path / "identification"
    folder.mkdir()
    empty = folder / "an_empty_file.py"
    empty.write_text('"""Nothing."""\n')
    with pytest.raises(InputError, match=r"an_empty_file.*defines no claim"):
        load_claim(empty)
    source = (Path(__file__).parents[2] / "proofs/identification/change_of_basis_keeps_scores.py").read_text()
    (folder / "one.py").write_text(source)
    (folder / "an_empty_file.py").write_text(source)
    with pytest.raises(InputError, match="two claims have the id"):
        load_claims(tmp_path)
    other = tmp_path / "queries"
    other.mkdir()
    (other / "one.py").write_text(source)
    with pytest.raises(InputError, match="belongs in the folder identification"):
        load_claim(other / "one.py")


def test_selection_names_what_is_close() -> None:
    """If it fails, a mistyped id would be met without help."""
    with pytest.raises(InputError, match="did you mean"):
        select(load_claims(), ["I-4.11"])
    assert {c.paper for c in select(load_claims(), paper="2609.01231")} == {Paper.IDENTIFICATION}
    with pytest.raises(InputError, match="no claim of the paper"):
        select(load_claims(), paper="Z")


def test_attend_is_a_softmax_mean() -> None:
    """If it fails, counterexamples would show wrong numbers: weights must be positive and sum to 1, and
    scores may shift, except beside a sink."""
    scores, values = [fmpq(1, 2), fmpq(-1), fmpq(3)], [fmpq(1), fmpq(5), fmpq(-2)]
    ones = [fmpq(1)] * 3
    assert attend(scores, ones) == 1
    assert attend([s + 7 for s in scores], values) == attend(scores, values)
    assert 0 < attend(scores, ones, sink=fmpq(0)) < 1
    assert attend([fmpq(0), fmpq(1)], [fmpq(1), fmpq(0)]) == fmpq(1, 3)
