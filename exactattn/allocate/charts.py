"""Pictures as SVG text: the budget line, a schedule against the uniform layout, spectra and ranks of heads.

They need the extra ``plot`` (matplotlib). The same numbers give the same text.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from exactattn.allocate.allocation import LayerAllocation
from exactattn.allocate.budget import BudgetPoint, pareto_front
from exactattn.allocate.costs import identified_count, layer_cost
from exactattn.allocate.schedule import HeadSchedule
from exactattn.pictures import new_figure, svg_text

__all__ = ["allocation_chart", "budget_chart", "schedule_chart"]

BLUE, RED, GREY = "#3b6ea5", "#b5523b", "#8a8a8a"
COLUMNS = 4


def _float(q: fmpq) -> float:
    return int(q.p) / int(q.q)


def budget_chart(points: Sequence[BudgetPoint]) -> str:
    """Identified query/key parameters against the rank of one head, each split labelled by its head count.

    >>> from exactattn.allocate import budget_line
    >>> budget_chart(budget_line(8, 8)).count("<svg")
    1
    """
    figure = new_figure(7, 4)
    axes = figure.add_subplot()
    front = pareto_front(points)
    rest = [p for p in points if p not in front]
    axes.plot([p.rank for p in front], [p.identified for p in front], "o-", color=BLUE, label="Pareto front")
    if rest:
        axes.plot(
            [p.rank for p in rest], [p.identified for p in rest], "x", color=GREY, label="dominated splits"
        )
    for p in points:
        label = f"{p.heads} × {p.head_size}"
        axes.annotate(
            label, (p.rank, p.identified), (0, 5), textcoords="offset points", fontsize=6, rotation=60
        )
    axes.margins(x=0.08, y=0.2)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("highest rank of the scores of one head")
    axes.set_ylabel("identified query/key parameters")
    axes.set_title(
        f"heads × head size, budget {points[0].heads * points[0].head_size}, width {points[0].width}"
    )
    axes.legend(frameon=False, loc="lower left")
    return svg_text(figure)


def schedule_chart(schedule: HeadSchedule) -> str:
    """Head counts, exponentials and unidentified shares over layers, schedule against uniform.

    >>> schedule_chart(HeadSchedule.parse("2,4,4", width=8)).count("<svg")
    1
    """
    figure = new_figure(8, 6)
    panels = figure.subplots(3, 1, sharex=True)
    layers = range(schedule.layers)
    for other, colour, label in ((schedule.uniform(), GREY, "uniform"), (schedule, BLUE, "schedule")):
        shares = [
            100 * _float(1 - identified_count(other.width, heads).ratio)
            if other.width % heads == 0
            else float("nan")
            for heads in other.heads
        ]
        exponentials = [int(layer_cost(other.width, heads, 1).exponentials) for heads in other.heads]
        for axes, numbers in zip(panels, (other.heads, exponentials, shares), strict=True):
            axes.step(layers, numbers, where="mid", color=colour, label=label, marker="o", markersize=3)
    for axes, name in zip(panels, ("heads", "exponentials / T²", "unidentified, %"), strict=True):
        axes.set_ylabel(name)
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
    panels[-1].set_xlabel("layer")
    panels[0].set_title(f"{schedule.name or schedule.text}, width {schedule.width}")
    panels[0].legend(frameon=False, loc="lower right")
    return svg_text(figure)


def allocation_chart(layers: Sequence[LayerAllocation]) -> str:
    """Above, singular values of each head of each layer; below, the certified rank of each head over
    layers."""
    rows = -(-len(layers) // COLUMNS)
    figure = new_figure(9, 2.2 * rows + 2.4)
    above, below = figure.subfigures(2, 1, height_ratios=[2.2 * rows, 2.4])
    panels = above.subplots(rows, min(COLUMNS, len(layers)), sharex=True, sharey=True, squeeze=False)
    for axes in panels.flat:
        axes.set_visible(False)
    for axes, layer in zip(panels.flat, layers, strict=False):
        axes.set_visible(True)
        for head in layer.heads:
            values = [float(x.upper()) for x in head.bounds.spectrum.values]
            axes.semilogy(range(1, len(values) + 1), values, color=BLUE, lw=0.7, alpha=0.7)
        axes.set_title(f"layer {layer.index}", fontsize=8)
        axes.tick_params(labelsize=7)
    above.supxlabel("number of the singular value", fontsize=8)
    above.supylabel("singular value", fontsize=8)
    axes = below.subplots()
    for layer in layers:
        ranks = [head.rank for head in layer.heads]
        axes.plot([layer.index] * len(ranks), ranks, "o", color=BLUE, alpha=0.5, markersize=4)
    sizes = [layer.heads[0].bounds.weights.size for layer in layers]
    axes.step([x.index for x in layers], sizes, where="mid", color=RED, lw=1, label="head size")
    axes.set_ylim(-0.5, 1.08 * max(sizes))
    axes.set_xticks([layer.index for layer in layers])
    axes.set_xlabel("layer")
    axes.set_ylabel("certified rank of a head")
    axes.legend(frameon=False, fontsize=8)
    return svg_text(figure)
