"""Certificates of recovered Transformers: pieces, regions, jumps and the count of neurons.

The words of the sentences and the proof belong to :mod:`exactattn.checker.transformer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from exactattn.certificate.content import accepted, made_by, published_schema, rows_of_texts, sealed, texts
from exactattn.certificate.recovery import run_content, sealed_recovery
from exactattn.checker.transformer_form import MAX_SUMMED
from exactattn.checker.transformer_texts import transformer_texts
from exactattn.exceptions import CertificateError
from exactattn.model.heads import Head
from exactattn.model.transformer import Neuron, Transformer
from exactattn.numbers import LogLattice, rational_text
from exactattn.recovery.plan import PublishedPlan
from exactattn.recovery.relu.heads import negated
from exactattn.recovery.relu.paths import TokenPath
from exactattn.recovery.relu.result import TransformerRecovery

__all__ = ["sealed_transformer", "transformer_certificate", "transformer_schema"]


@dataclass(frozen=True)
class _AttentionRun:
    """The antisymmetric part as a run of its own."""

    plan: PublishedPlan
    answers: Sequence[fmpq]
    heads: Sequence[Head]
    system: LogLattice

    @property
    def draws(self) -> tuple[PublishedPlan, ...]:
        return (self.plan,)

    @property
    def queries(self) -> int:
        return len(set(self.plan.queries()))

    @property
    def longest(self) -> int:
        return self.plan.longest


def transformer_certificate(result: TransformerRecovery, model: Transformer | None = None) -> dict[str, Any]:
    """The certificate of a recovered Transformer; with ``model``, the public model is part of the statement.

    The checker has accepted the certificate before it is returned. Raises CertificateError if completeness is
    unknown (neither the number of neurons nor the spacing of kinks was stated), for a walk with frozen
    weights, and if the function is not the model's.

    >>> from exactattn.model.random_transformer import random_transformer
    >>> from exactattn.oracle.transformer import TransformerOracle
    >>> from exactattn.recovery.relu import recover_transformer
    >>> model = random_transformer(1, 2, 2, seed=3)
    >>> result = recover_transformer(TransformerOracle(model), heads=1, neurons=2)
    >>> certificate = transformer_certificate(result, model)
    >>> len(certificate["pieces"]), certificate["attention"]["formula"]
    (3, 15)
    """
    if not result.certified:
        raise CertificateError(
            "the number of neurons is not known to be complete; state --neurons or --kink-spacing"
        )
    if not isinstance(result.path, TokenPath):
        raise CertificateError("certificates are for walks on single tokens, not for frozen weights")
    if model is not None and not result.matches(model):
        raise CertificateError("the recovered function is not the model's")
    certificate = sealed_transformer(_content(result, result.path, model))
    return accepted(certificate)


def sealed_transformer(content: dict[str, Any]) -> dict[str, Any]:
    """The content with the sentences that belong to it, and the digest."""
    return sealed(content, transformer_texts(content))


def transformer_schema() -> dict[str, Any]:
    """The published JSON Schema (2020-12) of these certificates, version 1.

    >>> transformer_schema()["title"]
    'exactattn transformer certificate, version 1'
    """
    return published_schema("transformer.v1")


def _content(result: TransformerRecovery, path: TokenPath, model: Transformer | None) -> dict[str, Any]:
    form = result.form
    number = {item.query: n for n, item in enumerate(result.asked)}
    stated: dict[str, Any] = {"neurons": len(form.kinks)}
    if result.kinks is None and result.spacing is not None:
        stated = {"kink_spacing": rational_text(result.spacing)}
    return {
        "format": "exactattn-certificate",
        "version": 1,
        "kind": "transformer",
        "field": "Q",
        "base": "2",
        "denominator": rational_text(fmpq(result.system.denominator)),
        "dim": form.dim,
        "residual": form.residual,
        "heads_bound": result.bound,
        "stated": stated,
        "matrices": [rows_of_texts(W) for W in form.matrices],
        "linear": rows_of_texts(form.linear),
        "kinks": [{"sign": sign, "direction": rows_of_texts(D)} for sign, D in form.kinks],
        "neurons": _neurons(result.neurons),
        "bypass": None if result.bypass is None else rows_of_texts(result.bypass),
        "path": {"start": texts(path.start), "corner": texts(path.corner)},
        "pieces": [
            {"line": texts(piece.line), "abscissae": texts(piece.points)} for piece in result.walked.pieces
        ],
        "regions": [
            sorted({number[query] for query in (*ends, *region.fitted, *region.tests)})
            for region in result.regions
            for ends in [[path.query(t) for t in (region.piece.low, region.piece.high)]]
        ],
        "asked": [
            {
                "runs": [[texts(token), count] for token, count in item.query.runs],
                "last": texts(item.query.last),
                "answer": rational_text(item.answer),
            }
            for item in result.asked
        ],
        "attention": _attention(result),
        "sums_checked": int(len(form.kinks) <= MAX_SUMMED),
        "queries": len(result.asked),
        "model": None
        if model is None
        else {
            "matrices": [rows_of_texts(W) for W in model.matrices],
            "neurons": _neurons(model.neurons),
            "bypass": None if model.bypass is None else rows_of_texts(model.bypass),
            "residual": model.residual,
        },
        "made_by": made_by(),
    }


def _attention(result: TransformerRecovery) -> dict[str, Any] | None:
    """The certificate of the antisymmetric part F(X) − F(−X), if it shows as many heads as the bound."""
    plan, form = result.heads_plan, result.form
    complete = len(form.matrices) == result.bound and all(any(block) for block in form.linear)
    if plan is None or form.residual or result.residual or not complete:
        return None
    answer = {item.query: item.answer for item in result.asked}
    answers = [answer[query] - answer[negated(query)] for query in plan.queries()]
    heads = [Head(W, v) for W, v in zip(form.matrices, form.linear, strict=True)]
    return sealed_recovery(run_content(_AttentionRun(plan, answers, heads, result.system), None))


def _neurons(neurons: Sequence[Neuron]) -> list[dict[str, Any]]:
    return [{"a": rational_text(n.a), "beta": rows_of_texts(n.beta)} for n in neurons]
