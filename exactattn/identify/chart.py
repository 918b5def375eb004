"""A bar chart of the identified share of attention parameters over models."""

from __future__ import annotations

from collections.abc import Sequence

from exactattn.exceptions import InputError
from exactattn.identify.model_counts import ModelCount
from exactattn.identify.notation import percent_text
from exactattn.pictures import new_figure, svg_text

__all__ = ["identified_chart"]


def identified_chart(models: Sequence[ModelCount]) -> str:
    """SVG text: one bar a model, the identified share of its attention parameters, largest first.

    Needs the extra ``plot`` (matplotlib). Raises InputError without a model, or without matplotlib. The same
    models give the same text: no date, fixed identifiers.

    >>> from exactattn.identify import count_model, parse_variant
    >>> identified_chart([count_model(parse_variant("mha E=8 H=2"))]).count("75.00 %")
    1
    """
    if not models:
        raise InputError("a chart needs at least one model")
    ordered = sorted(models, key=lambda model: model.ratio)
    names = [f"{model.model.name}" for model in ordered]
    figure = new_figure(8, 0.8 + 0.28 * len(ordered))
    axes = figure.add_subplot()
    rows = range(len(ordered))
    shares = [float(100 * int(model.identified) / int(model.parameters)) for model in ordered]
    axes.barh(rows, shares, color="#3b6ea5", label="identified")
    axes.barh(rows, [100 - share for share in shares], left=shares, color="#d9d9d9", label="unidentified")
    axes.set_yticks(rows, names)
    axes.set_xlim(0, 100)
    axes.set_ylim(-0.6, len(ordered) - 0.4)
    axes.set_xlabel("share of attention parameters, %")
    for row, model in zip(rows, ordered, strict=True):
        axes.text(1, row, percent_text(model.ratio), va="center", color="white", fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper right", ncols=2, frameon=False, fontsize=8)
    return svg_text(figure)
