"""Certificates of equivalence: accepted as written; after any change refused, or true."""

from __future__ import annotations

import ast
import copy
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from exactattn.certificate.equivalence import equivalence_certificate, equivalence_schema, sealed_equivalence
from exactattn.checker import check_data, equivalence
from exactattn.checkpoint.compare import LayerComparison, compare_layers
from exactattn.exceptions import CertificateError
from exactattn.identify import AttentionSpec, parse_variant
from exactattn.identify.parameters import parameter_shapes
from exactattn.numbers import rational, rational_text

Layer = tuple[AttentionSpec, dict[str, Any]]


def layer(line: str, seed: int = 1) -> Layer:
    spec = parse_variant(line).layers[0].attention
    rng = np.random.default_rng(seed)
    return spec, {name: rng.integers(-4, 5, s) / 2 for name, s in parameter_shapes(spec).items()}


def doubled(given_layer: Layer) -> Layer:
    """Queries doubled, keys halved, values doubled, outputs halved; in every group."""
    spec, arrays = given_layer
    factors = {"query": 2.0, "key": 0.5, "value": 2.0, "output": 0.5}
    return spec, {
        name: array * (1.0 if name == "output bias" else factors[name.removesuffix(" bias")])
        for name, array in arrays.items()
    }


def changed(given_layer: Layer, name: str, by: float = 1.0) -> Layer:
    spec, arrays = given_layer
    new = arrays[name].copy()
    new.flat[0] += by
    return spec, {**arrays, name: new}


PLAIN, GROUPED, ROTATED = "mha E=4 H=2 bias=qkvo", "gqa E=3 H=4 G=2 D=1 C=2", "mha E=2 H=1 D=3 R=2 bias=qk"


def pairs() -> dict[str, tuple[Layer, Layer, fmpq]]:
    plain, grouped, rotated = layer(PLAIN), layer(GROUPED), layer(ROTATED)
    merged = layer("mha E=2 H=2 D=1")
    merged[1]["query"][1], merged[1]["key"][1] = merged[1]["query"][0], merged[1]["key"][0]
    return {
        "plain": (plain, doubled(plain), fmpq(0)),
        "grouped": (grouped, doubled(grouped), fmpq(0)),
        "rotated": (rotated, doubled(rotated), fmpq(0)),
        "merged": (merged, doubled(merged), fmpq(0)),
        "no key bias": (plain, (plain[0], {**plain[1], "key bias": np.zeros(4)}), fmpq(0)),
        "close": (plain, changed(doubled(plain), "query", 2.0**-20), fmpq(1, 1000)),
        "close, rotated": (rotated, changed(rotated, "key bias", 2.0**-20), fmpq(1, 1000)),
        "different scores": (plain, changed(plain, "query"), fmpq(0)),
        "different constants": (plain, changed(plain, "output bias"), fmpq(0)),
        "different, grouped": (grouped, changed(grouped, "key"), fmpq(0)),
    }


PAIRS = pairs()


def certified(name: str) -> tuple[dict[str, Any], LayerComparison]:
    first, second, within = PAIRS[name]
    comparison = compare_layers(first, second, within)
    return equivalence_certificate(first, second, comparison), comparison


@pytest.mark.parametrize("name", PAIRS)
def test_accepted(name: str) -> None:
    """Breaks: a true comparison must be certified; its words follow from its content."""
    content, comparison = certified(name)
    assert check_data(json.loads(json.dumps(content))).code == 0
    jsonschema.validate(content, equivalence_schema())
    expected = "within" if "close" in name else "different" if "different" in name else "equal"
    assert content["verdict"] == expected
    assert expected in comparison.verdict.value
    assert any(h["id"] == "angles" for h in content["hypotheses"]) == ("rotated" in name)


def places(x: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a number or text."""
    if isinstance(x, dict | list):
        for key, y in x.items() if isinstance(x, dict) else enumerate(x):
            yield from places(y, (*path, key))
    else:
        yield path


def others(old: Any) -> Iterator[Any]:
    """Other values for a number or text."""
    if old is None:
        yield from ("0", ["0"], 0)
    elif isinstance(old, int):
        yield from (old + 1, old - 1, str(old), None)
    elif old in ("equal", "within", "different"):
        yield from {"equal", "within", "different"} - {old}
    else:
        x = rational(old)
        yield from (rational_text(x + 1), rational_text(-x - 3), rational_text(x / 3 + 1), int(x.p), None)


def layer_of(content: dict[str, Any], rotated: int) -> Layer:
    """A layer of a certificate, read back."""
    biases = {
        f"{name}_bias": content[f"{name}_bias"] is not None for name in ("query", "key", "value", "output")
    }
    width = len(content["output"])
    text = " ".join(
        [
            f"gqa E={width} H={content['heads']} G={content['groups']} D={content['head_size']}",
            f"C={content['value_size']}",
            *([f"R={rotated} pairing=interleaved"] if rotated else []),
        ]
    )
    spec = replace(
        parse_variant(text).layers[0].attention, scale_squared=rational(content["factor_squared"]), **biases
    )
    arrays = {}
    for name, array in content.items():
        if array is not None and isinstance(array, list):
            number = np.vectorize(lambda x: float(Fraction(x)), otypes=[float])
            arrays[name.replace("_", " ")] = number(np.array(array, dtype=object))
    return spec, arrays


def true(content: dict[str, Any]) -> bool:
    """Whether the package itself finds what a changed certificate says."""
    first, second = (layer_of(x, content["rotated"]) for x in content["layers"])
    found = compare_layers(first, second, fmpq(10**9))
    if content["verdict"] == "different":
        return found.verdict.value != "equal modulo gauge"
    equal = found.verdict.value == "equal modulo gauge"
    return equal == (content["verdict"] == "equal")


@pytest.mark.parametrize("name", ["plain", "rotated", "merged", "close", "different scores"])
def test_what_passes_after_a_change_is_true(name: str) -> None:
    """Breaks: with digest and sentences that belong to it, a changed content would be accepted and false."""
    content, _ = certified(name)
    words = ("statement", "hypotheses", "does_not_establish", "digest", "made_by", "format", "kind")
    refused = passed = 0
    for path in places({k: x for k, x in content.items() if k not in words}):
        old: Any = content
        for step in path:
            old = old[step]
        for new in others(old):
            copied = copy.deepcopy(content)
            place: Any = copied
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = new
            try:
                sealed = sealed_equivalence(copied)
            except (KeyError, TypeError):  # the sentences cannot be written
                continue
            if check_data(sealed).code:
                refused += 1
            else:
                passed += 1
                assert true(copied), (path, new)
    assert refused > 100
    # an unequal input, a shorter gap, a key bias
    assert passed < refused


@pytest.mark.parametrize("name", ["plain", "close", "different scores"])
def test_other_changes_are_refused(name: str) -> None:
    """Breaks: heads left out or named twice, other verdicts, old sentences, a digest of something else."""
    content, _ = certified(name)
    for change in (
        {"classes": content["classes"][:-1]} if content["classes"] else {"classes": [{}]},
        {"classes": content["classes"] * 2} if content["classes"] else {"classes": None},
        {"verdict": "different", "classes": [], "constant": None},
        {"verdict": "same"},
        {"layers": content["layers"][:1]},
        {"width": 5},
        {"rotated": 1},
        {"rotated": 4},
        {"version": 2},
    ):
        if name == "different scores" and change.get("verdict") == "different":
            continue
        try:
            sealed = sealed_equivalence({**content, **change})
        except (KeyError, TypeError, ValueError):
            continue
        assert check_data(sealed).code == 1, change.keys()
    for key in ("statement", "hypotheses", "does_not_establish"):
        assert check_data({**content, key: content[key][:-1]}).code == 1
    assert check_data({**content, "width": 3}).code == 1


def test_a_gap_that_is_not_there_is_refused() -> None:
    """Breaks: a difference would be larger in words than it is."""
    content, comparison = certified("different scores")
    shown = comparison.separating
    assert shown is not None
    gap = abs(shown.first - shown.second)
    assert fmpq(99, 100) * gap < rational(content["input"]["gap"]) <= gap
    more = rational_text(rational(content["input"]["gap"]) * fmpq(102, 100))
    assert check_data(sealed_equivalence({**content, "input": {**content["input"], "gap": more}})).code == 1


@settings(max_examples=60, deadline=None)
@given(st.fractions(min_value=-4096, max_value=0))
def test_the_checkers_exponential_encloses(x: Fraction) -> None:
    """Breaks: an input could be said to show a difference that is only rounding; Arb is the other engine."""
    low, high = equivalence.exponential(x, x)
    with ctx.workprec(600):
        exact = arb(fmpq(x.numerator, x.denominator)).exp()
        assert (
            arb(fmpq(low.numerator, low.denominator)) <= exact <= arb(fmpq(high.numerator, high.denominator))
        )
    assert high - low < Fraction(1, 1 << 220)


def test_what_cannot_be_certified_is_named() -> None:
    """Breaks: one clear sentence for layers that certificates do not speak of."""
    for line, message in (
        ("mha E=2 H=1 sinks=one", "sinks"),
        ("mha E=4 H=1 D=2 qknorm=rms:shared eps=0", "norms"),
        ("mha E=132 H=2", "numbers"),
    ):
        one = layer(line)
        with pytest.raises(CertificateError, match=message):
            equivalence_certificate(one, one, compare_layers(one, one))
    first = layer("mha E=2 H=1 R=2")
    base = replace(first[0], rotary=replace(first[0].rotary, base=fmpq(10)))  # type: ignore[type-var]
    one, other = (base, first[1]), changed((base, first[1]), "query")
    with pytest.raises(CertificateError, match="rotary"):
        equivalence_certificate(one, other, compare_layers(one, other))
    wide, narrow = layer("mha E=4 H=1"), layer("mha E=2 H=1")
    with pytest.raises(CertificateError, match="did not decide"):
        equivalence_certificate(wide, narrow, compare_layers(wide, narrow))


def test_the_checker_needs_the_standard_library_only() -> None:
    """Breaks: the checker is no longer independent."""
    source = Path(equivalence.__file__).read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= sys.stdlib_module_names
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 1 or str(node.module).split(".")[0] in sys.stdlib_module_names
