"""Certificates of exact recoveries by the optimal and the consistency method, at full rank.

The words of the sentences and the proof belong to :mod:`exactattn.checker.few_queries`.
"""

from __future__ import annotations

import json
from importlib import resources
from importlib.metadata import version
from typing import Any

import flint

from exactattn.certificate.canonical import digest
from exactattn.checker import check_data
from exactattn.checker.few_queries import few_queries_texts
from exactattn.exceptions import CertificateError
from exactattn.model import Attention
from exactattn.numbers import LogLattice, rational_text, to_matrix
from exactattn.recovery import Recovery
from exactattn.recovery.methods.staged_plan import StagedPlan

__all__ = ["few_queries_certificate", "few_queries_schema", "run_content", "sealed_few_queries"]


def few_queries_certificate(result: Recovery, model: Attention | None = None) -> dict[str, Any]:
    """The certificate of a lattice run of the optimal or the consistency method; with ``model``, the public
    model is part of the statement.

    The checker has accepted the certificate before it is returned. Raises CertificateError for a run over
    balls, of another method, with a given rank, a bias or fewer heads than the bound, or if the heads are not
    the model's canonical form.

    >>> from exactattn.model import random_layer
    >>> from exactattn.oracle import ExactOracle
    >>> from exactattn.recovery import recover
    >>> layer = random_layer(heads=2, dim=2, seed=1)
    >>> certificate = few_queries_certificate(recover(ExactOracle(layer), 2, method="optimal"), layer)
    >>> certificate["queries"], certificate["formula"], certificate["method"]
    (12, 12, 'optimal')
    """
    if not isinstance(result.system, LogLattice):
        raise CertificateError("a certificate needs exact answers; recover again on the lattice")
    plans = [draw for draw in result.draws if isinstance(draw, StagedPlan)]
    if len(plans) < len(result.draws) or result.verifying or any(p.rank or p.bias for p in plans):
        raise CertificateError(
            "certificates with few queries are for the optimal and the consistency method at full rank, "
            "without biases and with a known number of heads"
        )
    if len(result.heads) < result.plan.heads:
        raise CertificateError(
            f"{len(result.heads)} heads were found with the bound {result.plan.heads}; recover again with "
            "their number as the bound"
        )
    if model is not None and not result.matches(model):
        raise CertificateError("the recovered heads are not the canonical form of the model")
    certificate = sealed_few_queries(run_content(result, plans, model))
    verdict = check_data(certificate)
    if verdict.code != 0:
        raise CertificateError(f"the checker does not accept what this run would state: {verdict.reason}")
    return certificate


def sealed_few_queries(content: dict[str, Any]) -> dict[str, Any]:
    """The content with the sentences that belong to it, and the digest."""
    complete = {**content, **few_queries_texts(content)}
    return {**complete, "digest": digest(complete)}


def few_queries_schema() -> dict[str, Any]:
    """The published JSON Schema (2020-12) of these certificates, version 1.

    >>> few_queries_schema()["title"]
    'exactattn few-queries certificate, version 1'
    """
    schema = resources.files("exactattn.certificate") / "schema" / "few-queries.v1.json"
    content: dict[str, Any] = json.loads(schema.read_text(encoding="utf-8"))
    return content


def run_content(result: Recovery, plans: list[StagedPlan], model: Attention | None) -> dict[str, Any]:
    """Everything of the certificate but its sentences and digest; nothing is checked yet."""
    plan = plans[-1]
    bases = {"b": plan.b, "a": plan.first_basis, "u": plan.u}
    return {
        "format": "exactattn-certificate",
        "version": 1,
        "kind": "few-queries",
        "field": "Q",
        "base": "2",
        "denominator": rational_text(flint.fmpq(getattr(result.system, "denominator", 1))),
        "method": plan.method,
        "heads_bound": plan.heads,
        "dim": plan.dim,
        "plan": {
            "seed": plan.seed,
            "tokens": {**plan.tokens.to_json(), "first": plan.tokens.first or plan.tokens.last},
            "draws": [draw.versions_json() for draw in plans],
        },
        **{name: _rows(rows) for name, rows in bases.items()},
        **{f"{name}_inverse": _rows(to_matrix(rows).inv().tolist()) for name, rows in bases.items()},
        "heads": [{"W": _rows(head.W), "v": _texts(head.v)} for head in result.heads],
        "answers": _texts(result.answers),
        "queries": result.queries,
        "formula": plan.count,
        "longest": result.longest,
        "redraws": result.redraws,
        "model": None
        if model is None
        else {"heads": [{"W": _rows(h.W), "v": _texts(h.v)} for h in model.heads]},
        "made_by": {
            "exactattn": version("exactattn"),
            "python-flint": version("python-flint"),
            "flint": flint.__FLINT_VERSION__,
        },
    }


def _texts(numbers: Any) -> list[str]:
    return [rational_text(x) for x in numbers]


def _rows(rows: Any) -> list[list[str]]:
    return [_texts(row) for row in rows]
