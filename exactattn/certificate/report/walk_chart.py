"""The walk of a recovered Transformer, drawn from its certificate."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from exactattn.numbers import rational
from exactattn.pictures import new_figure, svg_text

__all__ = ["walk_chart"]

COLOURS = ("#3b6ea5", "#b5523b", "#8a8a8a")


def walk_chart(content: dict[str, Any]) -> str:
    """F along the path of single tokens: pieces, the places where they were seen, and the gaps between them,
    for a certificate that the checker has accepted."""
    figure = new_figure(8, 3.6)
    axes = figure.add_subplot()
    pieces = [
        ([_number(x) for x in p["line"]], [_number(t) for t in p["abscissae"]]) for p in content["pieces"]
    ]
    for (_, before), (_, after) in pairwise(pieces):
        axes.axvspan(before[-1], after[0], color="#cccccc", alpha=0.4, lw=0)
    for k, (line, places) in enumerate(pieces):
        colour = COLOURS[k % len(COLOURS)]
        turned = sorted({*places, *([1.0] if places[0] < 1 < places[-1] else [])})
        axes.plot(turned, [_at(line, t) for t in turned], color=colour, lw=2)
        axes.plot(places, [_at(line, t) for t in places], "o", color=colour, markersize=3.5)
    axes.set_xlim(0, 2)
    axes.set_xlabel("place t on the path")
    axes.set_ylabel("F")
    axes.spines[["top", "right"]].set_visible(False)
    return svg_text(figure)


def _at(line: list[float], t: float) -> float:
    return line[0] * (1 - t) + line[1] * min(t, 2 - t)


def _number(text: str) -> float:
    x = rational(text)
    return float(Fraction(int(x.p), int(x.q)))
