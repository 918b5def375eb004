"""The page: everything that was decided is on it, nothing is loaded, it reads without scripts."""

from __future__ import annotations

import re
from importlib import resources
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from report_samples import Page, certificate, claim, decided, written

from exactattn.allocate import PUBLISHED, schedule_chart
from exactattn.certificate.report import Report, ledger_digest, report_html, report_markdown
from exactattn.certificate.report.themed_svg import themed_svg
from exactattn.ledger import Decided, Outcome, Step, Verdict, decide, load_claims, select

IDS = ["I-4.1", "I-4.5-six-heads", "I-4.7.1-sinks", "I-5.3", "I-5.3-key-bias", "I-4.7.1", "Q-2-runs"]


@pytest.fixture(scope="module")
def claims() -> list[Decided]:
    open_question = decided(Verdict.UNKNOWN, "nobody knows yet", id="Q-99")
    return [*decide(select(load_claims(), IDS)), open_question]


@pytest.fixture(scope="module")
def report(claims: list[Decided], tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("certificates")
    evidence = next(each for each in claims if each.outcome.certificates).outcome.certificates[0]
    files = [
        written(certificate(), folder / "valid.json"),
        written(certificate(queries=28), folder / "refused.json"),
        folder / "missing.json",
        written(evidence, folder / "evidence.json"),
    ]
    return Report.of(claims, files, facts=[("command", "exactattn report"), ("sympy", "1.14")])


@pytest.fixture(scope="module")
def html(report: Report) -> str:
    return report_html(report)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page.of(html)


def test_everything_decided_is_on_the_page(claims: list[Decided], page: Page) -> None:
    """If it fails, a reader misses a verdict, a hypothesis, a step or a counterexample."""
    anchors = {attributes.get("id") for _, attributes in page.elements}
    text = page.text.replace(" ", "")
    for each in claims:
        outcome, says = each.outcome, each.claim
        assert f"claim-{says.id}" in anchors
        sentences = [
            says.id,
            outcome.verdict.value,
            outcome.by,
            says.place,
            says.corrected,
            says.paper.source,
        ]
        sentences += [*says.hypotheses, *says.does_not_establish, *outcome.scope, says.says]
        sentences += [part for step in outcome.steps for part in (step.says, step.how, step.detail)]
        sentences += [each["digest"] for each in outcome.certificates]
        if outcome.counterexample is not None:
            found = outcome.counterexample
            sentences += [found.says, found.smallest, *found.texts(), *found.texts().values()]
        for sentence in sentences:
            # indices and powers are lowered and raised instead of marked
            plain = re.sub(r"[_^](?=[^\W_])|\s", "", sentence)
            assert plain in re.sub(r"[_^](?=[^\W_])", "", text), sentence


def test_statements_are_mathematics(claims: list[Decided], page: Page) -> None:
    """If it fails, statements are shown as program text, or are missing."""
    parts = sum(len(each.claim.statement) for each in claims)
    assert sum(attributes.get("class") == "formula" for _, attributes in page.elements) == parts > 0
    assert sum(tag == "math" for tag, _ in page.elements) >= parts


def test_certificate_files_are_checked_and_only_valid_ones_speak(report: Report, page: Page) -> None:
    """If it fails, a refused file could state something, or a valid one would not show what it proves."""
    assert [file.verdict.word for file in report.files] == ["valid", "refused", "unreadable", "valid"]
    assert report.worst_code == 2
    assert [file.supports for file in report.files] == [(), (), (), ("Q-2-runs",)]
    assert not report.files[1].content
    assert "3 of 4" not in page.text
    assert "2 of 4 certificate files valid" in page.text
    assert page.text.count("Nothing of what this file says is shown") == 2
    assert report.files[0].digest in page.text
    facts = dict(report.files[0].facts)
    assert (facts["seed"], facts["dim"], facts["kind"]) == ("0", "2", "recovery")
    poles = [a for tag, a in page.elements if tag == "svg" and a.get("aria-label") == "poles of the recovery"]
    assert len(poles) == 2


def test_nothing_is_loaded_and_nothing_runs(html: str, page: Page) -> None:
    """If it fails, opening the page would tell someone, or would run something."""
    for tag, attributes in page.elements:
        assert tag not in ("script", "iframe", "img", "object", "embed", "base", "form", "foreignobject"), tag
        for name, value in attributes.items():
            assert not name.startswith("on"), name
            if name in ("href", "src", "action", "xlink:href"):
                assert value.startswith("#") or (tag, value) == ("link", "data:,"), value
            assert "://" not in value or name in ("title", "aria-label"), value
            for reference in re.findall(r"url\(([^)]*)", value):
                assert reference.startswith("#")
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    assert style is not None
    assert not re.search(r"@import|url\(|://|<|&", style[1])
    assert "default-src 'none'" in html


def test_the_page_is_well_formed(html: str, page: Page) -> None:
    """If it fails, browsers would have to guess what the page means, or links would lead nowhere."""
    ElementTree.fromstring(html.partition("\n")[2])
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        for name in ("href", "for"):
            value = attributes.get(name, "#")
            if name == "for" and name in attributes:
                assert value in ids
            elif value.startswith("#") and len(value) > 1:
                assert value[1:] in ids, value
        for reference in re.findall(r"url\(#([\w.-]+)\)", " ".join(attributes.values())):
            assert reference in ids
    headings = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(headings)), "a level of headings is left out"


def test_filters_have_a_rule_for_each_choice(report: Report, html: str, page: Page) -> None:
    """If it fails, choosing a verdict or a paper would show the wrong rows."""
    radios = [a["id"] for tag, a in page.elements if tag == "input"]
    shown = {a["data-verdict"] for tag, a in page.elements if "data-verdict" in a}
    assert shown == {"proved", "proved-for", "refuted", "unknown", "out-of-scope"}
    assert set(radios) == {"show-all", "show-paper-all", "show-paper-I", "show-paper-Q"} | {
        f"show-{verdict}" for verdict in shown
    }
    for radio in radios:
        assert radio.endswith("-all") or f"body:has(#{radio}:checked)" in html
    assert {(v.value, p.letter) for v, p in report.empty_pairs} == {
        ("proved", "Q"),
        ("refuted", "Q"),
        ("out of scope", "Q"),
        ("proved for", "I"),
        ("unknown", "I"),
    }


def test_a_surprise_is_announced() -> None:
    """If it fails, a verdict that changed since its claim was written would pass unnoticed."""
    outcome = Outcome(Verdict.UNKNOWN, "the evidence broke off", (Step("a step", False, "by hand"),))
    report = Report.of([Decided(claim(), outcome, 0.1)])
    assert report.surprising == ["Q-1"]
    assert report.worst_code == 1
    text = Page.of(report_html(report)).text
    for words in ("Not as written in the claim's file: Q-1", "was: proved", "✗ does not hold:", "1 failed"):
        assert words in text
    assert "Not as written in the claim's file: Q-1" in report_markdown(report)


def test_pages_with_little_on_them() -> None:
    """If it fails, a report without claims, or without certificates, would not be written."""
    empty = Page.of(report_html(Report()))
    assert "Made with" in empty.text
    assert not any(a.get("id") == "claims" for _, a in empty.elements)
    alone = Page.of(report_html(Report.of([decided(says="only this")])))
    assert "only this" in alone.text


def test_markdown_has_the_same_claims(claims: list[Decided], report: Report) -> None:
    """If it fails, the Markdown would not say what the page says."""
    text = report_markdown(report)
    for each in claims:
        assert f"### {each.claim.id}: {each.outcome.verdict.value}" in text
    assert text.count("```") % 2 == 0
    assert report.files[0].digest in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == len(claims) + 1
    assert all(re.fullmatch(r"\|( ([^|\\]|\\.)+ \|){4}", row) for row in rows)


def test_the_same_report_gives_the_same_page(report: Report, html: str) -> None:
    """If it fails, two reports of the same facts could not be compared."""
    assert report_html(report) == html


def test_digest_of_claim_files_notices_a_change(tmp_path: Path) -> None:
    """If it fails, a report could not be traced to the claim files it was made from."""
    folder = tmp_path / "queries"
    folder.mkdir()
    (folder / "a.py").write_text("1")
    before = ledger_digest(tmp_path)
    assert ledger_digest(tmp_path) == before
    (folder / "a.py").write_text("2")
    changed = ledger_digest(tmp_path)
    (folder / "a.py").rename(folder / "b.py")
    assert len({before, changed, ledger_digest(tmp_path)}) == 3


def test_charts_follow_the_theme() -> None:
    """If it fails, a chart would be black on black in the dark, or would keep what only matplotlib needs."""
    chart = str(themed_svg(schedule_chart(PUBLISHED["prism-124m"]), "one", "a chart"))
    assert not re.search(r"#000000|#ffffff|#3b6ea5|metadata|font-family|://|<style", chart)
    assert {"var(--grey)", "var(--blue)", "currentColor"} <= set(
        re.findall(r"var\(--\w+\)|currentColor", chart)
    )
    assert "unidentified, %" in chart
    assert min(float(x) for x in re.findall(r"font-size: ([\d.]+)px", chart)) >= 8


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb, as the contrast ratio of accessible text is defined."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_words_have_contrast_in_both_themes() -> None:
    """If it fails, words are hard to read in the light or in the dark theme (4.5 to 1 is the usual least)."""
    templates = resources.files("exactattn.certificate.report") / "templates"
    style = (templates / "style.css").read_text(encoding="utf-8")
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", part)) for part in style.split("@media")[:2]
    )
    pairs = [(ink, ground) for ink in ("ink", "soft", "link") for ground in ("page", "panel")]
    pairs += [(name, f"{name}-back") for name in ("proved", "refuted", "unknown", "scope", "certificate")]
    pairs += [("page", "ink"), ("refuted", "panel")]
    for theme in (light, dark):
        for ink, ground in pairs:
            high, low = sorted((luminance(theme[ink]), luminance(theme[ground])), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, ground)
