"""The corpus of enclosure certificates: what must be accepted, and what must be refused with which reason.

python tests/checker/enclosure_cases.py    writes the files
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from flint import ctx, fmpq

from exactattn.certificate import ball_certificate, canonical_json, digest, enclosure_certificate
from exactattn.checker.enclosure_text import enclosure_texts
from exactattn.errors import Design, Node, enclose, noise_tokens, recover_with_error
from exactattn.model import Attention, Head, evaluate, random_layer
from exactattn.model.affine import AffineAttention, AffineHead
from exactattn.numbers import Balls, LogLattice
from exactattn.oracle import ExactOracle, FunctionOracle
from exactattn.oracle.affine import AffineOracle
from exactattn.recovery import PublishedPlan, recover

CORPUS = Path(__file__).parent / "enclosure_corpus"
BALLS = Balls(256)


def float_layer(heads: int, dim: int) -> Attention:
    """Standard normal float64 parameters."""
    rng = np.random.default_rng(heads * 100 + dim)
    W, v = rng.standard_normal((heads, dim, dim)), rng.standard_normal((heads, dim))
    return Attention.of([Head.of(W[h].tolist(), v[h].tolist()) for h in range(heads)])


def resealed(content: dict[str, Any]) -> dict[str, Any]:
    """The content with the sentences and the digest that belong to it."""
    result = {**content, **enclosure_texts(content)}
    result["digest"] = digest(result)
    return result


def ball_run(heads: int, dim: int, *, public: bool) -> dict[str, Any]:
    """The certificate of a run over balls."""
    layer = float_layer(heads, dim)
    result = recover(ExactOracle(layer), heads, numbers="balls", digits=10)
    return ball_certificate(result, layer if public else None)


def noisy_run() -> dict[str, Any]:
    """The certificate of answers with errors, direct and with other nodes, without a model."""
    layer = random_layer(2, 2, seed=3, size=1)
    plan = PublishedPlan.draw(2, 2, 1, noise_tokens(BALLS, 2))
    nodes = (Node(1, 0), Node(3), Node(1), Node(1, 2))
    design = Design.published(plan).direct().with_nodes(lambda _: nodes)
    rng, error = Random(1), fmpq(1, 10**15)
    answers = []
    for query in design.queries():
        exact = evaluate(layer, query, BALLS).mid().fmpq()
        scaled = (exact + fmpq(rng.randint(-900, 900), 1000) * error) * 2**80
        answers.append(fmpq(int(scaled.p // scaled.q), 2**80))
    with ctx.workprec(200):
        return enclosure_certificate(enclose(design, answers, error), answers, error)


def biased_layer(heads: int, dim: int) -> AffineAttention:
    """Standard normal float64 parameters, biases included."""
    rng = np.random.default_rng(heads * 100 + dim)
    drawn = [
        AffineHead.of(rng.standard_normal((dim + 1, dim)).tolist(), rng.standard_normal(dim).tolist())
        for _ in range(heads)
    ]
    return AffineAttention.of(drawn, float(rng.standard_normal()))


def biased_run(heads: int, dim: int, *, public: bool) -> dict[str, Any]:
    """The certificate of a run over balls with biases."""
    layer = biased_layer(heads, dim)
    result = recover(AffineOracle(layer), heads, bias=True, numbers="balls", digits=10)
    return ball_certificate(result, layer if public else None)


def lattice_run(*, robust: bool, bias: bool) -> dict[str, Any]:
    """The certificate of a lattice layer from answers with errors, with the layer as its public model."""
    system, rng, error = LogLattice(2), Random(2), fmpq(1, 10**25)
    first, second = [[1, -1], ["3/2", 1], [0, -1]], [[-1, 1], [0, 1], [1, "1/2"]]
    if bias:
        heads = [AffineHead.of(first, [1, 2]), AffineHead.of(second, [2, -1])]
        layer: Any = AffineAttention.of(heads, "7/3")
        exact: Any = AffineOracle(layer)
    else:
        layer = Attention.of([Head.of(first[1:], [1, 2]), Head.of(second[1:], [2, -1])])
        exact = ExactOracle(layer)

    def answer(query: Any) -> fmpq:
        noise = fmpq(rng.randint(-900, 900), 1000) * error
        scaled = (next(iter(exact.answer([query], system))) + noise) * 2**100
        return fmpq(int(scaled.p // scaled.q), 2**100)

    oracle = FunctionOracle(answer, dim=2)
    found = recover_with_error(
        oracle, 2, error, bias=bias, numbers="lattice", denominator=2, robust=robust, max_redraws=40
    )
    assert found.matches(layer)
    return enclosure_certificate(found.enclosure, found.answers, found.stated_error, layer, system)


def accepted() -> dict[str, dict[str, Any]]:
    """Certificates that must be accepted, by name."""
    return {
        "one-head": ball_run(1, 1, public=True),
        "one-head-not-public": ball_run(1, 2, public=False),
        "two-heads": ball_run(2, 2, public=True),
        "noisy-other-nodes": noisy_run(),
        "biases": biased_run(2, 2, public=True),
        "biases-not-public": biased_run(1, 2, public=False),
        "base-2": lattice_run(robust=False, bias=False),
        "base-2-robust-biases": lattice_run(robust=True, bias=True),
    }


def refused(good: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, part of the reason, and certificate, from one good certificate of two heads."""

    def changed(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        content = copy.deepcopy(good)
        change(content)
        return resealed(content)

    def put(*path: Any) -> Callable[[dict[str, Any]], None]:
        *steps, last, value = path

        def change(content: Any) -> None:
            for step in steps:
                content = content[step]
            content[last] = value

        return change

    def swapped(content: dict[str, Any]) -> None:
        for row in content["families"][2].values():
            row.reverse()

    yield "answer-wrong", "is not the value of the poles", changed(put("answers", 7, "1/3"))
    yield "answer-missing", "must be a list of 29", changed(lambda c: c["answers"].pop())
    yield "pole-wrong", "is not the value of the poles", changed(put("families", 0, "poles", 0, "5/2"))
    yield "pole-negative", "poles must be positive", changed(put("families", 0, "poles", 0, "-5/2"))
    yield "residue-zero", "residues not 0", changed(put("families", 0, "residues", 0, "0"))
    tiny = "1/0x" + "1" + "0" * 80
    yield "pole-bound-small", "poles may leave", changed(put("families", 3, "pole_bounds", 0, tiny))
    yield "residue-bound-small", "residues may leave", changed(put("families", 3, "residue_bounds", 1, tiny))
    yield "residue-bound-large", "or vanish", changed(put("families", 3, "residue_bounds", 1, "100"))
    yield "pole-bound-large", "poles may leave", changed(put("families", 3, "pole_bounds", 1, "2"))
    yield "labels-swapped", "labels of two heads are ambiguous", changed(swapped)
    yield "radius-small", "is too small", changed(put("radii", 0, "W", 0, 0, tiny))
    yield "radius-zero", "must be positive", changed(put("radii", 1, "v", 0, "0"))
    yield "centre-wrong", "is too small", changed(put("heads", 0, "W", 1, 1, "7"))
    yield "head-missing", "there must be 2 heads", changed(lambda c: c["heads"].pop())
    yield "inverse-wrong", "is not the inverse", changed(put("b_inverse", 0, 0, "9"))
    yield "node-twice", "different nodes", changed(put("nodes", 1, 0, [2, 1]))
    yield "node-other", "must be 6", changed(put("nodes", 1, 0, [5, 1]))
    yield "node-zero", "must be an integer from 1", changed(put("nodes", 1, 0, [0, 1]))
    yield "bound-higher", "must be a list of 6", changed(put("heads_bound", 3))
    yield "direct-other", "must be 30", changed(put("direct", True))
    yield "direct-text", "must be true or false", changed(put("direct", "no"))
    yield "base-other", "must be '2'", changed(put("base", "3"))
    yield "base-2-for-e", "is too small", changed(lambda c: c.update(base="2", model=None))
    yield "denominator-for-e", "must be 1", changed(put("denominator", 2))
    yield "bias-text", "must be true or false", changed(put("bias", "yes"))
    yield "bias-for-none", "must be a list of 3", changed(put("bias", True))
    yield "constant-for-none", "must be null", changed(put("constant", "1"))
    yield "error-larger-than-used", "at least the error", changed(put("error", "1"))
    yield (
        "error-without-rounding",
        "more than the error",
        changed(lambda c: c.update(error_with_rounding=c["error"])),
    )
    yield "model-wrong", "of the model's value", changed(put("model", "heads", 0, "W", 0, 0, "3"))
    yield (
        "model-other-sum",
        "is not the model's value at one token",
        changed(put("model", "heads", 0, "v", 0, "3")),
    )
    yield "longest-wrong", "must be 5", changed(put("longest", 4))
    yield "key-unknown", "unknown key", changed(put("hint", "x"))
    broken = copy.deepcopy(good)
    broken["statement"][1] = "Everything is known."
    yield "statement-other", "word for word", {**broken, "digest": digest(broken)}
    yield "digest-wrong", "digest", {**good, "digest": "sha256:" + "0" * 64}


def refused_with_biases(good: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The same from a good certificate of two heads with biases."""

    def changed(**values: Any) -> dict[str, Any]:
        content = copy.deepcopy(good)
        content.update(values)
        return resealed(content)

    def swapped(content: dict[str, Any]) -> dict[str, Any]:
        result = copy.deepcopy(content)
        for row in result["families"][4].values():
            row.reverse()
        return resealed(result)

    model, other = good["model"], copy.deepcopy(good["model"])
    other["heads"][0]["W"][0][0] = "3"
    yield "constant-wrong", "constant_radius: is too small", changed(constant="9")
    tiny = "1/0x1" + "0" * 60
    yield "constant-radius-small", "constant_radius: is too small", changed(constant_radius=tiny)
    yield "constant-missing", "constant", changed(constant=None)
    yield "bias-not-said", "must be a list of 2", changed(bias=False)
    yield "model-bias-wrong", "of the model's value", changed(model=other)
    yield "model-constant-wrong", "at one token", changed(model={**model, "constant": "5"})
    yield "model-constant-missing", "missing key", changed(model={"heads": model["heads"]})
    yield "labels-swapped-biases", "labels of two heads are ambiguous", swapped(good)


def main() -> None:
    """Writes all files."""
    (CORPUS / "accepted").mkdir(parents=True, exist_ok=True)
    (CORPUS / "refused").mkdir(exist_ok=True)
    good = accepted()
    reasons = {}
    for name, content in good.items():
        (CORPUS / "accepted" / f"{name}.json").write_text(canonical_json(content) + "\n", encoding="utf-8")
    for name, reason, content in (*refused(good["two-heads"]), *refused_with_biases(good["biases"])):
        reasons[name] = reason
        (CORPUS / "refused" / f"{name}.json").write_text(canonical_json(content) + "\n", encoding="utf-8")
    (CORPUS / "reasons.json").write_text(json.dumps(reasons, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
