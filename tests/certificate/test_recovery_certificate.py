"""Recovery certificates: what the writer states, and what it refuses to state."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import sympy
from certificate_samples import SAMPLES, SMALL, TWO, KnownRun, known_run, unchecked_certificate
from corpus_cases import CORPUS, corpus
from flint import fmpq
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from exactattn.certificate import (
    canonical_json,
    digest,
    read_certificate,
    recovery_certificate,
    recovery_schema,
    write_certificate,
)
from exactattn.checker import check, check_data, check_file
from exactattn.exceptions import CertificateError, InputError
from exactattn.model import Attention, Evaluator, Head, random_layer
from exactattn.numbers import Balls, LogLattice
from exactattn.recovery.draw import TokenRange
from exactattn.recovery.plan import PublishedPlan


def test_corpus_is_what_the_writer_writes() -> None:
    """If it fails, certificates changed and the stored ones no longer show what is written today."""

    def undisclosed(text: str) -> str:
        return re.sub(r'"made_by":\{[^}]*\}|"digest":"[^"]*"', "", text)

    files = corpus()
    stored = {file.relative_to(CORPUS).as_posix() for file in CORPUS.rglob("*.json")}
    assert stored == set(files)
    for name, text in files.items():
        assert undisclosed((CORPUS / name).read_text(encoding="utf-8")) == undisclosed(text), name


@settings(deadline=None, max_examples=40)
@given(
    heads=st.integers(1, 3),
    dim=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    extra=st.integers(0, 2),
    duplicates=st.integers(0, 1),
    cancel=st.integers(0, 1),
    denominator=st.integers(1, 3),
    public=st.booleans(),
)
def test_every_generic_run_is_certified(
    heads: int, dim: int, seed: int, extra: int, duplicates: int, cancel: int, denominator: int, public: bool
) -> None:
    """If it fails, a good run gets no certificate, or one that says other heads, counts or hypotheses."""
    plain = heads - duplicates - cancel
    assume(plain >= max(cancel, 1) and not (duplicates and plain == cancel))
    layer = random_layer(
        heads, dim, seed=seed, duplicates=duplicates, cancel=cancel, size=9, denominator=denominator
    )
    run = known_run(layer, heads + extra, seed, TokenRange.for_lattice(heads, dim))
    content = unchecked_certificate(run, layer if public else None)
    reason = check_data(content).reason
    assume(not any(why in reason for why in ("same exponent", "residue v.u is zero", "ambiguous")))
    certificate = recovery_certificate(run, layer if public else None)
    assert certificate == content
    assert len(certificate["heads"]) == len(layer.canonical().heads)
    assert certificate["queries"] == certificate["formula"] == len(certificate["answers"])
    status = {h["id"]: h["status"] for h in certificate["hypotheses"]}
    assert status["layer"] == ("verified for the model" if public else "assumed")
    assert ("all-heads-seen" in status) == (len(certificate["heads"]) < heads + extra)
    Draft202012Validator(recovery_schema()).validate(certificate)


def test_same_run_same_bytes(tmp_path: Path) -> None:
    """If it fails, a certificate depends on something that is not part of the run."""
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    for file in (first, second):
        write_certificate(SAMPLES["fractions"].certificate(), file)
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes().endswith(b"}\n")
    assert check_file(first).code == 0
    content = read_certificate(first)
    assert content == SAMPLES["fractions"].certificate()
    assert canonical_json(content).encode() == check.canonical(content)
    rest = {key: x for key, x in content.items() if key != "digest"}
    assert content["digest"] == digest(content) == check.digest(rest)


def test_recomputed_with_sympy() -> None:
    """If it fails, answers, tokens or heads of a certificate are not what the definition of attention says.

    Softmax over the written-out sequence, in sympy rationals, straight from the file.
    """
    data = SAMPLES["fractions"].certificate()
    number = sympy.Rational
    D, dim = int(data["denominator"]), data["dim"]

    def column(texts: list[str]) -> sympy.Matrix:
        return sympy.Matrix([number(x) for x in texts])

    heads = [
        (sympy.Matrix([[number(x) for x in row] for row in h["W"]]), column(h["v"])) for h in data["heads"]
    ]
    b, u = [column(row) for row in data["b"]], [column(row) for row in data["u"]]

    def value(sequence: list[sympy.Matrix]) -> sympy.Rational:
        last, total = sequence[-1], sympy.Integer(0)
        for W, v in heads:
            weights = [number(2) ** (D * (last.T * W * x)[0]) for x in sequence]
            mean = sum((w * x for w, x in zip(weights, sequence, strict=True)), sympy.zeros(dim, 1))
            total += (v.T * mean)[0] / sum(weights)
        return total

    probes = [(x, y) for x in b for y in u]
    probes += [(x, u[0] + y) for x in b for y in u[1:]] + [(b[0] + x, u[0]) for x in b[1:]]
    copies = range(1, 2 * data["heads_bound"] + 1)
    expected = [value([b[0]])] + [value([x - y] * m + [x]) for x, y in probes for m in copies]

    def read(text: str) -> sympy.Rational:
        p, _, q = text.partition("/")
        return number(int(p, 0), int(q or "1", 0))

    assert [read(text) for text in data["answers"]] == expected
    for name, rows in (("b", b), ("u", u)):
        inverse = sympy.Matrix([[number(x) for x in row] for row in data[f"{name}_inverse"]])
        assert sympy.Matrix.vstack(*[row.T for row in rows]) * inverse == sympy.eye(dim)


def hidden_pair() -> tuple[Attention, KnownRun]:
    """Two heads that show in no probe: opposite v with v.u_1 = v.u_3 = 0, and W_1 - W_2 acts on u_3 only."""
    plan = PublishedPlan.draw(2, 3, 3, SMALL)
    u1, u2, u3 = plan.u
    v = cross(u1, u3)
    to_u3 = cross(u1, u2)  # a functional that vanishes on u_1 and u_2
    nothing = [fmpq(0)] * 3
    layer = Attention.of([Head.of([to_u3, nothing, nothing], v), Head.of([nothing] * 3, [-x for x in v])])
    evaluator = Evaluator(layer, LogLattice())
    answers = [evaluator(query) for query in plan.queries()]
    run = KnownRun(plan, (plan,), answers, (), LogLattice(), len(answers), 5)
    return layer, run


def cross(x: tuple[fmpq, ...], y: tuple[fmpq, ...]) -> list[fmpq]:
    return [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]


def test_hidden_heads_are_why_one_hypothesis_is_assumed() -> None:
    """If it fails, the hypothesis on hidden heads is not needed, or such heads are certified away."""
    layer, run = hidden_pair()
    assert len(layer.canonical().heads) == 2
    assert all(x == 0 for x in run.answers)
    certificate = recovery_certificate(run)
    assert {"id": "all-heads-seen", "status": "assumed"}.items() <= certificate["hypotheses"][-1].items()
    assert "That there are no further heads beyond these 0." in certificate["does_not_establish"]
    with pytest.raises(CertificateError, match="are not the canonical form of the model"):
        recovery_certificate(run, layer)


def test_runs_that_prove_nothing_are_refused() -> None:
    """If it fails, a certificate is written for balls, wrong heads, wrong counts or non-generic queries."""
    run = known_run(TWO, 2, 0, SMALL)
    other = Attention.of([TWO.heads[0]])
    for bad, model, reason in (
        (replace(run, system=Balls()), None, "over balls"),
        (run, other, "not the canonical form of the model"),
        (replace(run, heads=other.heads), None, r"answers\[0\]: is not the value"),
        (replace(run, heads=run.heads[::-1]), None, "heads: must have different W, in ascending order"),
        (replace(run, queries=28), TWO, "queries: is 28, must be 29"),
        (replace(run, longest=6), TWO, "longest: is 6, must be 5"),
        (replace(run, answers=run.answers[:-1]), TWO, "answers: must be a list of 29 items"),
        (replace(run, answers=[x + 1 for x in run.answers]), TWO, r"answers\[0\]: is not the value"),
        (replace(run, system=LogLattice(2)), TWO, r"answers\["),
        (known_run(TWO, 2, 2, SMALL), TWO, "two heads have the same exponent"),
    ):
        with pytest.raises(CertificateError, match=reason):
            recovery_certificate(bad, model)


def test_denominator_may_be_a_multiple() -> None:
    """If it fails, a run with a larger common denominator than needed gets no certificate."""
    run = known_run(TWO, 2, 0, SMALL, denominator=6)
    assert recovery_certificate(run, TWO)["denominator"] == "6"


def test_schema_accepts_the_corpus_and_refuses_other_keys() -> None:
    """If it fails, the published schema does not describe the certificates."""
    schema = recovery_schema()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for file in (CORPUS / "accepted").glob("*.json"):
        validator.validate(json.loads(file.read_text(encoding="utf-8")))
    unfit = """key-unknown key-unknown-inside key-missing integer-true integer-text field-other kind-unknown
        format-other number-plus number-decimal number-leading-zero number-capital number-integer
        made-by-number denominator-negative"""
    for name in unfit.split():
        content = json.loads((CORPUS / "refused" / f"{name}.json").read_text(encoding="utf-8"))
        assert not validator.is_valid(content), name
    assert set(schema["properties"]) == set(schema["required"]) == set(SAMPLES["two-heads"].certificate())


def test_writing_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it fails, a full disk or an unusable path leaves half a certificate, or no clear error."""
    certificate = SAMPLES["two-heads"].certificate()
    with pytest.raises(InputError, match="cannot be written"):
        write_certificate(certificate, tmp_path / "missing" / "certificate.json")
    file = tmp_path / "certificate.json"
    file.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match=r"certificate\.json: cannot be written: No space left on device"):
        write_certificate(certificate, file)
    assert [path.name for path in tmp_path.iterdir()] == ["certificate.json"]
    assert file.read_text() == "old"
    monkeypatch.undo()
    monkeypatch.setattr("exactattn.certificate.canonical.MAX_FILE_BYTES", 1000)
    with pytest.raises(CertificateError, match="more than the 1000 that the checker reads"):
        write_certificate(certificate, file)
    assert file.read_text() == "old"


def test_reading_refuses_what_the_checker_refuses(tmp_path: Path) -> None:
    """If it fails, a program can take a false certificate for a valid one."""
    with pytest.raises(InputError, match=r"answer-wrong\.json: is not a valid certificate: answers"):
        read_certificate(CORPUS / "refused" / "answer-wrong.json")
    with pytest.raises(
        InputError, match=r"key-twice\.json: is not a certificate: the key 'dim' appears twice"
    ):
        read_certificate(CORPUS / "refused" / "key-twice.json")
    with pytest.raises(InputError, match="is not a certificate: No such file or directory"):
        read_certificate(tmp_path / "missing.json")
