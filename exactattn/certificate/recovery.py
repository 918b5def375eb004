"""Certificates of recovery on the log-lattice.

A certificate holds the plan (seed, versions of vectors), the answers, the recovered heads, the inverses of
both bases as witnesses, and sentences that say exactly what is proved, from which hypotheses, and what is not
established. The words of the sentences belong to the checker, which rebuilds them from the content; the proof
is in the documentation of :mod:`exactattn.checker.check` (theory, sections 2 to 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import flint

from exactattn.certificate.content import accepted, made_by, published_schema, rows_of_texts, sealed, texts
from exactattn.checker.check import recovery_texts
from exactattn.exceptions import CertificateError
from exactattn.model import Attention
from exactattn.numbers import LogLattice, Matrix, Vector, rational_text, to_matrix
from exactattn.recovery.counts import published_count
from exactattn.recovery.plan import PublishedPlan

__all__ = ["RecoveryRun", "recovery_certificate", "recovery_schema", "run_content", "sealed_recovery"]


class _Head(Protocol):
    @property
    def W(self) -> Matrix: ...
    @property
    def v(self) -> Vector: ...


class RecoveryRun(Protocol):
    """What a certificate needs of a run; :class:`exactattn.recovery.Recovery` has it.

    ``plan`` is the draw that was solved, the last of ``draws``; ``answers`` are in the order of
    ``plan.queries()``; ``heads`` are the canonical heads, sorted; ``queries`` counts the distinct queries
    asked.
    """

    @property
    def plan(self) -> PublishedPlan: ...
    @property
    def draws(self) -> tuple[PublishedPlan, ...]: ...
    @property
    def answers(self) -> Sequence[Any]: ...
    @property
    def heads(self) -> Sequence[_Head]: ...
    @property
    def system(self) -> Any: ...
    @property
    def queries(self) -> int: ...
    @property
    def longest(self) -> int: ...


def recovery_certificate(result: RecoveryRun, model: Attention | None = None) -> dict[str, Any]:
    """The certificate of a lattice run; with ``model``, the public model is part of the statement.

    The checker has accepted the certificate before it is returned. Raises CertificateError for a run over
    balls, if the heads are not the model's canonical form, or if the statement cannot be proved.

    >>> from exactattn.model import random_layer
    >>> from exactattn.oracle import ExactOracle
    >>> from exactattn.recovery import recover
    >>> layer = random_layer(heads=2, dim=2, seed=1)
    >>> certificate = recovery_certificate(recover(ExactOracle(layer), heads=2), layer)
    >>> certificate["queries"], certificate["formula"], certificate["hypotheses"][-1]["status"]
    (29, 29, 'verified for the model')
    """
    if not isinstance(result.system, LogLattice):
        raise CertificateError(
            "a certificate needs exact answers; this run was over balls, so run it again on the lattice"
        )
    if any(not isinstance(draw, PublishedPlan) or draw.bias for draw in result.draws):
        raise CertificateError(
            "version 1 is for the published method without biases; lattice_certificate chooses the version"
        )
    certificate = sealed_recovery(run_content(result, model))
    if model is not None and certificate["heads"] != _heads(model.canonical().heads):
        raise CertificateError("the recovered heads are not the canonical form of the model")
    return accepted(certificate)


def sealed_recovery(content: dict[str, Any]) -> dict[str, Any]:
    """The content with the sentences that belong to it, and the digest."""
    return sealed(content, recovery_texts(content))


def recovery_schema() -> dict[str, Any]:
    """The published JSON Schema (2020-12) of recovery certificates, version 1.

    >>> recovery_schema()["title"]
    'exactattn recovery certificate, version 1'
    """
    return published_schema("recovery.v1")


def run_content(result: RecoveryRun, model: Attention | None) -> dict[str, Any]:
    """Everything of the certificate but its sentences and digest; nothing is checked yet."""
    plan = result.plan
    return {
        "format": "exactattn-certificate",
        "version": 1,
        "kind": "recovery",
        "field": "Q",
        "base": "2",
        "denominator": rational_text(flint.fmpq(result.system.denominator)),
        "method": "published",
        "heads_bound": plan.heads,
        "dim": plan.dim,
        "plan": {
            "seed": plan.seed,
            "tokens": plan.tokens.to_json(),
            "draws": [draw.versions_json() for draw in result.draws],
        },
        "b": rows_of_texts(plan.b),
        "u": rows_of_texts(plan.u),
        "b_inverse": _inverse(plan.b),
        "u_inverse": _inverse(plan.u),
        "heads": _heads(result.heads),
        "answers": texts(result.answers),
        "queries": result.queries,
        "formula": published_count(plan.heads, plan.dim),
        "longest": result.longest,
        "redraws": len(result.draws) - 1,
        "model": None if model is None else {"heads": _heads(model.heads)},
        "made_by": made_by(),
    }


def _inverse(rows: Sequence[Vector]) -> list[list[str]]:
    return rows_of_texts(to_matrix(rows).inv().tolist())


def _heads(heads: Sequence[_Head]) -> list[dict[str, Any]]:
    return [{"W": rows_of_texts(head.W), "v": texts(head.v)} for head in heads]
