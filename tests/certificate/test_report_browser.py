"""The page in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from report_samples import PAYLOADS, certificate, decided, written

from exactattn.certificate.report import Report, report_html
from exactattn.ledger import Decided, Verdict, decide, load_claims, select

pytest.importorskip("tornado", reason="needs tornado, which ipykernel brings")

from report_browser import CHROMIUM, Tab, visit

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; on Debian: apt-get install chromium"),
]

IDS = ["I-4.1", "I-4.3", "I-4.5-six-heads", "I-4.7.1", "I-4.7.1-sinks", "Q-2", "Q-2-runs"]
SHOWN = "[...document.querySelectorAll('{}')].filter(e => e.offsetParent || e.getClientRects().length).length"


@pytest.fixture(scope="module")
def claims() -> list[Decided]:
    open_question = decided(Verdict.UNKNOWN, "nobody knows yet", id="Q-99")
    return [*decide(select(load_claims(), IDS)), open_question]


@pytest.fixture
def page(claims: list[Decided], tmp_path: Path) -> Path:
    files = [written(certificate(), tmp_path / "proof.json"), tmp_path / "missing.json"]
    html = tmp_path / "report.html"
    html.write_text(report_html(Report.of(claims, files)), encoding="utf-8")
    return html


def test_it_is_silent_fits_and_filters_without_scripts(page: Path) -> None:
    """If it fails, the page asks for something, complains, is wider than a phone, has no dark theme, or its
    filters show the wrong claims."""
    seen: dict[str, object] = {}

    async def look(tab: Tab) -> None:
        for width, theme in ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")):
            await tab.screen(width, 900, theme)
            assert await tab.value("document.documentElement.scrollWidth") == width
            seen[f"{width} {theme}"] = await tab.value("getComputedStyle(document.body).backgroundColor")
            sizes = "[...document.querySelectorAll('math')].map(e => e.getBoundingClientRect().height)"
            assert min(await tab.value(sizes)) > 10
            widths = "[...document.querySelectorAll('.chart')].map(e => e.getBoundingClientRect().width)"
            assert min(await tab.value(widths)) > 300
        assert await tab.value(SHOWN.format("article.claim")) == len(IDS) + 1
        for verdict, count in (("refuted", 2), ("unknown", 1), ("proved", 4)):
            await tab.value(f"document.getElementById('show-{verdict}').click()")
            assert await tab.value(SHOWN.format("article.claim")) == count
            assert await tab.value(SHOWN.format("tr[data-verdict]")) == count
            assert await tab.value(SHOWN.format(".nothing")) == 0
        await tab.value("document.getElementById('show-paper-Q').click()")
        assert await tab.value(SHOWN.format("article.claim")) == 1
        await tab.value("document.getElementById('show-refuted').click()")
        assert await tab.value(SHOWN.format("article.claim")) == 0
        assert await tab.value(SHOWN.format(".nothing")) == 1
        await tab.value("location.hash = '#claim-I-4.1'")
        assert await tab.value(SHOWN.format("article.claim")) == 1, "a link leads to a hidden claim"
        await tab.value("document.getElementById('show-all').click()")
        await tab.value("document.getElementById('show-paper-all').click()")
        await tab.screen(800, 900, "light", "print")
        hidden = "[...document.querySelectorAll('.steps li')].filter(e => !e.getClientRects().length).length"
        assert await tab.value(hidden) == 0, "steps are missing in print"

    tab = visit(page, look)
    assert tab.requests == []
    assert tab.complaints == []
    assert seen["1280 light"] == seen["390 light"] != seen["1280 dark"] == seen["390 dark"]


def test_no_payload_runs_even_without_the_policy(tmp_path: Path) -> None:
    """If it fails, words of a claim, a certificate or a file name run in a reader's browser. The page's
    security policy is taken away, so that escaping alone must do."""
    claims = [
        decided(Verdict.REFUTED if number % 2 else Verdict.PROVED, payload, id=f"Q-{number}")
        for number, payload in enumerate(PAYLOADS)
    ]
    made_by = {payload[:90]: payload[:90] for payload in PAYLOADS}
    files = [
        written(certificate(made_by=made_by), tmp_path / "<img src=x onerror=alert(1)>.json"),
        written(certificate(field='"><svg onload=alert(1)>'), tmp_path / "a' onload='alert(1).json"),
    ]
    facts = [(payload, payload) for payload in PAYLOADS]
    html = report_html(Report.of(claims, files, facts=facts))
    bare, removed = re.subn(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
    assert removed == 1
    page = tmp_path / "report.html"
    page.write_text(bare, encoding="utf-8")

    async def look(tab: Tab) -> None:
        assert await tab.value("document.scripts.length + document.images.length") == 0
        # every handler and link a payload may hope for
        for elements, event in (("*", "Event('mouseover')"), ("a", "MouseEvent('click')")):
            dispatch = f"forEach(e => e.dispatchEvent(new {event}))"
            await tab.value(f"document.querySelectorAll('{elements}').{dispatch}")
        assert (await tab.value("location.href")).startswith(page.as_uri())

    tab = visit(page, look)
    assert tab.requests == []
    assert tab.complaints == []


def test_the_look_finds_what_it_looks_for(tmp_path: Path) -> None:
    """If it fails, the two tests above would pass whatever a page does."""
    page = tmp_path / "bad.html"
    page.write_text("<img src=none.png><script>console.error(1); missing()</script>", encoding="utf-8")

    async def look(tab: Tab) -> None:
        await tab.value("1")

    tab = visit(page, look)
    assert [address.rpartition("/")[2] for address in tab.requests] == ["none.png"]
    assert {"Runtime.consoleAPICalled", "Runtime.exceptionThrown"} <= {e["method"] for e in tab.complaints}
