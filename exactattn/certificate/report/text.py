"""Words from claims, certificates and file names, made safe to show in HTML and in Markdown.

Nothing from outside is trusted: characters that no page may hold, or that turn the reading direction, are
replaced, everything is escaped, and the only tags that are added are subscripts and superscripts.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from markupsafe import Markup, escape

__all__ = ["clean", "markdown_code", "markdown_text", "prose"]

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# a reader could be shown other words than those that are there
_DIRECTION = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
_INDEX = re.compile(r"(?<=[^\W\d_])_(\d(?![\d_])|[^\W\d_](?![a-z0-9_]))")
_POWER = re.compile(r"(?<=[\w)\]>])\^(\d(?![\d_])|[^\W\d_](?![a-z0-9_]))")
# signs of Markdown anywhere, what would become a link, and what means something at the begin of a line
_MARKDOWN = re.compile(r"[\\`*_\[\]<>|~$&@]|:(?=//)|(?<=www)\.|^[#+\-=]|(?<=^\d)[.)]")


def clean(value: object) -> str:
    """The text of a value without control characters, halves of surrogate pairs, non-characters and marks of
    reading direction; each is replaced by U+FFFD.

    >>> clean("a\\x00b\\u202ec") == "a\\ufffdb\\ufffdc"
    True
    """
    return "".join(c if _shown(c) else REPLACEMENT for c in str(value))


def _shown(c: str) -> bool:
    if c in "\n\t":
        return True
    if c in _DIRECTION or unicodedata.category(c) in ("Cc", "Cs"):
        return False
    return (ord(c) & 0xFFFE) != 0xFFFE


def prose(value: object) -> Markup:
    """A sentence as HTML: escaped, with one-letter indices and powers lowered and raised.

    >>> prose("W_Q and d^2 <b>")
    Markup('W<sub>Q</sub> and d<sup>2</sup> &lt;b&gt;')
    >>> prose("b_inverse")
    Markup('b_inverse')
    """
    escaped = str(escape(clean(value)))
    lowered = _INDEX.sub(r"<sub>\1</sub>", escaped)
    return Markup(_POWER.sub(r"<sup>\1</sup>", lowered))


def markdown_text(value: object) -> str:
    """A sentence as one line of Markdown in which nothing is markup.

    >>> print(markdown_text("[x](y) <b> W_Q"))
    \\[x\\](y) \\<b\\> W\\_Q
    """
    return _MARKDOWN.sub(r"\\\g<0>", " ".join(clean(value).split()))


def markdown_code(value: Any) -> str:
    """A code span of Markdown, in one line; backticks become apostrophes, bars stay out of tables' way.

    >>> markdown_code("a`b|c")
    "`a'b¦c`"
    """
    text = " ".join(clean(value).split()).replace("`", "'").replace("|", "¦")
    return f"`{text}`" if text else ""
