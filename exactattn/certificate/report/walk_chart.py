"""The walk of a recovered Transformer, drawn from its certificate."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from exactattn.numbers import rational, rational_vector
from exactattn.pictures import new_figure, svg_text
from exactattn.recovery.relu.pieces import Piece, meeting

__all__ = ["walk_chart"]

COLOURS = ("#3b6ea5", "#b5523b", "#8a8a8a")


def walk_chart(content: dict[str, Any]) -> str:
    """F along the path of single tokens: pieces, the places where they were seen, and the gaps between them,
    for a certificate that the checker has accepted."""
    figure = new_figure(8, 3.6)
    axes = figure.add_subplot()
    pieces = [
        Piece((rational(piece["line"][0]), rational(piece["line"][1])), rational_vector(piece["abscissae"]))
        for piece in content["pieces"]
    ]
    for before, after in pairwise(pieces):
        axes.axvspan(_number(before.high), _number(after.low), color="#cccccc", alpha=0.4, lw=0)
        kink = meeting(before.line, after.line)
        if kink is not None:
            axes.plot(*_points(before, (before.high, kink)), color=COLOURS[2], lw=0.8)
            axes.plot(*_points(after, (kink, after.low)), color=COLOURS[2], lw=0.8)
    for k, piece in enumerate(pieces):
        colour = COLOURS[k % 2]
        axes.plot(*_points(piece, (piece.low, piece.high)), color=colour, lw=2)
        axes.plot(*_points(piece, piece.points, turn=False), "o", color=colour, markersize=3.5)
    axes.set_xlim(0, 2)
    axes.set_xlabel("place t on the path")
    axes.set_ylabel("F")
    axes.spines[["top", "right"]].set_visible(False)
    return svg_text(figure)


def _points(piece: Piece, places: Any, *, turn: bool = True) -> tuple[list[float], list[float]]:
    """Places and values on a piece's line; between them the one where the path turns."""
    turned = sorted({*places, rational(1)}) if turn and places[0] < 1 < places[-1] else list(places)
    return [_number(t) for t in turned], [_number(piece.at(t)) for t in turned]


def _number(x: Any) -> float:
    return float(Fraction(int(x.p), int(x.q)))
