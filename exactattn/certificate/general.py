"""Certificates of every kind of exact recovery: any method, rank, biases, several outputs, sizes found out.

Runs of the published method without biases, at a given number of heads, are recovery version 1; everything
else is recovery version 2, whose words and proof belong to :mod:`exactattn.checker.recovery_v2`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from flint import fmpq

from exactattn.certificate.content import accepted, made_by, published_schema, rows_of_texts, sealed, texts
from exactattn.certificate.recovery import RecoveryRun, recovery_certificate
from exactattn.checker.recovery_v2_texts import recovery_v2_texts
from exactattn.exceptions import CertificateError
from exactattn.model import Attention, Query
from exactattn.model.affine import AffineAttention
from exactattn.model.vector import VectorAttention
from exactattn.numbers import LogLattice, dot, rational_text, to_matrix
from exactattn.recovery import Recovery
from exactattn.recovery.counts import consistency_count, identified_count, published_count
from exactattn.recovery.method import Plan
from exactattn.recovery.methods.completion import leading_rank
from exactattn.recovery.methods.rows import Task
from exactattn.recovery.methods.staged_plan import StagedPlan
from exactattn.recovery.outputs import RecoveredOutputs
from exactattn.recovery.plan import PublishedPlan
from exactattn.recovery.probe import Probe, minus

__all__ = [
    "general_certificate",
    "general_content",
    "lattice_certificate",
    "recovery_v2_schema",
    "sealed_general",
]

Model = Attention | AffineAttention | VectorAttention


def lattice_certificate(result: Recovery | RecoveredOutputs, model: Model | None = None) -> dict[str, Any]:
    """The certificate of a lattice run, in the version that fits it. Raises CertificateError as
    :func:`general_certificate`.

    >>> from exactattn.model import random_layer
    >>> from exactattn.oracle import ExactOracle
    >>> from exactattn.recovery import recover
    >>> oracle = ExactOracle(random_layer(heads=2, dim=2, seed=1))
    >>> [lattice_certificate(recover(oracle, 2, method=m))["version"] for m in ("published", "optimal")]
    [1, 2]
    """
    if isinstance(result, Recovery) and isinstance(result.plan, PublishedPlan) and not result.plan.bias:
        planned = {query for draw in result.draws for query in draw.queries()}
        if all(query in planned for query, _ in result.others):
            return recovery_certificate(cast(RecoveryRun, result), cast(Attention | None, model))
    return general_certificate(result, model)


def general_certificate(result: Recovery | RecoveredOutputs, model: Model | None = None) -> dict[str, Any]:
    """The certificate of a lattice run of any method and kind of layer; with ``model``, the public model is
    part of the statement.

    The checker has accepted the certificate before it is returned. Raises CertificateError for a run over
    balls, for the zero function (unless by the published method with a bound), if the heads are not the
    model's canonical form, or if the statement cannot be proved.

    >>> from exactattn.model import random_layer
    >>> from exactattn.oracle import ExactOracle
    >>> from exactattn.recovery import recover
    >>> layer = random_layer(heads=2, dim=2, seed=1)
    >>> run = recover(ExactOracle(layer), None, method="consistent")
    >>> certificate = general_certificate(run, layer)
    >>> certificate["planned"], certificate["counted"], len(certificate["heads"])
    (20, 6, 2)
    """
    run = result.run if isinstance(result, RecoveredOutputs) else result
    if not isinstance(run.system, LogLattice):
        raise CertificateError("a certificate needs exact answers; recover again on the lattice")
    if not isinstance(run.plan, PublishedPlan) and not (isinstance(run.plan, StagedPlan) and run.heads):
        raise CertificateError(
            "no heads were seen, and plans in two stages end there; recover again with the published method "
            "and a bound on the number of heads"
        )
    if run.plan.tokens.denominator != 1:
        raise CertificateError("a certificate needs integral tokens; recover again with others")
    content = general_content(result, model)
    if model is not None and content["heads"] != _model_content(model.canonical())["heads"]:
        raise CertificateError("the recovered heads are not the canonical form of the model")
    try:
        return accepted(sealed_general(content))
    except CertificateError:
        if run.plan.method != "consistent" or content["integral"]:
            raise
    return accepted(sealed_general({**content, "integral": True}))  # a weaker statement


def sealed_general(content: dict[str, Any]) -> dict[str, Any]:
    """The content with the sentences that belong to it, and the digest."""
    return sealed(content, recovery_v2_texts(content))


def recovery_v2_schema() -> dict[str, Any]:
    """The published JSON Schema (2020-12) of these certificates, recovery version 2.

    >>> recovery_v2_schema()["title"]
    'exactattn recovery certificate, version 2'
    """
    return published_schema("recovery.v2")


def general_content(result: Recovery | RecoveredOutputs, model: Model | None) -> dict[str, Any]:
    """Everything of the certificate but its sentences and digest; nothing is checked yet."""
    run = result.run if isinstance(result, RecoveredOutputs) else result
    outputs = result if isinstance(result, RecoveredOutputs) else None
    plan = run.plan
    staged = plan if isinstance(plan, StagedPlan) else None
    rank = plan.dim if staged is None else staged.full_rank
    queries = plan.queries()
    others = [query for query, _ in run.others]
    whole = _answers(run, outputs, queries)
    return {
        "format": "exactattn-certificate",
        "version": 2,
        "kind": "recovery",
        "field": "Q",
        "base": "2",
        "denominator": rational_text(fmpq(getattr(run.system, "denominator", 1))),
        "method": plan.method,
        "heads_bound": plan.heads,
        "dim": plan.dim,
        "rank": rank,
        "bias": plan.bias,
        "plan": _plan_content(plan),
        "probes": None if staged is None else _probes(staged),
        **_inverses(plan),
        "blocks": None if staged is None or rank == plan.dim else _blocks(run, staged),
        "heads": _heads([h.W for h in run.heads], outputs.V if outputs else [(h.v,) for h in run.heads]),
        "constants": _constants(run, outputs),
        "integral": staged is not None and (plan.method == "optimal" or staged.by_tokens),
        "weights": None if outputs is None else texts(outputs.weights),
        "answers": [texts(row) for row in zip(*(whole[query] for query in queries), strict=True)],
        "others": [{**query.to_json(), "answers": texts(whole[query])} for query in others],
        "planned": len(queries),
        "queries": len(queries) + len(others),
        "formula": _formula(plan, rank),
        "longest": max(query.length for query in (*queries, *others)),
        "counted": _counted(plan, {*queries, *others}),
        "shared": 0 if staged is None else _shared(run, staged),
        "model": None if model is None else _model_content(model),
        "made_by": made_by(),
    }


def _answers(
    run: Recovery, outputs: RecoveredOutputs | None, queries: Sequence[Query]
) -> dict[Query, tuple[Any, ...]]:
    """Every answer, by query, with all outputs."""
    answered = dict(zip(queries, run.answers, strict=True)) | dict(run.others)
    if outputs is None:
        return {query: (answer,) for query, answer in answered.items()}
    return {query: tuple(outputs.answers[query.key]) for query in answered}


def _constants(run: Recovery, outputs: RecoveredOutputs | None) -> list[str] | None:
    if run.constant is None:
        return None
    return texts([run.constant] if outputs is None or outputs.constants is None else outputs.constants)


def _plan_content(plan: Plan) -> dict[str, Any]:
    tokens = plan.tokens
    first = tokens.first if isinstance(plan, StagedPlan) else 0
    return {
        "seed": plan.seed,
        "tokens": {
            "last": tokens.last,
            "difference": tokens.difference,
            "first": first or tokens.last,
        },
        "versions": {"a": [], **plan.versions_json()},
    }


def _probes(plan: StagedPlan) -> list[dict[str, Any]]:
    """Kind and numbers of vectors of every probe."""
    tasks = {probe: task for task, probe in plan.row_probes}
    return [_probe(plan, probe, tasks.get(probe)) for probe in plan.probes]


def _probe(plan: StagedPlan, probe: Probe, task: Task | None) -> dict[str, Any]:
    kind = "pair" if probe.kind == "shared" else probe.kind
    if task is not None:
        return {"kind": kind, "rows": list(task.rows), "columns": list(task.columns)}
    return {"kind": kind, "rows": [1], "columns": [] if kind == "base" else [probe.j]}


def _inverses(plan: Plan) -> dict[str, Any]:
    """The inverses of the bases, by the names of their vectors."""
    last, *middle, differences = plan.bases()
    named = {"b": last, "a": middle[0] if middle else None, "u": differences}
    return {
        f"{name}_inverse": None
        if basis is None
        else rows_of_texts(to_matrix([x for _, x in basis]).inv().tolist())
        for name, basis in named.items()
    }


def _blocks(run: Recovery, plan: StagedPlan) -> list[list[list[str]]]:
    """Of every head the inverse of its leading block of scores, as large as it is invertible."""
    found = []
    for head in run.heads:
        columns = list(zip(*head.W, strict=True))
        rows = [tuple(dot(plan.lifted(b), column) for column in columns) for b in plan.b]
        table = {(i, j): dot(row, u) for i, row in enumerate(rows, 1) for j, u in enumerate(plan.u, 1)}
        k = leading_rank(table, plan.full_rank, run.system)
        block = [tuple(table[i, j] for j in range(1, k + 1)) for i in range(1, k + 1)]
        found.append(rows_of_texts(to_matrix(block).inv().tolist()) if k else [])
    return found


def _formula(plan: Plan, rank: int) -> int:
    """The number of queries of the method for heads of this rank."""
    if plan.method == "published":
        return published_count(plan.heads, plan.dim, bias=plan.bias)
    count = identified_count if plan.method == "optimal" else consistency_count
    return count(plan.heads, plan.dim, rank, bias=plan.bias)


def _counted(plan: Plan, asked: set[Query]) -> int:
    """How many queries with m = 0, 1, 2, … copies of 0 before b_1 (or a_2 and b_1) were asked, without a
    gap."""
    zero = (fmpq(0),) * plan.dim
    if plan.bias and Query.of([], zero) not in asked:
        return 0
    last = next(vector for name, vector in next(iter(plan.bases())) if name == ("b", 1))[-plan.dim :]
    extra = [(plan.first_basis[1], 1)] if isinstance(plan, StagedPlan) and plan.dim > 1 else []
    copies = 0
    while Query.of([(zero, copies), *extra], last) in asked:
        copies += 1
    return copies


def _shared(run: Recovery, plan: StagedPlan) -> int:
    """How many probes of later rows have poles that heads share."""
    found = 0
    for _, probe in plan.row_probes:
        rows = [
            tuple(dot(plan.lifted(probe.last), column) for column in zip(*head.W, strict=True))
            for head in run.heads
        ]
        directions = [probe.difference]
        if probe.extra is not None:
            directions.append(minus(probe.extra, probe.filler))
        poles = {tuple(sorted(dot(row, u) for u in directions)) for row in rows}
        found += len(poles) < len(rows)
    return found


def _model_content(model: Model) -> dict[str, Any]:
    if isinstance(model, VectorAttention):
        return {"heads": _heads([h.W for h in model.heads], [h.V for h in model.heads]), "constants": None}
    constants = [rational_text(model.constant)] if isinstance(model, AffineAttention) else None
    return {
        "heads": _heads([h.W for h in model.heads], [(h.v,) for h in model.heads]),
        "constants": constants,
    }


def _heads(W: Sequence[Any], V: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"W": rows_of_texts(matrix), "V": rows_of_texts(rows)} for matrix, rows in zip(W, V, strict=True)]
