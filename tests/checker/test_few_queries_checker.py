"""The older certificates of the optimal and the consistency method: accepted, and refused after a change."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from flint import fmpq

from exactattn.certificate import few_queries_schema
from exactattn.checker import check, check_data
from exactattn.checker.few_queries import few_queries_texts
from exactattn.numbers import rational_text

CORPUS = Path(__file__).parent / "few_queries_corpus"
FILES = sorted(file.stem for file in CORPUS.glob("*.json"))
METHODS = ("optimal", "consistent")


def sample(name: str, *, public: bool = True) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((CORPUS / f"{name}.json").read_text(encoding="utf-8"))
    return content if public else resealed({**content, "model": None})


def resealed(content: dict[str, Any]) -> dict[str, Any]:
    """The content with the sentences and the digest that belong to it."""
    complete = {key: x for key, x in content.items() if key != "digest"}
    complete |= few_queries_texts(complete)
    return {**complete, "digest": check.digest(complete)}


@pytest.mark.parametrize("name", FILES)
def test_accepted(name: str) -> None:
    """Breaks: certificates that were given out are no longer accepted; words that do not follow from the
    content."""
    for public in (True, False):
        content = sample(name, public=public)
        assert check_data(content).code == 0
        jsonschema.validate(content, few_queries_schema())
        status = {h["id"]: h["status"] for h in content["hypotheses"]}
        assert status["layer"] == ("verified for the model" if public else "assumed")
    assert len(FILES) >= 4


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
    return resealed(copied)


@pytest.mark.parametrize("method", METHODS)
def test_every_changed_number_is_refused(method: str) -> None:
    """Breaks: any number of the content could be replaced, with digest and sentences that belong to it."""
    content = sample(f"{method}-fractions", public=False)
    words = ("statement", "hypotheses", "does_not_establish", "digest", "made_by", "format", "kind", "field")
    tried = 0
    for path in places({k: x for k, x in content.items() if k not in (*words, "method", "model", "base")}):
        assert check_data(changed(content, path)).code == 1, path
        tried += 1
    assert tried > 40


@pytest.mark.parametrize("method", METHODS)
def test_other_changes_are_refused(method: str) -> None:
    """Breaks: missing answers, heads out of order, another method, old sentences, a false model."""
    content = sample(f"{method}-fractions")
    for change in (
        {"answers": content["answers"][:-1]},
        {"answers": [content["answers"][1], content["answers"][0], *content["answers"][2:]]},
        {"heads": content["heads"][::-1]},
        {"heads": content["heads"][:1]},
        {"method": METHODS[1 - METHODS.index(method)]},
        {"model": {"heads": content["heads"][:1]}},
        {"heads_bound": 3},
    ):
        assert check_data(resealed({**content, **change})).code == 1, change.keys()
    for key in ("statement", "hypotheses", "does_not_establish"):
        assert check_data({**content, key: content[key][:-1]}).code == 1
