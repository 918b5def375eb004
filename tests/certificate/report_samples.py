"""Reports made of a few claims and certificates, and what a page consists of."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from certificate_samples import SAMPLES

from exactattn.certificate import digest
from exactattn.ledger import Claim, Counterexample, Decided, Outcome, Paper, Step, Verdict

# every way a word could try to become markup, an attribute, a style, a script or a formula
PAYLOADS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)' x='",
    '" autofocus onfocus="alert(1)',
    "</style><script>alert(1)</script>",
    "</title></svg></math><svg onload=alert(1)>",
    "<svg><a xlink:href='javascript:alert(1)'><text>x</text></a></svg>",
    "<math><mtext></mtext><annotation-xml encoding='text/html'><img src=x onerror=alert(1)></math>",
    "javascript:alert(1)",
    "[x](javascript:alert(1)) ![x](https://example.org/x.png) <https://example.org>",
    "{{ 7 * 7 }} {% include 'page.html' %} ${7*7}",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#x3c;b>",
    "<!-- --><![CDATA[ ]]><?xml ?>",
    "a\x00b\x1b[31m\u202ecod.exe\ud800\ufffe",
    "`code` | cell ``` fence\n# heading\n- item",
    "W_<b>Q</b> x^<i>2</i> $\\frac{1}{$",
)
VOID = {"meta", "link", "input"}


@dataclass
class Page(HTMLParser):
    """Elements with their attributes in order, the text of the page, and its skeleton: elements and names of
    attributes, as far as words must not change them."""

    elements: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    skeleton: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    @classmethod
    def of(cls, text: str) -> Page:
        page = cls()
        page.feed(text)
        page.close()
        assert not page.open, f"not closed: {page.open}"
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append("chart" if ("class", "chart") in attrs else tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        # indices, powers and the marks of a chart depend on words
        if tag not in ("sub", "sup") and "chart" not in self.open:
            self.skeleton.append((tag, tuple(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"{tag} was not open"
        last = self.open.pop()
        assert last == tag or (last, tag) == ("chart", "svg")

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


def claim(**changes: Any) -> Claim:
    fields: dict[str, Any] = {
        "id": "Q-1",
        "paper": Paper.QUERIES,
        "place": "Section 1",
        "says": "A sentence.",
        "establish": lambda: None,
        "expected": Verdict.PROVED,
        "hypotheses": ["a hypothesis"],
        "does_not_establish": ["anything else"],
    }
    return Claim(**{**fields, **changes})


def decided(verdict: Verdict = Verdict.PROVED, word: str = "word", **changes: Any) -> Decided:
    """A decision in which every text is ``word``."""
    if verdict is Verdict.REFUTED:
        changes = {"corrected": word, **changes}
    texts = {"place": word, "says": word, "hypotheses": [word], "does_not_establish": [word]}
    base = claim(expected=verdict, **{**texts, **changes})
    counterexample = Counterexample(word, {word: word}, word) if verdict is Verdict.REFUTED else None
    outcome = Outcome(verdict, word, (Step(word, True, word, word),), (word,), counterexample)
    return Decided(base, outcome, 0.25)


@cache
def _certificate() -> dict[str, Any]:
    return SAMPLES["two-heads"].certificate()


def certificate(**changes: Any) -> dict[str, Any]:
    """A valid recovery certificate with some fields changed and the digest made anew."""
    content = {**_certificate(), **changes}
    return {**content, "digest": digest(content)}


def written(content: Any, path: Path) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
