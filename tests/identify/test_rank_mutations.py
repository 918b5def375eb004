"""Every field of rank certificates changed: what the checker still accepts is true, and little passes.

The adversary also computes the digest anew, and writes the sentences anew that belong to the changed content.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from flint import fmpq
from rank_variants import SHARED, SMALL, biases, normed, of, rms, rotary, table

from exactattn.checker import check, check_data
from exactattn.checker.rank import rank_texts
from exactattn.exceptions import ExactAttnError
from exactattn.identify import (
    AttentionSpec,
    Latent,
    Norm,
    NormKind,
    Pairing,
    QueryKeyNorm,
    RelativeBias,
    Rotary,
    Scope,
    Sinks,
    Tie,
)
from exactattn.identify.rank_certificate import certify_count
from exactattn.identify.rank_witness import rank_witness
from exactattn.numbers import rational

CERTIFICATES = {
    "eliminated": certify_count(of(2, 1, **biases("qko"))).content,
    "solved": certify_count(of(2, 2, 1, rotary=None, **biases("kv")), deterministic=False).content,
    "rotated and normed": certify_count(
        of(3, 1, head_size=2, rotary=rotary(2, base=fmpq(100)), query_key_norm=normed(SHARED, rms(SMALL)))
    ).content,
    "relative": certify_count(of(2, 1, relative_bias=table(4, 3, True), causal=False)).content,
}
SENTENCES = {"statement", "hypotheses", "does_not_establish"}
Change = tuple[tuple[str | int, ...], Any]


def other_values(x: Any) -> Iterator[Any]:
    """Other values for a leaf."""
    if isinstance(x, bool):
        yield not x
    elif isinstance(x, int):
        yield from (x + 1, x - 1, -x - 1, 0, str(x), float(x))
    elif isinstance(x, str):
        yield from (x + "1", x[:-1], "2", [x])
    elif x is None:
        yield from (0, 1, "2", "one", {}, [], False)
    if x is not None:
        yield None


def changes(x: Any, path: tuple[str | int, ...] = ()) -> Iterator[Change]:
    """Changed values, with their places; of long lists, some entries."""
    if isinstance(x, dict):
        yield path, {}
        yield path, {**x, "added": 1}
        for key in x:
            yield path, {k: y for k, y in x.items() if k != key}
            yield from changes(x[key], (*path, key))
    elif isinstance(x, list):
        yield from ((path, y) for y in ([], x[::-1], x[1:], x[:-1], [*x, *x[-1:]], None) if y != x)
        for k in sorted({0, len(x) // 2, len(x) - 1}) if x else ():
            yield from changes(x[k], (*path, k))
    else:
        yield from ((path, y) for y in other_values(x) if type(y) is not type(x) or y != x)


def changed(content: dict[str, Any], change: Change) -> dict[str, Any]:
    (*path, last), value = change
    result = copy.deepcopy(content)
    place: Any = result
    for key in path:
        place = place[key]
    place[last] = value
    return result


def resealed(content: dict[str, Any]) -> dict[str, Any]:
    rest = {key: x for key, x in content.items() if key != "digest"}
    return {**rest, "digest": check.digest(rest)}


def read_norm(x: Any) -> Norm | None:
    return None if x is None else Norm(**{**x, "kind": NormKind(x["kind"]), "eps": rational(x["eps"])})


def read_spec(x: dict[str, Any]) -> AttentionSpec:
    """The architecture that a certificate describes."""

    def read_latent(y: Any) -> Latent | None:
        return None if y is None else Latent(rank=y["rank"], norm=read_norm(y["norm"]), bias=y["bias"])

    rotary_, norm, relative = x["rotary"], x["query_key_norm"], x["relative_bias"]
    read: dict[str, Any] = {
        "query_latent": read_latent(x["query_latent"]),
        "key_value_latent": read_latent(x["key_value_latent"]),
        "norm_before": read_norm(x["norm_before"]),
        "norm_after": read_norm(x["norm_after"]),
        "sinks": None if x["sinks"] is None else Sinks(x["sinks"]),
        "ties": frozenset(Tie(tie) for tie in x["ties"]),
        "relative_bias": None if relative is None else RelativeBias(**relative),
    }
    for key in ("soft_cap", "scale_squared"):
        read[key] = None if x[key] is None else rational(x[key])
    if rotary_ is not None:
        base = None if rotary_["base"] is None else rational(rotary_["base"])
        read["rotary"] = Rotary(**{**rotary_, "pairing": Pairing(rotary_["pairing"]), "base": base})
    if norm is not None:
        read["query_key_norm"] = QueryKeyNorm(norm=read_norm(norm["norm"]), scope=Scope(norm["scope"]))
    return AttentionSpec(**{**x, **read})


def is_true(content: dict[str, Any]) -> bool:
    """Whether the package, from the architecture alone, finds an enclosure inside the stated one."""
    try:
        found = rank_witness(read_spec(content["spec"]))
    except ExactAttnError:
        return False
    stated = content["rank"], content["rank"] + len(content["open"])
    return (
        found.parameters == content["parameters"]
        and stated[0] <= found.at_least
        and found.at_most <= stated[1]
    )


@pytest.mark.parametrize(
    "name",
    [
        name if number < 2 else pytest.param(name, marks=pytest.mark.slow)
        for number, name in enumerate(CERTIFICATES)
    ],
)
def test_changed_certificates_are_refused(name: str) -> None:
    """A changed certificate that passes with a false count would be a forged proof."""
    content = CERTIFICATES[name]
    assert check_data(content).code == 0
    tried = passed = 0
    for change in changes(content):
        if not change[0]:
            assert check_data(change[1]).code != 0
            continue
        forged = changed(content, change)
        assert check_data(forged).code != 0, change
        key = change[0][0]
        sealed = resealed(forged)
        if key not in SENTENCES and key != "digest":
            # sentences cannot be written for content of another shape
            with suppress(TypeError, LookupError, ValueError, AttributeError):
                sealed = resealed({**forged, **rank_texts(forged)})
        tried += 1
        if key != "digest" and check_data(json.loads(json.dumps(sealed))).code == 0:
            passed += 1
            assert key == "made_by" or is_true(sealed), change
    assert tried > 150
    assert passed < tried // 6


def test_changed_solution_is_refused() -> None:
    """Each entry of each solution matters, or a singular matrix would pass."""
    content = CERTIFICATES["solved"]
    for v, solution in enumerate(content["solutions"]):
        for k, x in enumerate(solution):
            forged = resealed(changed(content, (("solutions", v, k), (x + 1) % content["primes"][0])))
            assert "does not solve" in check_data(forged).reason


def test_dependent_rows_are_refused() -> None:
    """Outputs of single tokens show no scores, so their rows are dependent: the checker must see it."""
    content = certify_count(of(3, 1)).content
    tokens = content["rank"] // 3
    alone = {"sizes": [[1, 0]] * tokens, "versions": [[0] * tokens] * 2, "rows": list(range(content["rank"]))}
    verdict = check_data(resealed({**content, **alone}))
    assert (verdict.code, verdict.reason) == (1, "rows: rows and tangents are not independent")


def test_unsolvable_prover() -> None:
    """Wrong solutions for every right-hand side: zero vectors must not pass."""
    content = CERTIFICATES["solved"]
    zeros = [[0] * content["parameters"]] * len(content["solutions"])
    assert (
        check_data(resealed({**content, "solutions": zeros})).reason
        == "solutions[0]: does not solve its system"
    )
