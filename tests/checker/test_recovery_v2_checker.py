"""Recovery certificates, version 2: the corpus, every field changed, and the lemmas of the checker."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from recovery_v2_cases import ACCEPTED, CORPUS, REFUSED
from test_mutations import is_disclosure, mutations, with_digest

from exactattn.certificate import recovery_v2_schema
from exactattn.checker import check, check_data, check_file
from exactattn.checker.recovery_v2_texts import recovery_v2_texts

REASONS: dict[str, str] = json.loads((CORPUS / "reasons.json").read_text(encoding="utf-8"))
MUTATED = ["optimal-rank-one", "optimal-heads-found", "consistent-bias", "published-bias-not-public"]


def sample(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((CORPUS / "accepted" / f"{name}.json").read_text(encoding="utf-8"))
    return content


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    """Breaks: certificates of true statements are turned away, or the schema does not describe them."""
    content = sample(name)
    verdict = check_data(content)
    assert verdict.code == 0, verdict.reason
    Draft202012Validator(recovery_v2_schema()).validate(content)
    assert verdict.reason.startswith("recovery of ")


@pytest.mark.parametrize("name", sorted(REASONS))
def test_refused(name: str) -> None:
    """Breaks: a false or badly written certificate passes, or the reason names another fault."""
    verdict = check_file(CORPUS / "refused" / f"{name}.json")
    assert verdict.code == 1
    assert REASONS[name] in verdict.reason


def test_corpus_is_complete() -> None:
    """Breaks: files without a stated reason or a case, and cases without a file."""
    assert {file.stem for file in (CORPUS / "accepted").glob("*.json")} == set(ACCEPTED)
    assert {file.stem for file in (CORPUS / "refused").glob("*.json")} == set(REASONS)
    assert set(REASONS) == {*REFUSED, "heads-exchangeable"}


def test_statements_say_what_is_special() -> None:
    """Breaks: a statement that claims more than its kind of run can prove."""
    texts = {name: " ".join(sample(name)["statement"]) for name in ACCEPTED}
    assert "where ranks are at most those listed here, 2, 1" in texts["optimal-rank-found"]
    assert "matrices of rank at most 1" in texts["consistent-rank-one"]
    assert "integral exponents" not in texts["consistent"]
    assert "integral exponents D*b^T W p in the probes" in texts["optimal"]
    assert "Whatever the exponents" in texts["optimal"]
    assert "Whatever the exponents" not in texts["optimal-shared-pole"]  # there a number could move
    assert (
        "at most 3 canonical heads that gives these answers has exactly the poles"
        in texts["optimal-heads-found"]
    )
    assert "3 outputs" in texts["optimal-outputs"]
    assert "2 outputs, biases" in texts["optimal-bias-outputs"]
    assert "integral exponents D*b^T W p in the first row" in texts["consistent-opposite-merged"]
    assert "this constant" in texts["published-bias"]
    assert any(h["id"] == "all-heads-seen" for h in sample("optimal-bound-above")["hypotheses"])
    assert not any(h["id"] == "all-heads-seen" for h in sample("optimal")["hypotheses"])


@pytest.mark.parametrize("name", MUTATED)
def test_every_field(name: str) -> None:
    """Breaks: some field of a certificate is not bound to what is verified: an adversary may leave the
    digest, compute it anew, or write the sentences anew, too. (Without the public model, and with its heads
    in another order, the statement is true as well.)"""
    certificate = sample(name)
    original = check.canonical(certificate)
    tried = 0
    for mutation in mutations(certificate):
        mutation.apply()
        try:
            if check.canonical(certificate) == original:
                continue
            place = f"{mutation.path}: {mutation.name}"
            tried += 1
            assert check_data(certificate).code != 0, f"digest left: {place}"
            if is_disclosure(certificate, mutation):
                continue
            resealed = with_digest(certificate)
            if check.canonical(resealed) != original:
                assert check_data(resealed).code != 0, f"digest computed anew: {place}"
            if mutation.path[:1] in (("statement",), ("hypotheses",), ("does_not_establish",)):
                continue
            try:
                rewritten = with_digest({**certificate, **recovery_v2_texts(certificate)})
            except (KeyError, TypeError, AttributeError):
                continue
            accepted = check_data(rewritten).code == 0 and check.canonical(rewritten) != original
            assert not accepted or mutation.path[:1] == ("model",), f"sentences written anew: {place}"
        finally:
            mutation.undo()
    assert check.canonical(certificate) == original
    assert tried > 400


def test_every_number_of_many_kinds() -> None:
    """Breaks: a number of some kind of run could be replaced, with sentences and digest that belong to it."""
    for name in ("optimal-bias-rank", "optimal-outputs", "optimal-first-row-linked", "optimal-shared-pole"):
        certificate = sample(name)
        for mutation in mutations(certificate):
            skipped = {"model", "made_by", "statement", "hypotheses", "does_not_establish", "digest"}
            if (
                not mutation.path
                or mutation.path[0] in skipped
                or mutation.name not in ("numerator 0", "plus one")
            ):
                continue
            mutation.apply()
            changed = copy.deepcopy(certificate)
            mutation.undo()
            try:
                changed |= recovery_v2_texts(changed)
            except (KeyError, TypeError):
                continue
            assert check_data(with_digest(changed)).code == 1, (name, mutation.path)


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("heads_bound",), 1 << 62, "heads_bound: is"),
        (("dim",), 1 << 62, "dim: is"),
        (("heads_bound",), 1 << 10, "formula: is"),
        (("probes",), [{"kind": "base", "rows": [1], "columns": []}] * (1 << 17), "lists a probe twice"),
        (("probes",), [{"kind": "base", "rows": [1], "columns": []}, None], "probes[1]: must be an object"),
        (("others",), [{"runs": [], "last": ["1", "1"], "answers": ["0", "0"]}], "others[0].answers: must"),
        (("blocks",), [], "blocks: must be null at full rank"),
        (("weights",), [], "weights: must be a list of 1"),
        (("weights",), ["0"] * 1025, "weights: must be a list of 1"),
        (("answers",), [["0"] * 10**5], "answers[0]: must be a list of 12 items"),
        (("plan", "tokens", "last"), 1 << 63, "plan.tokens.last: is"),
        (("heads", 0, "W", 0, 0), hex(-(1 << 8191)), "exponents of 2 are too large"),
    ],
    ids=range(12),
)  # fmt: skip
def test_sizes_are_limited(path: tuple[Any, ...], value: Any, reason: str) -> None:
    """Breaks: a small file keeps the checker busy, or ends in an exception."""
    certificate = sample("optimal-not-public")
    place: Any = certificate
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    verdict = check_data(with_digest(certificate))
    assert verdict.code in (1, 2)
    assert reason in verdict.reason


def test_folder_alone(tmp_path: Path) -> None:
    """Breaks: the checker's folder needs more than the standard library."""
    shutil.copytree(Path(check.__file__).parent, tmp_path / "folder")
    shutil.copy(CORPUS / "accepted" / "optimal-bias.json", tmp_path / "good.json")
    code = "import sys; sys.path.insert(0, '.'); import folder; print(folder.check_file('good.json').word)"
    command = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "valid", done.stderr
