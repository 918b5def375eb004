"""Certificates on whether two attention layers are the same function.

The words of the sentences and the proof belong to :mod:`exactattn.checker.equivalence`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from flint import fmpq

from exactattn.certificate.content import made_by, published_schema, sealed
from exactattn.checker import check_data
from exactattn.checker.equivalence import MAX_NUMBERS, equivalence_texts
from exactattn.checkpoint.compare import LayerComparison, Sameness
from exactattn.checkpoint.dyadic import Dyadic
from exactattn.exceptions import CertificateError
from exactattn.identify.layer import rotary_pairs
from exactattn.identify.parameters import Array
from exactattn.identify.spec import AttentionSpec
from exactattn.numbers import rational_text

__all__ = ["equivalence_certificate", "equivalence_schema", "sealed_equivalence"]

Layer = tuple[AttentionSpec, Mapping[str, Array]]
VERDICTS = {Sameness.EQUAL: "equal", Sameness.WITHIN: "within", Sameness.DIFFERENT: "different"}


def equivalence_certificate(first: Layer, second: Layer, comparison: LayerComparison) -> dict[str, Any]:
    """The certificate of a comparison of two small layers, all parameters included.

    The checker has accepted the certificate before it is returned. Raises CertificateError for an unknown
    verdict, for layers of more than 65 536 numbers, and for parts the certificate does not speak of: sinks,
    soft caps, query/key norms, latents, ALiBi, relative biases, norms around the layer, cross-attention,
    ties; and for a difference with rotary positions.

    >>> import numpy as np
    >>> from exactattn.checkpoint.compare import compare_layers
    >>> one = {name: np.eye(2) for name in ("query", "key", "value", "output")}
    >>> layer = AttentionSpec.of(width=2, heads=1), one
    >>> equivalence_certificate(layer, layer, compare_layers(layer, layer))["verdict"]
    'equal'
    """
    verdict = VERDICTS.get(comparison.verdict)
    if verdict is None:
        raise CertificateError("the comparison did not decide, so there is nothing to certify")
    for spec, _ in (first, second):
        _check_spec(spec, verdict)
    if first[0].rotary is not None and second[0].rotary is not None:
        angles = {(s.rotary.size, s.rotary.base, s.rotary.rule) for s, _ in (first, second) if s.rotary}
        if len(angles) > 1:
            raise CertificateError("the layers turn by different angles")
    certificate = sealed_equivalence(_content(first, second, comparison, verdict))
    result = check_data(certificate)
    if result.code != 0:
        raise CertificateError(f"the checker does not accept what this would state: {result.reason}")
    return certificate


def sealed_equivalence(content: dict[str, Any]) -> dict[str, Any]:
    """The content with the sentences that belong to it, and the digest."""
    return sealed(content, equivalence_texts(content))


def equivalence_schema() -> dict[str, Any]:
    """The published JSON Schema (2020-12) of these certificates, version 1.

    >>> equivalence_schema()["title"]
    'exactattn equivalence certificate, version 1'
    """
    return published_schema("equivalence.v1")


def _check_spec(spec: AttentionSpec, verdict: str) -> None:
    beyond = {
        "sinks": spec.sinks,
        "a soft cap": spec.soft_cap,
        "query/key norms": spec.query_key_norm,
        "latents": spec.query_latent or spec.key_value_latent,
        "ALiBi": spec.alibi,
        "a relative bias": spec.relative_bias,
        "a norm before the layer": spec.norm_before,
        "a norm after the layer": spec.norm_after,
        "another sequence": spec.source_width,
        "tied projections": spec.ties,
    }
    for name, part in beyond.items():
        if part:
            raise CertificateError(f"certificates of equivalence do not speak of layers with {name}")
    if spec.rotary is not None and verdict == "different":
        raise CertificateError("certificates of a difference are for layers without rotary positions")
    size = (spec.heads + spec.groups) * (spec.head_size + spec.value_size) * spec.width
    if size > MAX_NUMBERS:
        raise CertificateError(
            f"the layer has {size} numbers; certificates hold layers of at most {MAX_NUMBERS}"
        )


def _content(first: Layer, second: Layer, comparison: LayerComparison, verdict: str) -> dict[str, Any]:
    same = verdict != "different"
    constant = comparison.parts[0].distance_squared if same else None
    return {
        "format": "exactattn-certificate",
        "version": 1,
        "kind": "equivalence",
        "verdict": verdict,
        "width": first[0].width,
        "rotated": first[0].rotated,
        "layers": [_layer(spec, parameters) for spec, parameters in (first, second)],
        "classes": _classes(first[0], second[0], comparison) if same else [],
        "constant": None if constant is None else rational_text(constant),
        "input": None if same else _input(first[0].width, comparison),
        "made_by": made_by(),
    }


def _classes(
    first: AttentionSpec, second: AttentionSpec, comparison: LayerComparison
) -> list[dict[str, Any]]:
    # distances are those of forms times the factors' ratio in lowest terms; here the second layer's is 1
    ratio: fmpq = first.score_scale_squared / second.score_scale_squared
    found = []
    for head in comparison.heads:
        scores = sum((p.distance_squared for p in head.parts if p.name != "outputs"), fmpq(0))
        outputs = next(p.distance_squared for p in head.parts if p.name == "outputs")
        found.append(
            {
                "first": list(head.first),
                "second": list(head.second),
                "scores": rational_text(scores / ratio.q),
                "outputs": rational_text(outputs),
            }
        )
    return found


def _input(width: int, comparison: LayerComparison) -> dict[str, Any]:
    shown = comparison.separating
    assert shown is not None
    gap = abs(shown.first - shown.second).lower().mid().fmpq()
    # a short number a little below
    unit = fmpq(1)
    while unit > gap / 100:
        unit /= 10
    rows = [[rational_text(token.get(j, fmpq(0))) for j in range(width)] for token in shown.tokens]
    return {
        "tokens": rows,
        "coordinate": shown.coordinate,
        "gap": rational_text(fmpq((gap / unit).floor()) * unit),
    }


def _layer(spec: AttentionSpec, parameters: Mapping[str, Array]) -> dict[str, Any]:
    """All parameters, rotated dimensions in the order of planes."""
    order = [row for pair in rotary_pairs(spec) for row in pair]
    order += range(spec.rotated, spec.head_size)
    content: dict[str, Any] = {
        "heads": spec.heads,
        "groups": spec.groups,
        "head_size": spec.head_size,
        "value_size": spec.value_size,
        "factor_squared": rational_text(spec.score_scale_squared),
    }
    for name in ("query", "key", "value", "output"):
        rows: list[int] = list(range(len(parameters[name])))
        if name in ("query", "key"):
            rows = [start + k for start in range(0, len(rows), spec.head_size) for k in order]
        content[name] = _texts(parameters[name][rows])
        bias = parameters.get(f"{name} bias")
        content[f"{name}_bias"] = None if bias is None else [row[0] for row in _texts(bias[rows])]
    return content


def _texts(array: Array) -> list[list[str]]:
    exact = Dyadic.of(np.asarray(array))
    rows, columns = exact.shape
    return [[rational_text(exact.entry(i, j)) for j in range(columns)] for i in range(rows)]
