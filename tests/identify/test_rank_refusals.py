"""Certificates that the checker must refuse, each for its reason."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from flint import fmpq
from rank_variants import DECOUPLED, SHARED, SMALL, biases, latent, normed, of, rms, rotary

from exactattn.checker import check, check_data
from exactattn.checker.rank import rank_texts
from exactattn.identify import AttentionSpec, certify_count

BASES: dict[str, AttentionSpec] = {
    "plain": of(2, 1, **biases("qk")),
    "rotated": of(
        3, 1, head_size=2, rotary=rotary(2, base=fmpq(100)), query_key_norm=normed(SHARED, rms(SMALL))
    ),
    "latent": of(3, 2, head_size=4, value_size=2, key_value_latent=latent(2, rms()), rotary=DECOUPLED),
    "capped": of(2, 1, soft_cap=fmpq(50)),
}
CONTENT = {name: certify_count(spec).content for name, spec in BASES.items()}

REFUSED: list[tuple[str, str, Any, str]] = [
    ("plain", "spec.heads", 0, "spec.heads: is 0, must be an integer from 1 to 16384"),
    ("plain", "spec.groups", 2, "spec.groups: does not go with the rest of the layer"),
    ("plain", "spec.causal", 1, "spec.causal: is 1, must be true or false"),
    ("plain", "spec.sinks", "two", "spec.sinks: is 'two', must be one of learned, one"),
    ("plain", "spec.ties", ["query=query"], "spec.ties[0]: is 'query=query', must be one of"),
    ("plain", "spec.ties", ["query=key", "key=value"], "spec.ties: does not go with the rest"),
    ("plain", "spec.window", 0, "spec.window: is 0, must be an integer from 1"),
    ("plain", "spec.alibi", None, "spec.alibi: is None, must be true or false"),
    ("plain", "spec.soft_cap", "-3", "spec.soft_cap: must be positive"),
    ("plain", "spec.source_width", 2, "spec.source_width: does not go with the rest"),
    ("plain", "spec.query_key_norm", {"norm": 1}, "spec.query_key_norm: missing key 'scope'"),
    ("plain", "spec.scale_squared", "2/4", "spec.scale_squared: '2/4' is not in lowest terms"),
    ("plain", "parameters", 21, "parameters: is 21, must be 20"),
    ("plain", "rank", 11, "rank: is 11, must be 10"),
    ("plain", "seed", True, "seed: is True, must be an integer"),
    ("plain", "primes", [7, 3], "primes[0]: is 7, must be an integer from"),
    ("plain", "primes", [2147454839, 1073727421], "primes: 1073727421 is not a prime"),
    ("plain", "primes", [2147454839, 1073725259], "primes: each must be twice the next one plus 1"),
    ("plain", "sizes", [], "sizes: must be a list of 1 to 16384 items"),
    ("plain", "sizes", [[3, 1]], "sizes[0][1]: is 1, must be an integer from 0 to 0"),
    ("plain", "versions", [[0], [0]], "versions[0]: must be a list of"),
    ("plain", "rows.0", 10**6, "rows[0]: is 1000000, must be an integer from 0"),
    ("plain", "rows", list(range(10))[::-1], "rows: must be in ascending order"),
    ("plain", "left_out", [0], "symmetries: are not those of the layer without the tangents left out"),
    ("plain", "open", [0], "open: must make up for what rows and tangents do not determine"),
    ("plain", "symmetries", [], "symmetries: are not those of the layer without the tangents left out"),
    ("plain", "solutions", [], "solutions: must be a list of 4 items"),
    ("plain", "added", 1, "unknown key 'added'"),
    ("rotated", "spec.rotary.size", 1, "spec.rotary: must have an even size"),
    ("rotated", "spec.rotary.size", 4, "spec.rotary: does not go with the rest"),
    ("rotated", "spec.rotary.base", "1", "spec.rotary: must have an even size and a base above 1"),
    ("rotated", "spec.rotary.rule", "No rule", "spec.rotary.rule: must be a word or null"),
    ("rotated", "spec.rotary.shared_key", True, "spec.rotary: does not go with the rest"),
    ("rotated", "spec.query_key_norm.norm.eps", "-1", "spec.query_key_norm.norm.eps: must be at least 0"),
    ("rotated", "spec.query_key_norm.norm.kind", "layer", "spec: a norm covers too few numbers"),
    ("rotated", "spec.query_key_norm.norm.shift", True, "shift: needs a layer norm with scales"),
    ("latent", "spec.groups", 1, "spec.groups: does not go with the rest"),
    ("latent", "spec.key_value_latent.rank", 1, "spec: a norm covers too few numbers"),
    ("capped", "primes", [2147454839, 1073727419], "primes: must be p, q, and l where scores are capped"),
    ("capped", "spec.alibi", True, "spec.soft_cap: does not go with the rest"),
]


def resealed(content: dict[str, Any]) -> dict[str, Any]:
    rest = {key: x for key, x in content.items() if key != "digest"}
    return {**rest, "digest": check.digest(rest)}


def changed(content: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    result = copy.deepcopy(content)
    *keys, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    place: Any = result
    for key in keys:
        place = place[key]
    place[last] = value
    return resealed(result)


@pytest.mark.parametrize(("base", "path", "value", "reason"), REFUSED)
def test_refused_for_its_reason(base: str, path: str, value: Any, reason: str) -> None:
    """A check that no longer fires would let such a certificate through, or refuse it for no reason."""
    verdict = check_data(changed(CONTENT[base], path, value))
    assert verdict.code == 1
    assert reason in verdict.reason


def test_point_without_roots() -> None:
    """A version at which a norm has no root is not a point of the function."""
    content = CONTENT["rotated"]
    version = content["versions"][0][0]
    reasons = {check_data(changed(content, "versions.0.0", version + k)).reason for k in range(1, 9)}
    assert "versions: a norm has no root at this point" in reasons


def test_elimination_is_limited() -> None:
    """A certificate without solutions could otherwise keep the checker busy for hours."""
    spec = of(13, 1)
    content = certify_count(spec).content
    content = {**content, "solutions": None}
    verdict = check_data(resealed({**content, **rank_texts(content)}))
    assert verdict.reason == "solutions: may be left out up to 640 parameters"


def test_sentences_are_those_of_the_content() -> None:
    """A statement that says more than was verified would be a lie with a valid digest."""
    content = CONTENT["plain"]
    for key, entry in (("statement", 0), ("does_not_establish", 1)):
        forged = changed(content, f"{key}.{entry}", content[key][entry] + " ")
        assert "word for word" in check_data(forged).reason
