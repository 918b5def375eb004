"""Certificates of Transformers: what is accepted, what is refused and why, and every field changed."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from test_mutations import is_disclosure, mutations, with_digest
from transformer_cases import MODELS, REFUSED, certificate, refused

from exactattn.certificate import transformer_schema, write_certificate
from exactattn.checker import check, check_data, transformer_walk
from exactattn.checker.transformer_texts import transformer_texts
from exactattn.checker.transformer_walk import PRIME, rank
from exactattn.model.query import Query
from exactattn.model.transformer import Neuron, Transformer
from exactattn.numbers import LogLattice, rational, rational_vector


@pytest.mark.parametrize("name", MODELS)
def test_accepted(name: str) -> None:
    """Breaks: certificates of true statements are turned away, or the schema does not describe them."""
    for public in (True, False):
        content = certificate(name, public=public)
        verdict = check_data(content)
        assert verdict.code == 0, verdict.reason
        assert "functionally equal under the stated hypotheses" in verdict.reason
        Draft202012Validator(transformer_schema()).validate(content)
        assert any("public model" in text for text in content["statement"]) == public


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """Breaks: a false or badly written certificate passes, or the reason names another fault."""
    verdict = check_data(refused(name))
    assert verdict.code == 1
    assert REFUSED[name][1] in verdict.reason


def test_hypotheses_say_what_is_special() -> None:
    """Breaks: a statement claims more than its kind of run can prove."""
    status = {name: {h["id"]: h["status"] for h in certificate(name)["hypotheses"]} for name in MODELS}
    shown = [name for name in MODELS if status[name]["heads"] == "verified"]
    assert {"one", "two heads", "spacing"} <= set(shown)
    for name in ("residual", "bound above", "hidden head", "no antisymmetric queries", "equal heads"):
        assert name not in shown
    assert "spacing" in status["spacing"]
    assert "neurons" not in status["spacing"]
    assert status["two heads"]["neurons"] == "assumed"
    assert {s["one-piece"] for s in status.values()} == {"assumed"}
    residual = certificate("residual")["hypotheses"]
    assert any("that also sees the last token" in h["text"] for h in residual)


@pytest.mark.parametrize(
    "name", ["one", "one with a residual", pytest.param("spacing", marks=pytest.mark.slow)]
)
def test_every_field(name: str) -> None:
    """Breaks: some field is not bound to what is verified: an adversary may leave the digest, compute it
    anew, or write the sentences anew, too. What passes says another true thing of the same function."""
    content = certificate(name)
    truth = certificate(name)
    original = check.canonical(content)
    tried = 0
    # numbers within long lists all take the same way through the checker: a few of each stand for them
    for mutation in mutations(content):
        path = mutation.path
        if passed_over(path, mutation.name):
            continue
        mutation.apply()
        try:
            if check.canonical(content) == original:
                continue
            tried += 1
            place = f"{path}: {mutation.name}"
            assert check_data(content).code != 0, f"digest left: {place}"
            if is_disclosure(content, mutation):
                continue
            sealed = [with_digest(content)]
            with contextlib.suppress(KeyError, TypeError, AttributeError):
                sealed.append(with_digest({**content, **transformer_texts(content)}))
            for changed in sealed:
                if check.canonical(changed) != original and check_data(changed).code == 0:
                    assert may_change(path, mutation.name), place
                    assert is_true(changed, truth), place
        finally:
            mutation.undo()
    assert check.canonical(content) == original
    assert tried > 400


def passed_over(path: tuple[str | int, ...], name: str) -> bool:
    """Entries of long lists take the same way through the checker: every 29th stands for them. The parts
    of the certificate of attention have a test of their own."""
    if path[:1] == ("attention",) and len(path) > 2:
        return True
    for long in (("asked",), ("attention", "answers")):
        if path[: len(long)] == long:
            number = path[len(long)] if len(path) > len(long) else name.rsplit(maxsplit=1)[-1]
            return str(number).isdecimal() and int(number) % 29 != 0
    return False


def may_change(path: tuple[str | int, ...], name: str) -> bool:
    """What an adversary may change who writes sentences and digest anew: whether there is a public model and
    how it is written; whether the certificate of attention is there; without it, a larger bound; a wider
    spacing of kinks; fewer or other places of a piece and queries of a region; the order of neurons and of
    queries; a query that has the same answer."""
    match path:
        case ("model", *_) | ("stated", "kink_spacing") | ("attention", "model"):
            return True
        case ("attention",):
            return name == "null"
        case ("heads_bound",):
            return name == "plus one"
        case ("asked", _, "last" | "runs", *_):
            return True
        case ("neurons",) | ("asked",):
            return name == "reversed" or name.startswith("swapped")
        case ("pieces", _, "abscissae", *_) | ("regions", _, *_):
            return name.startswith("without") or len(path) > 3 - (path[0] == "regions")
    return False


def is_true(content: dict[str, Any], truth: dict[str, Any]) -> bool:
    """Whether the package agrees: the same function, by the listed network and by the public model, and
    each answer is its value."""

    def network(x: dict[str, Any], residual: bool) -> Transformer:
        neurons = [Neuron.of(n["a"], n["beta"]) for n in x["neurons"]]
        dim = truth["dim"]
        return Transformer.of(x["matrices"], neurons, dim=dim, residual=residual, bypass=x["bypass"])

    function = network(truth, truth["residual"])
    model = content["model"]
    return (
        all(content[key] == truth[key] for key in ("matrices", "linear", "kinks", "residual", "path"))
        and all(item in truth["asked"] or answered(function, item) for item in content["asked"])
        and network(content, content["residual"]).same_function(function)
        and (model is None or network(model, model["residual"]).same_function(function))
    )


def answered(function: Transformer, item: dict[str, Any]) -> bool:
    runs = [(rational_vector(token), count) for token, count in item["runs"]]
    query = Query.of(runs, rational_vector(item["last"]))
    return bool(function(query, LogLattice()) == rational(item["answer"]))


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("dim",), 1 << 62, "dim: is"),
        (("dim",), 1, "dim: is"),
        (("heads_bound",), 1 << 62, "heads_bound: is"),
        (("residual",), 0, "residual: must be true or false"),
        (("denominator",), "1/2", "denominator: must be a positive integer"),
        (("denominator",), hex(1 << 8000), "too large"),
        (("matrices", 0, 0, 0), hex(-(1 << 8000)), "too large"),
        (("linear", 0, 0), "1/" + hex((1 << 8190) + 1), "neurons: are not"),
        (("kinks",), [None] * 257, "kinks: must be a list of 0 to 256"),
        (("kinks",), [None], "kinks[0]: must be an object"),
        (("neurons",), [None] * 257, "neurons: must be a list of 0 to 256"),
        (("asked",), [None] * ((1 << 16) + 1), "asked: must be a list of 1 to 65536"),
        (("asked", 0), {"runs": [[["0", "0"], 1 << 21]], "last": ["1", "1"], "answer": "0"}, "asked[0].runs"),
        (("asked", 0), {"runs": [[["0", "0"], 0]], "last": ["1", "1"], "answer": "0"}, "asked[0].runs"),
        (("asked", 0), {"runs": [], "last": ["1", "1"], "answer": hex(1 << (1 << 22))}, "asked[0].answer"),
        (("asked", 0), {"runs": [[["1/3", "0"], 1]], "last": ["1", "1"], "answer": "0"}, "not an integer"),
        (("asked", 0), {"runs": [[["9999999", "0"], 1]], "last": ["99", "1"], "answer": "0"}, "too large"),
        (("regions", 0), [0] * (1 << 17), "regions[0]: must be a list"),
        (("regions", 0), [-1] * 9, "regions[0][0]: is -1"),
        (("attention",), [], "attention: must be a certificate"),
        (("attention",), {}, "attention.kind"),
        (("stated",), {}, "stated: must hold"),
        (("stated",), {"neurons": 2, "kink_spacing": "1"}, "stated: must hold"),
    ],
    ids=range(23),
)  # fmt: skip
def test_sizes_and_types_are_limited(path: tuple[Any, ...], value: Any, reason: str) -> None:
    """Breaks: a small file keeps the checker busy, or ends in an exception."""
    content = certificate("two heads")
    place: Any = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    verdict = check_data(with_digest(content))
    assert verdict.code in (1, 2)
    assert reason in verdict.reason


def test_all_work_together_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks: thousands of queries, each within its limits, keep the checker busy."""
    content = certificate("two heads")
    for name, least, reason in (
        ("MAX_EXPONENTS", 10, "exponents of 2 of all queries"),
        ("MAX_WORK", 1000, "asked: holds more queries"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(transformer_walk, name, least)
            assert reason in check_data(content).reason


def test_rank_modulo_a_prime() -> None:
    """Breaks: the rank of residues; a multiple of the prime counts as 0, so rank is never overstated."""
    assert rank([[1, 2, 3], [2, 4, 6], [0, 1, 1]]) == 2
    assert rank([[PRIME - 1, 1], [1, PRIME - 1]]) == 1
    assert rank([[0, 0], [0, 5], [7, 0]]) == 2
    assert rank([]) == 0


def test_folder_alone(tmp_path: Path) -> None:
    """Breaks: the checker's folder needs more than the standard library."""
    shutil.copytree(Path(check.__file__).parent, tmp_path / "folder")
    write_certificate(certificate("two heads"), tmp_path / "good.json")
    code = "import sys; sys.path.insert(0, '.'); import folder; print(folder.check_file('good.json').word)"
    command = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "valid", done.stderr
