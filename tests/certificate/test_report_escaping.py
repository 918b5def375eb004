"""Words from claims, certificates, models and file names stay words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import PAYLOADS, Page, certificate, decided, written

from exactattn.certificate.report import Report, read_allocation, report_html, report_markdown
from exactattn.certificate.report.mathematics import mathml
from exactattn.certificate.report.text import clean, markdown_text, prose
from exactattn.certificate.report.themed_svg import themed_svg
from exactattn.identify import count_model, identified_chart, parse_variant
from exactattn.identify.model_counts import ModelCount
from exactattn.ledger import Verdict

MATHEMATICS = {"math", "mrow", "mi", "mn", "mo", "msub", "msup", "msubsup", "code"}


def model(name: str) -> ModelCount:
    counted = count_model(parse_variant("mha E=8 H=2"))
    return type(counted)(**{**vars(counted), "model": _renamed(counted.model, name)})


def _renamed(spec: Any, name: str) -> Any:
    return type(spec)(**{**vars(spec), "name": name})


def allocation(word: str, folder: Path) -> Any:
    head = {"singular_values": ["3.5", "1.25"], "size": 2, "rank": 1}
    content = {
        **dict.fromkeys(("layout", "tolerance", "measure"), word),
        "parameters": 8,
        "saved": 4,
        "layers": [{"layer": 0, "heads": [head]}],
    }
    return read_allocation(written(content, folder / "allocation.json"))


def everywhere(words: Sequence[str], folder: Path) -> Report:
    """A report with the words in every field that can hold words."""
    folder.mkdir()
    word = " ".join(words)
    claims = [
        decided(Verdict.REFUTED, word),
        decided(Verdict.PROVED, word, id="Q-2", depends_on=["Q-1", "Q-9"]),
        decided(Verdict.UNKNOWN, word, id="Q-3"),
    ]
    made_by = {part[:90]: part[:90] for part in words}
    files = [written(certificate(made_by=made_by), folder / "valid.json")]
    files += [written(certificate(field=word), folder / f"{_file_name(part)} refused") for part in words]
    files += [folder / f"{_file_name(part)} missing" for part in words]
    facts = [("command", word), (word, word)]
    return Report.of(claims, files, [model(word)], [allocation(word, folder)], facts)


def _file_name(word: str) -> str:
    return "".join(c for c in word if c not in "/\x00" and not "\ud800" <= c <= "\udfff")


def plain(number: int) -> list[str]:
    return [f"plain {k}" for k in range(number)]


def test_no_payload_changes_what_the_page_consists_of(tmp_path: Path) -> None:
    """If it fails, words of a claim, a certificate, a model or a file name become elements or attributes."""
    size = 4
    report = everywhere(plain(size), tmp_path / "plain")
    assert [file.verdict.code for file in report.files] == [0, 1, 1, 1, 1, 2, 2, 2, 2]
    expected = Page.of(report_html(report)).skeleton
    for start in range(0, len(PAYLOADS), size):
        words = PAYLOADS[start : start + size]
        html = report_html(everywhere(words, tmp_path / str(start)))
        assert Page.of(html).skeleton == expected, words
        html.encode("utf-8")


def test_payloads_are_shown_as_they_are(tmp_path: Path) -> None:
    """If it fails, escaping would eat words instead of showing them."""
    word = "<script>alert(1)</script> & \"'"
    page = Page.of(report_html(everywhere([word], tmp_path / "one")))
    assert page.text.count(word) >= 20


@given(st.text())
@settings(deadline=None)
def test_prose_keeps_every_letter(text: str) -> None:
    """If it fails, a sentence would gain elements other than indices and powers, or lose letters."""
    page = Page.of(str(prose(text)))
    assert {tag for tag, _ in page.elements} <= {"sub", "sup"}
    assert all(not attributes for _, attributes in page.elements)
    # HTML reads line ends alike
    marks = re.compile(r"[_^]")
    assert marks.sub("", "".join(page.words)) == marks.sub("", clean(text))


@given(st.text())
def test_markdown_text_is_one_line_without_markup(text: str) -> None:
    """If it fails, a sentence could end its table row, or become a link, a picture, code or an element."""
    line = markdown_text(text)
    assert not re.search(r"[\r\n\v\f]", line)
    unescaped = re.sub(r"\\.", "", line)
    assert not re.search(r"[<>`|\[\]*_\\&]|://", unescaped)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_names_of_symbols_are_escaped(payload: str) -> None:
    """If it fails, a symbol of a statement could become an element: sympy's printer does not escape."""
    function = sympy.Function(_file_name(payload))  # Python itself refuses other names of functions
    for symbol in (sympy.Symbol(payload), sympy.MatrixSymbol(payload, 2, 2).T, function(1)):
        page = Page.of(str(mathml(symbol)))
        assert {tag for tag, _ in page.elements} <= MATHEMATICS
        assert all(attributes in ({}, {"display": "block"}) for _, attributes in page.elements)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_charts_keep_names_as_words(payload: str) -> None:
    """If it fails, the name of a model could act inside a chart, or break it as a formula."""
    report = Report(models=(model(payload),))
    chart = next(a for tag, a in Page.of(report_html(report)).elements if a.get("class") == "chart")
    assert set(chart) == {"class", "viewbox", "role", "aria-label"}


def test_hostile_svg_loses_everything_that_acts() -> None:
    """If it fails, a chart could run a script, load a picture or lead out of the page."""
    svg = """<svg viewBox="0 0 9 9" onload="alert(1)" xmlns="http://www.w3.org/2000/svg"
      xmlns:xlink="http://www.w3.org/1999/xlink">
      <script>alert(1)</script><foreignObject><b/></foreignObject><image href="https://example.org/a.png"/>
      <a href="javascript:alert(1)"><text>x</text></a><animate attributeName="href" to="javascript:alert(1)"/>
      <style>@import "https://example.org"</style>
      <use xlink:href="https://example.org/a.svg#a"/><use xlink:href="#inside"/>
      <path d="M0 0" onclick="alert(1)" style="fill: url(https://example.org); stroke: #000000; x: y"/>
      <path d="javascript:" clip-path="url(https://example.org)"/></svg>"""
    page = Page.of(str(themed_svg(svg, "one", '"><script>')))
    assert [tag for tag, _ in page.elements] == ["svg", "use", "use", "path", "path"]
    assert page.elements[1:] == [
        ("use", {}),
        ("use", {"href": "#one-inside"}),
        ("path", {"d": "M0 0", "style": "stroke: currentColor"}),
        ("path", {}),
    ]


def test_markdown_with_payloads_keeps_its_lines(tmp_path: Path) -> None:
    """If it fails, words could start headings, rows, code blocks or elements of the Markdown report."""
    text = report_markdown(everywhere(plain(1), tmp_path / "plain"))
    shape = [line.split(" ")[0] for line in text.split("\n")]
    for number, payload in enumerate(PAYLOADS):
        text = report_markdown(everywhere([payload], tmp_path / str(number)))
        lines = text.split("\n")
        assert len(lines) == len(shape), payload
        for line, start in zip(lines, shape, strict=True):
            if start.startswith("#") or start in ("-", "|", "```"):
                assert line.startswith(start)
        outside_code = re.sub(r"`[^`\n]*`|\\.", "", text)
        assert "<" not in outside_code


def test_chart_of_the_model_is_the_one_of_the_library() -> None:
    """If it fails, the report draws another chart than the library does."""
    counted = model("a name")
    words = re.findall(r">([^<>\n]+)</text>", identified_chart([counted]))
    page = Page.of(report_html(Report(models=(counted,))))
    assert all(word in page.text for word in words)
    assert "a name" in words
