"""The corpus of recovery certificates, version 2: what must be accepted, and what refused with which reason.

python tests/checker/recovery_v2_cases.py    writes the files
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

from flint import fmpq

from exactattn.certificate import canonical_json, digest, general_certificate
from exactattn.certificate.general import general_content, sealed_general
from exactattn.model import Attention, Evaluator, Head, evaluate
from exactattn.model.affine import AffineAttention, AffineHead
from exactattn.model.vector import VectorAttention, VectorHead
from exactattn.numbers import LogLattice, rational_text
from exactattn.oracle import ExactOracle
from exactattn.oracle.affine import AffineOracle
from exactattn.recovery import TokenRange, recover
from exactattn.recovery.methods.optimal_plan import OptimalPlan
from exactattn.recovery.outputs import recover_outputs

CORPUS = Path(__file__).parent / "recovery_v2_corpus"


def product(left: list[list[int]], right: list[list[int]]) -> list[list[int]]:
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*right, strict=True)]
            for row in left]  # fmt: skip


def heads(ranks: list[int], dim: int, seed: int, rows: int | None = None) -> list[tuple[Any, Any]]:
    """Small integers W and v, W of these ranks (unless numbers coincide)."""
    rng = Random(seed)

    def matrix(n: int, m: int) -> list[list[int]]:
        return [[rng.randint(-2, 2) for _ in range(m)] for _ in range(n)]

    return [(product(matrix(rows or dim, r), matrix(r, dim)), [rng.randint(1, 5) for _ in range(dim)])
            for r in ranks]  # fmt: skip


def plain(ranks: list[int], dim: int, seed: int) -> Attention:
    return Attention.of([Head.of(W, v) for W, v in heads(ranks, dim, seed)])


def biased(ranks: list[int], dim: int, seed: int) -> AffineAttention:
    given = heads(ranks, dim, seed, dim + 1)
    return AffineAttention.of([AffineHead.of(W, v) for W, v in given], fmpq(3, 2))


VECTOR = VectorAttention.of(
    [
        VectorHead.of([[1, 2], [3, 4]], [[1, 0], [2, 5], [0, 0]]),
        VectorHead.of([[0, 2], [-3, 1]], [[1, 7], [0, 5], [0, 3]]),
    ]
)
# heads that agree on the last token b_2 of seed 0, so in every probe there
_B2 = OptimalPlan.draw(2, 2, 0, TokenRange.for_stages(2)).b[1]
SHARING = Attention.of(
    [
        Head.of([[1, 0], [2, 1]], [1, 3]),
        Head.of([[1 + _B2[1], 2 * _B2[1]], [2 - _B2[0], 1 - 2 * _B2[0]]], [2, -5]),
    ]
)
# heads with equal b_1^T W b_1, at the b_1 of seed 0: the base probe would show one
_B1 = OptimalPlan.draw(2, 2, 0, TokenRange.for_stages(2)).b[0]
HIDING = Attention.of([Head.of([[1, 0], [2, 1]], [1, 3]), Head.of([[1, _B1[0]], [2 - _B1[0], 1]], [2, -5])])


# heads that swap x and y where the opposite token -a_2 of seed 10 follows: they share a pole there
MERGING = Attention.of(
    [Head.of([[-22, -24], [13, 14]], [1, 3]), Head.of([[422, -252], [-253, 151]], [2, -5])]
)


def certified(
    layer: Attention | AffineAttention, bound: int | None, *, public: bool = True, **options: Any
) -> Any:
    """The certificate of a run."""
    bias = isinstance(layer, AffineAttention)
    oracle = AffineOracle(layer) if isinstance(layer, AffineAttention) else ExactOracle(layer)
    return general_certificate(recover(oracle, bound, bias=bias, **options), layer if public else None)


def certified_biased_outputs() -> Any:
    """Two outputs with biases and different constants."""
    of_output = [
        AffineAttention.of(
            [AffineHead.of(W, [x + k for x in v]) for W, v in heads([2, 2], 2, 1, 3)], fmpq(3 - k, 2)
        )
        for k in range(2)
    ]
    oracles = [AffineOracle(layer) for layer in of_output]

    def answers(query: Any, system: Any) -> list[Any]:
        return [next(iter(oracle.answer([query], system))) for oracle in oracles]

    return general_certificate(recover_outputs(answers, 2, 2, heads=2, method="optimal", bias=True))


def certified_outputs(bound: int | None, method: Any, *, public: bool = True) -> Any:
    units = [tuple(fmpq(i == k) for i in range(3)) for k in range(3)]

    def answers(query: Any, system: Any) -> list[Any]:
        return [evaluate(VECTOR.output(e), query, system) for e in units]

    found = recover_outputs(answers, 2, 3, heads=bound, method=method)
    return general_certificate(found, VECTOR if public else None)


ACCEPTED: dict[str, Callable[[], Any]] = {
    "optimal": lambda: certified(plain([2, 2], 2, 1), 2, method="optimal"),
    "optimal-not-public": lambda: certified(plain([2, 2], 2, 1), 2, public=False, method="optimal"),
    "optimal-odd": lambda: certified(plain([3, 3], 3, 1), 2, method="optimal"),
    "optimal-rank-one": lambda: certified(plain([1, 1], 2, 3), 2, method="optimal", rank=1),
    "optimal-rank-found": lambda: certified(plain([1, 2], 3, 1), 2, method="optimal", rank="auto"),
    "optimal-heads-found": lambda: certified(plain([2], 2, 1), None, public=False, method="optimal"),
    "optimal-bound-above": lambda: certified(plain([2], 2, 1), 2, public=False, method="optimal"),
    "optimal-bias": lambda: certified(biased([2, 2], 2, 1), 2, method="optimal"),
    "optimal-bias-rank": lambda: certified(biased([1, 1], 2, 1), 2, method="optimal", rank=1),
    "optimal-outputs": lambda: certified_outputs(2, "optimal"),
    "optimal-first-row-linked": lambda: certified(HIDING, 2, method="optimal"),
    "optimal-shared-pole": lambda: certified(SHARING, 2, public=False, method="optimal"),
    "consistent": lambda: certified(plain([2, 2], 2, 1), 2, method="consistent"),
    "consistent-rank-one": lambda: certified(plain([1, 1], 3, 1), 2, method="consistent", rank=1),
    "consistent-bias": lambda: certified(biased([2], 2, 1), 1, public=False, method="consistent"),
    "consistent-outputs-heads-found": lambda: certified_outputs(None, "consistent", public=False),
    "optimal-bias-outputs": certified_biased_outputs,
    "consistent-opposite-merged": lambda: certified(
        MERGING, 2, method="consistent", seed=10, tokens=TokenRange(3, 32, first=4)
    ),
    "published-heads-found": lambda: certified(plain([2], 2, 1), None),
    "published-bias": lambda: certified(biased([2], 2, 1), 1),
    "published-bias-not-public": lambda: certified(biased([1], 1, 1), 1, public=False),
    "published-zero-function": lambda: certified(Attention.of([], 2), 1, public=False),
}  # fmt: skip

Change = Callable[[dict[str, Any]], object]


def assign(*path: str | int, to: Any) -> Change:
    """Puts a value at a path; a function is applied to the old value."""

    def change(certificate: dict[str, Any]) -> None:
        place: Any = certificate
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to(place[path[-1]]) if callable(to) else to

    return change


def more(text: str) -> str:
    p, _, q = text.partition("/")
    return rational_text(fmpq(int(p, 0), int(q or "1", 0)) + 1)


# name: (accepted certificate, change, the reason the checker gives); sentences and digest are written anew
REFUSED: dict[str, tuple[str, Change, str]] = {
    "method-other": ("optimal", assign("method", to="consistent"), "formula: is 12, must be 20"),
    "method-unknown": ("optimal", assign("method", to="best"), "method: must be"),
    "rank-too-high": ("optimal-rank-one", assign("rank", to=2), "formula: is"),
    "rank-zero": ("optimal-rank-one", assign("rank", to=0), "rank: is 0"),
    "bias-number": ("optimal-bias", assign("bias", to=1), "bias: must be true or false"),
    "bias-dropped": ("optimal-bias", assign("bias", to=False), "formula: is"),
    "constant-other": ("optimal-bias", assign("constants", 0, to=more), "the first query: is not the value"),
    "constant-null": ("optimal-bias", assign("constants", to=None), "constants: must be a list"),
    "constant-without-bias": ("optimal", assign("constants", to=["0"]), "constants: must be null"),
    "answer-other": ("optimal", assign("answers", 0, 3, to=more), "is not the value"),
    "answer-missing": ("optimal", assign("answers", 0, to=lambda x: x[:-1]), "a list of 12 items"),
    "output-missing": ("optimal-outputs", assign("answers", to=lambda x: x[:-1]), "a list of 3 items"),
    "output-other": ("optimal-outputs", assign("heads", 0, "V", 2, 1, to=more), "is not the value"),
    "weights-other": ("optimal-outputs", assign("weights", 1, to=more), "not those drawn from the seed"),
    "weights-null": ("optimal-outputs", assign("weights", to=None), "heads[0].V: must be"),
    "heads-reversed": ("optimal", assign("heads", to=lambda x: x[::-1]), "in ascending order"),
    "head-missing": ("optimal", assign("heads", to=lambda x: x[1:]), "is not the value"),
    "probe-missing": ("optimal", assign("probes", to=lambda x: x[:-1]), "no probe shows the number of row 2"),
    "probe-base-missing": ("consistent", assign("probes", to=lambda x: x[1:]), "integral: must be true"),
    "probe-order": ("consistent", assign("probes", to=lambda x: [x[2], x[0], x[1], *x[3:]]), "it builds on"),
    "probe-kind-of-other": ("optimal", assign("probes", 1, "kind", to="row"), "a kind of the optimal"),
    "probe-column-other": ("optimal", assign("probes", 2, "columns", to=[2, 1]), "is not the value"),
    "probe-sum-of-two-unknown": (
        "optimal-odd", assign("probes", to=lambda x: [*x[:3], x[-1], *x[3:-1]]), "sum of two unknown numbers"
    ),
    "probe-twice": ("optimal", assign("probes", to=lambda x: [*x, x[-1]]), "lists a probe twice"),
    "half-probe-missing": ("optimal-rank-one", assign("probes", to=lambda x: x[:-1]), "no probe shows"),
    "block-other": ("optimal-rank-one", assign("blocks", 0, 0, 0, to=more), "is not the inverse"),
    "block-too-small": ("optimal-rank-one", assign("blocks", 0, to=[]), "has not the rank of W"),
    "block-null": ("optimal-rank-one", assign("blocks", to=None), "blocks: must be a list"),
    "inverse-other": ("optimal", assign("a_inverse", 0, 0, to=more), "is not the inverse"),
    "inverse-of-nothing": ("published-bias", assign("a_inverse", to=[["1"]]), "must be null for the"),
    "version-other": ("optimal", assign("plan", "versions", "u", 0, to=9), "is not the inverse"),
    "seed-other": ("optimal", assign("plan", "seed", to=7), "is not the inverse"),
    "other-dropped": ("optimal-heads-found", assign("others", to=lambda x: x[:-1]), "queries: is"),
    "other-answer": ("optimal-heads-found", assign("others", 0, "answers", 0, to=more), "this query: is not"),
    "other-twice": ("optimal-heads-found", assign("others", to=lambda x: [x[0], *x]), "ascending order"),
    "other-of-plan": (
        "optimal-heads-found",
        lambda c: c["others"].append({"runs": [], "last": ["0", "0"], "answers": ["0"]}),
        "ascending order",
    ),
    "counted-more": ("optimal-heads-found", assign("counted", to=lambda x: x + 1), "counted: is"),
    "shared-hidden": ("optimal-shared-pole", assign("shared", to=0), "shared: is 0, must be 1"),
    "planned-other": ("optimal", assign("planned", to=13), "planned: is 13"),
    "model-other": ("optimal", assign("model", "heads", 0, "V", 0, 0, to=more), "is not the listed layer"),
    "model-constant": ("optimal-bias", assign("model", "constants", 0, to="0"), "is not the listed layer"),
    "denominator-zero": ("optimal", assign("denominator", to="0"), "must be a positive integer"),
    "denominator-other": ("optimal", assign("denominator", to="2"), "is not the value"),
    "integral-hidden": ("optimal", assign("integral", to=False), "integral: must be true"),
    "integral-published": ("published-bias", assign("integral", to=True), "integral: must be false"),
    "published-probes": ("published-bias", assign("probes", to=[]), "probes: must be null"),
    "key-unknown": ("optimal", assign("more", to=1), "unknown key 'more'"),
}  # fmt: skip


def refused(name: str, accepted: dict[str, Any]) -> dict[str, Any]:
    """A certificate that must be refused."""
    changed = copy.deepcopy(accepted)
    REFUSED[name][1](changed)
    try:
        return sealed_general(changed)
    except (KeyError, TypeError):  # there are no sentences for such a content
        return {**changed, "digest": digest(changed)}


def exchangeable_heads() -> dict[str, Any]:
    """Heads with one v: labels of later rows are ambiguous, so no certificate may list them."""
    layer = Attention.of([Head.of([[1, 2], [3, 1]], [1, 2]), Head.of([[0, 4], [-1, 2]], [1, 2])]).canonical()
    plan = OptimalPlan.draw(2, 2, 0, TokenRange.for_stages(2))
    evaluator = Evaluator(layer, LogLattice())
    run: Any = SimpleNamespace(
        plan=plan, system=LogLattice(), heads=layer.heads, others=(), constant=None,
        answers=[evaluator(query) for query in plan.queries()],
    )  # fmt: skip
    return sealed_general(general_content(run, None))


def write() -> None:
    """Writes all files anew."""
    for folder in ("accepted", "refused"):
        (CORPUS / folder).mkdir(parents=True, exist_ok=True)
    accepted = {}
    for name, make in ACCEPTED.items():
        accepted[name] = make()
        (CORPUS / "accepted" / f"{name}.json").write_text(canonical_json(accepted[name]) + "\n")
    reasons = {}
    for name, (source, _, reason) in REFUSED.items():
        reasons[name] = reason
        content = refused(name, accepted[source])
        (CORPUS / "refused" / f"{name}.json").write_text(canonical_json(content) + "\n")
    reasons["heads-exchangeable"] = "the labels of two heads are ambiguous"
    content = exchangeable_heads()
    (CORPUS / "refused" / "heads-exchangeable.json").write_text(canonical_json(content) + "\n")
    (CORPUS / "reasons.json").write_text(json.dumps(reasons, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    write()
