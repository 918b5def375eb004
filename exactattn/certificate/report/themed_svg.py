"""Charts of matplotlib for a page: known elements only, colours that follow the page's theme.

A chart may carry names from a file. Its SVG is read as XML and written again with drawing elements and
drawing attributes only, so nothing in it can act, load or lead anywhere.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from markupsafe import Markup, escape

from exactattn.certificate.report.text import clean

__all__ = ["themed_svg"]

_ELEMENTS = frozenset(("g", "path", "defs", "use", "text", "tspan", "clipPath", "rect"))
SMALLEST = 8.0  # letters, in units of a chart's box

_NUMERIC = ("x", "y", "width", "height", "transform", "d", "points")
_NUMBERS = re.compile(r"[-+0-9.,eE\s()A-Za-z]*")
_REFERENCE = re.compile(r"url\(#([\w-]+)\)")
_PROPERTY = re.compile(
    r"(fill|stroke)(-opacity)?|stroke-(width|linecap|linejoin|dasharray|dashoffset)|opacity|text-anchor"
)
# colours of the charts → properties of the page's style
_COLOURS = {
    "#000000": "currentColor",
    "black": "currentColor",
    "#ffffff": "var(--panel)",
    "white": "var(--panel)",
    "#3b6ea5": "var(--blue)",
    "#b5523b": "var(--red)",
    "#8a8a8a": "var(--grey)",
    "#d9d9d9": "var(--bar)",
    "#cccccc": "var(--line)",
    "#808080": "var(--grey)",
}


def themed_svg(svg: str, prefix: str, label: str) -> Markup:
    """The chart as an inline element; ``prefix`` makes its identifiers unique on a page, ``label`` is what
    is read out instead of it.

    >>> svg = '<svg viewBox="0 0 1 1" xmlns="http://www.w3.org/2000/svg"><script>1</script><g id="a"/></svg>'
    >>> print(themed_svg(svg, "one", "a <chart>"))
    <svg class="chart" viewBox="0 0 1 1" role="img" aria-label="a &lt;chart&gt;"><g id="one-a"></g></svg>
    """
    root = ElementTree.fromstring(svg)
    box = root.get("viewBox", "")
    if not _NUMBERS.fullmatch(box):
        raise ValueError("not a box of numbers")
    inner = "".join(_written(child, prefix) for child in root)
    opening = '<svg class="chart" viewBox="{}" role="img" aria-label="{}">'
    return Markup(opening).format(box, clean(label)) + Markup(inner) + Markup("</svg>")


def _written(element: ElementTree.Element, prefix: str) -> str:
    tag = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
    if tag not in _ELEMENTS:
        return ""
    attributes = "".join(
        f' {name}="{escape(value)}"' for name, value in _attributes(element, tag, prefix) if value
    )
    inner = "".join(_written(child, prefix) + _text(child.tail) for child in element)
    return f"<{tag}{attributes}>{_text(element.text)}{inner}</{tag}>"


def _text(text: str | None) -> str:
    return str(escape(clean(text))) if text and text.strip() else ""


def _attributes(element: ElementTree.Element, tag: str, prefix: str) -> list[tuple[str, str]]:
    found = []
    for key, value in element.attrib.items():
        name = key.rpartition("}")[2]
        if name == "id":
            found.append(("id", f"{prefix}-{value}"))
        elif name == "href" and value.startswith("#"):
            found.append(("href", f"#{prefix}-{value[1:]}"))
        elif name == "clip-path" and (match := _REFERENCE.fullmatch(value)):
            found.append(("clip-path", f"url(#{prefix}-{match[1]})"))
        elif name == "style":
            style = _style(value)
            # white grounds would hide what is behind the chart; white words stand on coloured bars
            found.append(
                ("style", style if tag == "text" else style.replace("fill: var(--panel)", "fill: none"))
            )
        elif name in _NUMERIC and _NUMBERS.fullmatch(value):
            found.append((name, value))
    return found


def _style(text: str) -> str:
    """Known properties only; fonts keep their size if it can be read, and the family is the page's."""
    kept = []
    for part in text.split(";"):
        name, _, value = (x.strip() for x in part.partition(":"))
        if name in ("font", "font-size") and (size := re.search(r"([\d.]+)px", value)):
            kept.append(f"font-size: {max(float(size[1]), SMALLEST):g}px")
        elif _PROPERTY.fullmatch(name) and re.fullmatch(r"[-#\w., ]+", value):
            kept.append(f"{name}: {_COLOURS.get(value.lower(), value)}")
    return "; ".join(kept)
