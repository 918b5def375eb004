"""Figures as SVG text, for every chart of the package; needs the extra ``plot`` (matplotlib)."""

from __future__ import annotations

from io import StringIO
from typing import Any

from exactattn.exceptions import InputError

__all__ = ["new_figure", "svg_text"]


def new_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure of this size in inches. Raises InputError without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("a chart needs matplotlib; pip install 'exactattn[plot]'") from None
    return Figure(figsize=(width, height), layout="constrained")


def svg_text(figure: Any) -> str:
    """The figure as SVG with letters as text; the same figure gives the same text.

    >>> svg_text(new_figure(2, 1)).count("<svg")
    1
    """
    import matplotlib

    text = StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "exactattn", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()
