"""Every field of every accepted certificate, changed in every way: what passes is true, and little passes.

An adversary may leave the digest as it is, compute it anew, or also write the sentences anew that belong to
the changed content. The last certificates are judged by the package itself: accepted means true.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from exactattn.checker import check, check_data
from exactattn.exceptions import InputError
from exactattn.model import Attention, Evaluator, Head
from exactattn.numbers import LogLattice, rational, rational_vector
from exactattn.recovery.draw import TokenRange, draw_vector
from exactattn.recovery.plan import PublishedPlan

ACCEPTED = sorted((Path(__file__).parent / "corpus" / "accepted").glob("*.json"))
Path_ = tuple[str | int, ...]


@dataclass
class Mutation:
    """A change of one place, applied in place and undone."""

    path: Path_
    name: str
    apply: Callable[[], None]
    undo: Callable[[], None]


def other_leaves(x: Any) -> Iterator[tuple[str, Any]]:
    """Other values for a leaf: near ones, and ones of another type."""
    if isinstance(x, str):
        head, _, tail = x.partition("/")
        if check.NUMBER.fullmatch(x):
            n = int(head, 16 if "0x" in head else 10)
            near = [n + 1, -n]
            texts = [hex(k) if abs(k).bit_length() > 64 else str(k) for k in near]
            yield from ((f"numerator {k}", f"{t}/{tail}" if tail else t) for k, t in enumerate(texts))
            yield "denominator", f"{x}/2" if not tail else f"{head}/{tail}1"
            yield "as integer", n
        else:
            yield "shorter", x[:-1]
        yield "longer", x + "x"
        yield "in a list", [x]
    elif isinstance(x, int):
        yield from (("plus one", x + 1), ("minus one", x - 1), ("negative", -x - 1), ("as text", str(x)))
        yield from (("as float", float(x)), ("as truth value", bool(x)))
    else:
        yield from (("zero", 0), ("false", False), ("no heads", {"heads": []}), ("empty text", ""))
        yield from (("empty object", {}), ("empty list", []))
    yield "null", None


def mutations(x: Any, path: Path_ = ()) -> Iterator[Mutation]:
    """All mutations below x."""

    def replacing(place: Any, key: Any, name: str, value: Any) -> Mutation:
        old = place[key]
        return Mutation(
            (*path, key), name, lambda: place.__setitem__(key, value), lambda: place.__setitem__(key, old)
        )

    def rewriting(name: str, new: Any) -> Mutation:
        old = x.copy()

        def put(content: Any) -> None:
            x.clear()
            x.update(content) if isinstance(x, dict) else x.extend(content)

        return Mutation(path, name, lambda: put(new), lambda: put(old))

    if isinstance(x, dict):
        yield rewriting("empty", {})
        yield rewriting("added", {**x, "added": "1"})
        for key in sorted(x):
            yield rewriting(f"without {key}", {k: y for k, y in x.items() if k != key})
            yield rewriting(f"renamed {key}", {k + "_" * (k == key): y for k, y in x.items()})
    else:
        yield rewriting("empty", [])
        yield rewriting("reversed", x[::-1])
        for k in range(len(x)):
            yield rewriting(f"without {k}", x[:k] + x[k + 1 :])
            yield rewriting(f"twice {k}", [*x[: k + 1], *x[k:]])
            yield rewriting(f"swapped {k}", [*x[:k], *x[k : k + 2][::-1], *x[k + 2 :]])
    for key, y in sorted(x.items()) if isinstance(x, dict) else enumerate(x):
        if isinstance(y, dict | list):
            yield replacing(x, key, "as text", json.dumps(y))
            yield replacing(x, key, "null", None)
            yield from mutations(y, (*path, key))
        else:
            yield from (replacing(x, key, name, value) for name, value in other_leaves(y))


def with_digest(certificate: dict[str, Any]) -> dict[str, Any]:
    content = {key: x for key, x in certificate.items() if key != "digest"}
    return {**content, "digest": check.digest(content)}


def is_true(certificate: dict[str, Any]) -> bool:
    """Whether the package agrees with the content: tokens, answers, heads, counts and model."""
    heads = [Head.of(h["W"], h["v"]) for h in certificate["heads"]]
    layer = Attention.of(heads, certificate["dim"])
    draws = []
    for draw in certificate["plan"]["draws"]:
        versions = {(n, i): v for n in ("b", "u") for i, v in enumerate(draw[n], 1)}
        draws.append(
            PublishedPlan(
                certificate["heads_bound"],
                certificate["dim"],
                certificate["plan"]["seed"],
                TokenRange(**certificate["plan"]["tokens"]),
                tuple(sorted(versions.items())),
            )
        )
    plan = draws[-1]
    try:
        evaluator = Evaluator(layer, LogLattice(int(certificate["denominator"])))
        answers = [evaluator(query) for query in plan.queries()]
    except InputError:
        return False
    asked = {query for draw in draws for query in draw.queries()}
    model = certificate["model"]
    public = None
    if model is not None:
        public = Attention.of([Head.of(h["W"], h["v"]) for h in model["heads"]], layer.dim)
    return (
        answers == [rational(x) for x in certificate["answers"]]
        and tuple(heads) == layer.canonical().heads
        and [rational_vector(row) for row in certificate["b"]] == list(plan.b)
        and [rational_vector(row) for row in certificate["u"]] == list(plan.u)
        and certificate["queries"] == len(asked)
        and certificate["longest"] == max(query.length for query in asked)
        and certificate["redraws"] == len(draws) - 1
        and (public is None or public.same_function(layer))
        and (public is None or int(certificate["denominator"]) % public.denominator() == 0)
    )


@pytest.mark.parametrize("file", ACCEPTED, ids=lambda f: f.stem)
def test_every_field(file: Path) -> None:
    """If it fails, some field of a certificate is not bound to what is verified."""
    certificate: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    original = check.canonical(certificate)
    tried = 0
    for mutation in mutations(certificate):
        mutation.apply()
        try:
            if check.canonical(certificate) == original:
                continue
            tried += 1
            place = f"{mutation.path}: {mutation.name}"
            assert check_data(certificate).code != 0, f"digest left: {place}"
            if is_disclosure(certificate, mutation):
                assert check_data(with_digest(certificate)).code == 0
                continue
            resealed = with_digest(certificate)
            only_digest = mutation.path in ((), ("digest",)) and check.canonical(resealed) == original
            if not only_digest:
                assert check_data(resealed).code != 0, f"digest computed anew: {place}"
            try:
                rewritten = {**certificate, **check.recovery_texts(certificate)}
            except (KeyError, TypeError, AttributeError):
                continue
            if rewritten == certificate:
                continue  # the sentences do not depend on this field
            rewritten = with_digest(rewritten)
            if check_data(rewritten).code == 0 and check.canonical(rewritten) != original:
                assert is_true(rewritten), f"sentences written anew: {place}"
                assert may_change(mutation, rewritten), f"sentences written anew: {place}"
        finally:
            mutation.undo()
    assert check.canonical(certificate) == original
    assert tried > 500


def is_disclosure(certificate: dict[str, Any], mutation: Mutation) -> bool:
    """Whether only the program versions changed, which are disclosed and not verified."""
    texts = certificate.get("made_by")
    return (
        mutation.path[:1] == ("made_by",)
        and isinstance(texts, dict)
        and all(isinstance(x, str) for x in texts.values())
    )


def may_change(mutation: Mutation, certificate: dict[str, Any]) -> bool:
    """What an adversary may change who writes the sentences anew, since they then say another true thing:
    the order and the vanishing heads of the public model, or whether there is one; D where no exponent
    depends on it; draws before the last; a seed or range that happens to draw the same vectors."""
    match mutation.path:
        case ("model", *_) | ("plan", "draws", *_):
            return True
        case ("plan", "seed" | "tokens", *_):
            return certificate["dim"] == 1
        case ("denominator",):
            return all(x == "0" for head in certificate["heads"] for row in head["W"] for x in row)
        case _:
            return False


def test_draws_of_the_checker_are_those_of_the_plan() -> None:
    """If it fails, the checker and the plan draw different vectors from one seed."""
    for seed, name, versions, dim, radius in (
        (0, "b", [0, 3], 2, 5),
        (-(2**62), "u", [2**40, 0, 1], 3, 10**12),
    ):
        ours = [draw_vector(seed, name, i, v, dim, radius) for i, v in enumerate(versions, 1)]
        assert [rational_vector(row) for row in check.drawn(seed, name, versions, dim, radius)] == ours
