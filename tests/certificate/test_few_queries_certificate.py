"""Certificates of the optimal and the consistency method: accepted as written, refused after any change."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from flint import fmpq

from exactattn.certificate.few_queries import (
    few_queries_certificate,
    few_queries_schema,
    run_content,
    sealed_few_queries,
)
from exactattn.checker import check_data
from exactattn.exceptions import CertificateError
from exactattn.model import Attention, Evaluator, Head, random_layer
from exactattn.numbers import LogLattice, rational_text
from exactattn.oracle import ExactOracle
from exactattn.recovery import TokenRange, recover
from exactattn.recovery.methods.consistency_plan import ConsistencyPlan
from exactattn.recovery.methods.optimal_plan import OptimalPlan

METHODS = ("optimal", "consistent")
LAYERS = {
    "one head": random_layer(1, 2, seed=1),
    "one number": random_layer(2, 1, seed=1, size=40),
    "two heads": random_layer(2, 2, seed=1),
    "odd size": random_layer(2, 3, seed=4),
    "fractions": random_layer(2, 2, seed=3, denominator=6),
    "duplicates": random_layer(4, 2, seed=8, duplicates=2),
}


def certificate(method: Any, layer: Attention, *, public: bool = True) -> dict[str, Any]:
    heads = len(layer.canonical().heads)
    result = recover(ExactOracle(layer), heads, method=method, denominator=layer.denominator())
    return few_queries_certificate(result, layer if public else None)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", LAYERS)
def test_accepted(method: Any, name: str) -> None:
    """Breaks: a true run must be certified; its words follow from its content."""
    for public in (True, False):
        content = certificate(method, LAYERS[name], public=public)
        assert check_data(content).code == 0
        jsonschema.validate(content, few_queries_schema())
        status = {h["id"]: h["status"] for h in content["hypotheses"]}
        assert status["layer"] == ("verified for the model" if public else "assumed")


def places(x: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a number or text."""
    if isinstance(x, dict | list):
        for key, y in x.items() if isinstance(x, dict) else enumerate(x):
            yield from places(y, (*path, key))
    else:
        yield path


def changed(content: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    """The content with one number (or text) changed, sealed again."""
    copied = copy.deepcopy(content)
    place = copied
    for step in path[:-1]:
        place = place[step]
    old = place[path[-1]]
    if isinstance(old, int):
        place[path[-1]] = old + 1
    else:
        p, _, q = old.partition("/")
        place[path[-1]] = rational_text(fmpq(int(p, 0), int(q or "1", 0)) + 1)
    return sealed_few_queries(copied)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["two heads", "one head"])
def test_every_changed_number_is_refused(method: Any, name: str) -> None:
    """Breaks: any number of the content could be replaced, with digest and sentences that belong to it. (A
    radius of the token range that changes no drawn vector does not exist here.)"""
    content = certificate(method, LAYERS[name], public=False)
    words = ("statement", "hypotheses", "does_not_establish", "digest", "made_by", "format", "kind", "field")
    tried = 0
    for path in places({k: x for k, x in content.items() if k not in (*words, "method", "model", "base")}):
        verdict = check_data(changed(content, path))
        assert verdict.code == 1, path
        tried += 1
    assert tried > 40


@pytest.mark.parametrize("method", METHODS)
def test_other_changes_are_refused(method: Any) -> None:
    """Breaks: missing answers, heads out of order, another method, old sentences, a false model."""
    content = certificate(method, LAYERS["two heads"])
    other = METHODS[1 - METHODS.index(method)]
    for change in (
        {"answers": content["answers"][:-1]},
        {"answers": [content["answers"][1], content["answers"][0], *content["answers"][2:]]},
        {"heads": content["heads"][::-1]},
        {"heads": content["heads"][:1]},
        {"method": other},
        {"model": {"heads": content["heads"][:1]}},
        {"heads_bound": 3},
    ):
        assert check_data(sealed_few_queries({**content, **change})).code == 1, change.keys()
    for key in ("statement", "hypotheses", "does_not_establish"):
        shorter = {**content, key: content[key][:-1]}
        assert check_data(shorter).code == 1


def test_ambiguous_labels_are_refused() -> None:
    """Breaks: two heads with one v. The answers of the optimal plan do not tell rows of one from rows of the
    other, so a certificate that lists them must be refused, whoever wrote it."""
    layer = Attention.of([Head.of([[1, 2], [3, 1]], [1, 2]), Head.of([[0, 4], [-1, 2]], [1, 2])]).canonical()
    evaluator = Evaluator(layer, LogLattice())
    for kind in (OptimalPlan, ConsistencyPlan):
        plan = kind.draw(2, 2, 0, TokenRange(6, 32, first=24))

        run: Any = SimpleNamespace(
            system=LogLattice(), heads=layer.heads, queries=plan.count, longest=5, redraws=0,
            answers=[evaluator(query) for query in plan.queries()],
        )  # fmt: skip
        verdict = check_data(sealed_few_queries(run_content(run, [plan], None)))
        assert verdict.code == 1
        assert "ambiguous" in verdict.reason


def test_what_cannot_be_certified_is_named() -> None:
    """Breaks: one clear sentence for runs over balls, of given rank, or with fewer heads than the bound."""
    layer = random_layer(2, 2, seed=1)
    oracle = ExactOracle(layer)
    for options in ({"numbers": "balls"}, {"rank": 2}, {"method": "published"}):
        result = recover(oracle, 2, **{"method": "optimal", **options})  # type: ignore[arg-type]
        with pytest.raises(CertificateError):
            few_queries_certificate(result)
    with pytest.raises(CertificateError, match="bound"):
        few_queries_certificate(recover(oracle, 3, method="optimal"))
