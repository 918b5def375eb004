"""Statements as presentation MathML.

sympy's printer builds the tree; it is written out here, with known elements only and every name escaped,
because sympy itself writes names of symbols as they are.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from xml.dom.minidom import Element, Node

from markupsafe import Markup, escape
from sympy.core.relational import Relational
from sympy.printing.mathml import MathMLPresentationPrinter

from exactattn.certificate.report.text import clean
from exactattn.ledger.render import statement_text

__all__ = ["mathml", "plain_names"]

_ELEMENT = re.compile(
    r"mrow|mi|mn|mo|msub|msup|msubsup|mfrac|msqrt|mroot|munder|mover|munderover|mtable|mtr|mtd|mtext"
)
_GLYPHS = str.maketrans({"ⅇ": "e", "ⅆ": "d", "ⅈ": "i", "𝕀": "I", "𝟘": "0", "\N{HYPHEN-MINUS}": "−"})
_PLAIN = re.compile(r"[A-Za-z]+(_?[A-Za-z0-9]+)?")
# pieces of a compound name such as (W_OᵀW_O)⁻¹ or ∂L/∂P: a letter with index and power, a word, or a sign
_PIECE = re.compile(
    r"(?P<word>[A-Za-z]{2,}(?![_^'′])|[ᵀ⁻⁰¹²³⁴-⁹]+)|(?P<letter>[^\W\d_])(?P<prime>['′]*)(?:_(?P<low>\d+|[^\W\d_]))?"
    r"(?:\^(?P<high>\d+|[^\W\d_]))?|(?P<number>\d+)|(?P<sign>\S)"
)


def mathml(expression: Any) -> Markup:
    """A relation or expression as blocks of MathML, a relation in two, so that a narrow page can break it
    before its sign; as text where sympy cannot print it.

    >>> import sympy
    >>> print(mathml(sympy.Symbol("x") ** 2))
    <math display="block"><msup><mi>x</mi><mn>2</mn></msup></math>
    """
    try:
        root = _Printer()._print(expression)
        parts = [[root]]
        if isinstance(expression, Relational) and len(root.childNodes) == 3:
            left, sign, right = root.childNodes
            parts = [[left], [sign, right]]
        blocks = ["".join(_written(node) for node in part) for part in parts]
    except Exception:  # whatever a printer stumbles over, the statement is still there as text
        return Markup("<code>{}</code>").format(clean(statement_text(expression)))
    return Markup("\n").join(Markup('<math display="block">{}</math>').format(Markup(x)) for x in blocks)


def plain_names(expression: Any) -> bool:
    """Whether all names are single words with at most one index, which every printer sets well.

    >>> import sympy
    >>> plain_names(sympy.Symbol("W_Q")), plain_names(sympy.Symbol("(W_QW_K)⁻¹"))
    (True, False)
    """
    return all(_PLAIN.fullmatch(str(symbol)) for symbol in getattr(expression, "free_symbols", ()))


class _Printer(MathMLPresentationPrinter):  # type: ignore[misc]
    """sympy's printer, with compound names set piece by piece."""

    def _print_Symbol(self, sym: Any, style: str = "plain") -> Any:
        if _PLAIN.fullmatch(sym.name):
            return super()._print_Symbol(sym, style=style)
        pieces = [self._piece(match) for match in _PIECE.finditer(sym.name)]
        return pieces[0] if len(pieces) == 1 else self._element("mrow", *pieces)

    _print_MatrixSymbol = _print_Symbol

    def _piece(self, match: re.Match[str]) -> Any:
        if match["letter"] is None:
            tag = "mi" if match["word"] else "mn" if match["number"] else "mo"
            return self._element(tag, match[0])
        letter = self._element("mi", match["letter"])
        low, high = match["low"], "′" * len(match["prime"]) + (match["high"] or "")
        marks = [self._element("mn" if text.isdigit() else "mi", text) for text in (low, high) if text]
        if not marks:
            return letter
        tag = "msubsup" if low and high else "msub" if low else "msup"
        return self._element(tag, letter, *marks)

    def _element(self, tag: str, *children: Any) -> Any:
        element = self.dom.createElement(tag)
        for child in children:
            element.appendChild(self.dom.createTextNode(child) if isinstance(child, str) else child)
        return element


def _written(node: Any) -> str:
    """A tree as text. Raises ValueError for an element that is not mathematics."""
    if node.nodeType == Node.TEXT_NODE:
        # sympy puts character references into its text
        return str(escape(clean(unescape(node.data)).translate(_GLYPHS)))
    if not isinstance(node, Element) or not _ELEMENT.fullmatch(node.tagName):
        raise ValueError(f"{node.nodeName} is not an element of mathematics")
    children = list(node.childNodes)
    # an index below a power: both stand beside the same letter
    if node.tagName == "msup" and children[0].nodeName == "msub":
        return f"<msubsup>{''.join(_written(x) for x in (*children[0].childNodes, children[1]))}</msubsup>"
    inner = "".join(_written(child) for child in children)
    return f"<{node.tagName}>{inner}</{node.tagName}>"
