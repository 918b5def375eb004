"""The checker's corpus: certificates it must accept and files it must refuse, each with the reason.

``python tests/certificate/corpus_cases.py`` writes tests/checker/corpus anew.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from certificate_samples import SAMPLES, SMALL, TWO, known_run, unchecked_certificate
from flint import fmpq

from exactattn.certificate import canonical_json, digest
from exactattn.certificate.recovery import sealed_recovery
from exactattn.model import Attention, Head
from exactattn.numbers import rational_text

CORPUS = Path(__file__).parent.parent / "checker" / "corpus"
ALONE = "one-head-one-entry"

Change = Callable[[dict[str, Any]], object]


def assign(*path: str | int, to: Any) -> Change:
    """Puts a value at a path; a function is applied to the old value."""

    def change(certificate: dict[str, Any]) -> None:
        place: Any = certificate
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to(place[path[-1]]) if callable(to) else to

    return change


def append(*path: str | int, item: Any) -> Change:
    """Adds an item to the list at a path."""
    return assign(*path, to=lambda old: [*old, item])


def tripled(text: str) -> str:
    p, _, q = text.partition("/")
    return f"{3 * int(p, 0)}/{3 * int(q or '1', 0)}"


def plus_one(text: str) -> str:
    p, _, q = text.partition("/")
    return rational_text(fmpq(int(p, 0), int(q or "1", 0)) + 1)


def changed(name: str, change: Change) -> str:
    """A sample's certificate after a change, with the sentences and the digest that belong to it."""
    certificate = copy.deepcopy(SAMPLES[name].certificate())
    change(certificate)
    return canonical_json(sealed_recovery(certificate))


def altered(name: str, change: Change) -> str:
    """A sample's certificate after a change, with the digest that belongs to it but the old sentences."""
    certificate = copy.deepcopy(SAMPLES[name].certificate())
    change(certificate)
    return canonical_json({**certificate, "digest": digest(certificate)})


def rewritten(name: str, old: str, new: str) -> str:
    """The text of a sample's certificate with one part of it replaced."""
    text = canonical_json(SAMPLES[name].certificate())
    assert text.count(old) == 1
    return text.replace(old, new)


def untrue(layer: Attention, bound: int, seed: int) -> str:
    """What a run with non-generic queries would state."""
    return canonical_json(unchecked_certificate(known_run(layer, bound, seed, SMALL), layer))


# Three heads with one v: their residues never tell them apart.
SAME_V = Attention.of(
    [Head.of([[1, 0], [0, 0]], [1, 2]), Head.of([[0, 1], [1, 0]], [1, 2]), Head.of([[0, 0], [1, 1]], [1, 2])]
)
NINES: dict[str, Any] = {"W": [["9", "9"], ["9", "9"]], "v": ["1", "0"]}

NON_GENERIC = (
    ("exponents-equal", TWO, 2, 2, "heads: base probe (2, 1): two heads have the same exponent"),
    ("residue-zero", TWO, 2, 28, "heads: column probe (1, 2): a residue v.u is zero"),
    (
        "labels-ambiguous-column",
        SAME_V,
        3,
        3,
        "heads: column probe (1, 2): the labels of two heads are ambig",
    ),
    (
        "labels-ambiguous-row",
        SAME_V,
        3,
        257,
        "heads: row probe (2, 1): the labels of two heads are ambiguous",
    ),
)

CONTENT: tuple[tuple[str, str, Change, str], ...] = (
    ("answer-wrong", "two-heads", assign("answers", 17, to=plus_one),
     "answers[17]: column probe (1, 2), m = 1: is not the value of the listed heads"),
    ("answers-swapped", "two-heads", lambda c: c["answers"].insert(3, c["answers"].pop(4)),
     "answers[3]: base probe (1, 1), m = 3: is not the value of the listed heads"),
    ("answer-missing", "two-heads", lambda c: c["answers"].pop(), "answers: must be a list of 29 items"),
    ("answer-not-lowest", "two-heads", assign("answers", 9, to=tripled), "answers[9]: "),
    ("constant-wrong", "two-heads", assign("answers", 0, to=plus_one),
     "answers[0]: is not the value of the listed heads at b_1 alone"),
    ("matrix-wrong", "two-heads", assign("heads", 1, "W", 0, 1, to=plus_one), "answers[9]: base probe (2"),
    ("vector-wrong", "two-heads", assign("heads", 1, "v", 1, to=plus_one), "answers[0]: is not the value"),
    ("heads-out-of-order", "two-heads", lambda c: c["heads"].reverse(), "heads: must have different W, in a"),
    ("head-twice", "bound-above-heads", lambda c: c["heads"].append(c["heads"][1]), "heads: must have diffe"),
    ("head-missing", "two-heads-not-public", lambda c: c["heads"].pop(), "answers[0]: is not the value"),
    ("head-too-many", ALONE, append("heads", item={"W": [["5"]], "v": ["1"]}), "heads: must be a list of 0"),
    ("head-zero", "bound-above-heads-not-public", append("heads", item={**NINES, "v": ["0", "0"]}),
     "heads: base probe (1, 1): a residue v.u is zero"),
    ("exponent-not-integral", "fractions", assign("denominator", to="1"),
     "heads[0].W: an exponent D*b^T W u is not an integer"),
    ("exponent-too-large", "two-heads-not-public", assign("heads", 1, "W", 0, 0, to=str(2**40)),
     "heads: base probe (2, 1): the exponents of 2 are too large"),
    ("inverse-wrong", "two-heads", assign("u_inverse", 0, 0, to=plus_one), "u_inverse: is not the inverse"),
    ("token-not-drawn", "two-heads", assign("b", 1, 0, to=plus_one), "b[1]: is not the vector drawn from"),
    ("seed-wrong", "two-heads", assign("plan", "seed", to=99), "b[0]: is not the vector drawn from the seed"),
    ("version-wrong", "redrawn", assign("plan", "draws", 1, "u", 0, to=1), "u[0]: is not the vector drawn"),
    ("draws-reversed", "redrawn", lambda c: c["plan"]["draws"].reverse(), "plan.draws[1]: must replace vect"),
    ("draw-repeated", "redrawn", lambda c: c["plan"]["draws"].insert(0, c["plan"]["draws"][0]),
     "plan.draws[1]: must replace vectors of the draw before by later versions"),
    ("draw-hidden", "redrawn", lambda c: c["plan"]["draws"].pop(0), "queries: is"),
    ("queries-wrong", "redrawn", assign("queries", to=29), "queries: is 29, must be"),
    ("formula-wrong", "two-heads", assign("formula", to=30), "formula: is 30, must be 29"),
    ("longest-wrong", "two-heads", assign("longest", to=4), "longest: is 4, must be 5"),
    ("redraws-wrong", "redrawn", assign("redraws", to=0), "redraws: is 0, must be 1"),
    ("bound-lower", "bound-above-heads", assign("heads_bound", to=2), "queries: is 43, must be 29"),
    ("model-other", "two-heads", assign("model", "heads", 0, "v", 0, to=plus_one),
     "model.heads: the canonical form is not the list of heads"),
    ("model-has-more", "bound-above-heads", append("model", "heads", item=NINES),
     "model.heads: the canonical form is not the list of heads"),
    ("model-denominator", "zero-function",
     lambda c: [assign("W", 0, 0, to="1/2")(head) for head in c["model"]["heads"]],
     "model.heads: the denominator is not a common denominator"),
    ("field-other", ALONE, assign("field", to="R"), "field: is 'R', must be 'Q'"),
    ("base-other", ALONE, assign("base", to="3"), "base: is '3', must be '2'"),
    ("method-other", ALONE, assign("method", to="other"), "method: is 'other', must be 'published'"),
    ("made-by-long", ALONE, assign("made_by", "flint", to="3" * 101), "made_by: must hold texts of at most"),
    ("made-by-number", ALONE, assign("made_by", "flint", to=3), "made_by: must hold texts of at most"),
    ("number-integer", ALONE, assign("heads", 0, "W", 0, 0, to=-2), "heads[0].W[0][0]: -2 is not a canonica"),
    ("number-not-lowest", ALONE, assign("heads", 0, "v", 0, to="6/4"), "heads[0].v[0]: '6/4' is not in lowe"),
    ("number-long-decimal", "zero-matrix-not-public", assign("heads", 0, "v", 1, to="0x1" + "f" * 15),
     "heads[0].v[1]: '0x1fffffffffffffff' is not canonical: hexadecimal from 2^64 on, decimal below"),
    ("number-capital", "zero-matrix-not-public", assign("heads", 0, "v", 1, to=str.upper),
     "heads[0].v[1]: '0X1FFFFFFFFFFFFFFFF' is not a canonical number"),
)  # fmt: skip

NUMBERS = (
    ("plus", "+1"), ("space", " 1"), ("newline", "1\n"), ("arabic-digit", "\u0661"),
    ("empty", ""), ("leading-zero", "01"),
    ("minus-zero", "-0"), ("decimal", "1.0"), ("underscore", "1_0"), ("exponent", "1e0"), ("over-one", "1/1"),
    ("over-zero", "1/0"), ("over-negative", "1/-2"), ("over-nothing", "1/"), ("short-hexadecimal", "0x1"),
    ("long-decimal", str(2**64)), ("hexadecimal-zeros", "0x0" + "f" * 20), ("binary", "0b1"), ("name", "one"),
)  # fmt: skip

KEYS_AND_SENTENCES: tuple[tuple[str, str, Change, str], ...] = (
    ("statement-changed", "two-heads", assign("statement", 0, to=lambda s: s.replace("at most", "at least")),
     "statement[0]: must be what was verified"),
    ("statement-longer", "two-heads", append("statement", item="And fast."), "statement: must be a list of"),
    ("assumption-hidden", "two-heads-not-public", assign("hypotheses", 4, "status", to="verified"),
     "hypotheses[4]: must be what was verified"),
    ("assumption-dropped", "bound-above-heads-not-public", lambda c: c["hypotheses"].pop(),
     "hypotheses: must be a list of 6 items"),
    ("limit-dropped", "two-heads", lambda c: c["does_not_establish"].pop(1), "does_not_establish: must be a"),
    ("denominator-of-nothing", "zero-function-not-public", assign("denominator", to="2"), "statement[2]: mu"),
    ("format-other", ALONE, assign("format", to="certificate"), "format: is 'certificate', must be 'exactat"),
    (
        "kind-unknown",
        ALONE,
        assign("kind", to="guess"),
        "kind: 'guess' version 1 is not known to this checker",
    ),
    ("kind-list", ALONE, assign("kind", to=["recovery"]), "kind: ['recovery'] version 1 is not known"),
    ("version-unknown", ALONE, assign("version", to=3), "kind: 'recovery' version 3 is not known"),
    ("key-unknown", ALONE, assign("note", to=""), "unknown key 'note'"),
    ("key-unknown-inside", ALONE, assign("heads", 0, "u", to=[]), "heads[0]: unknown key 'u'"),
    ("key-missing", ALONE, lambda c: c.pop("longest"), "missing key 'longest'"),
    ("integer-true", ALONE, assign("dim", to=True), "dim: is True, must be an integer"),
    ("integer-text", ALONE, assign("plan", "seed", to="0"), "plan.seed: is '0', must be an integer"),
    ("denominator-zero", ALONE, assign("denominator", to="0"), "denominator: must be a positive integer"),
    ("denominator-negative", ALONE, assign("denominator", to="-1"), "denominator: must be a positive intege"),
    ("denominator-fraction", ALONE, assign("denominator", to="3/2"), "denominator: must be a positive integ"),
)  # fmt: skip

TEXTS = (
    ("digest-wrong", '"dim":1', '"dim":2', "digest: is 'sha256:"),
    ("key-twice", '"dim":1', '"dim":1,"dim":1', "the key 'dim' appears twice in one object"),
    ("integer-float", '"dim":1', '"dim":1.0', "dim: is 1.0: numbers are integers"),
    ("integer-nan", '"dim":1', '"dim":NaN', "dim: is nan: numbers are integers"),
    ("integer-infinite", '"dim":1', '"dim":-Infinity', "dim: is -inf: numbers are integers"),
    ("integer-long", '"dim":1', f'"dim":{"1" * 5000}', "is beyond 2^63"),
    ("integer-beyond-limit", '"dim":1', f'"dim":{2**63}', f"dim: is {2**63}, must be an integer"),
    ("integer-minus-zero", '"redraws":0', '"redraws":-0', "'-0' is beyond 2^63, or not in canonical form"),
)


def refused() -> dict[str, tuple[str, str]]:
    """Every file the checker must refuse: name, text, and a part of the reason."""
    cases = {name: (changed(base, change), reason) for name, base, change, reason in CONTENT}
    cases |= {name: (altered(base, change), reason) for name, base, change, reason in KEYS_AND_SENTENCES}
    cases |= {name: (rewritten(ALONE, old, new), reason) for name, old, new, reason in TEXTS}
    cases |= {name: (untrue(layer, bound, seed), reason) for name, layer, bound, seed, reason in NON_GENERIC}
    for name, number in NUMBERS:
        cases[f"number-{name}"] = changed(ALONE, assign("denominator", to=number)), "denominator: "
    cases["not-an-object"] = "[]", "is not a JSON object"
    return cases


def corpus() -> dict[str, str]:
    """Every file of the corpus, by its path below tests/checker/corpus."""
    files = {f"accepted/{name}.json": canonical_json(s.certificate()) + "\n" for name, s in SAMPLES.items()}
    cases = refused()
    files |= {f"refused/{name}.json": text + "\n" for name, (text, _) in cases.items()}
    reasons = {name: reason for name, (_, reason) in cases.items()}
    return {**files, "reasons.json": json.dumps(reasons, indent=2, sort_keys=True) + "\n"}


def write_corpus() -> None:
    """Writes every file of the corpus, and removes those that are no longer in it."""
    files = corpus()
    for old in CORPUS.rglob("*.json"):
        old.unlink()
    for name, text in files.items():
        (CORPUS / name).parent.mkdir(parents=True, exist_ok=True)
        (CORPUS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_corpus()
