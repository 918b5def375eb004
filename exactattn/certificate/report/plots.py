"""The charts of a report, each with a caption: of the papers whose claims are shown, and of certificates."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from markupsafe import Markup

from exactattn.allocate import (
    PUBLISHED,
    allocation_chart,
    budget_chart,
    budget_line,
    identified_count,
    schedule_chart,
)
from exactattn.certificate.report.allocation_file import AllocationFile
from exactattn.certificate.report.certificates import CheckedFile
from exactattn.certificate.report.text import clean
from exactattn.certificate.report.themed_svg import themed_svg
from exactattn.certificate.report.training_file import TrainingFile
from exactattn.certificate.report.walk_chart import walk_chart
from exactattn.crosscheck.training.charts import experiment_chart
from exactattn.identify import ModelCount, identified_chart
from exactattn.ledger import Paper
from exactattn.numbers import Vector, dot, rational, rational_vector, to_matrix
from exactattn.pictures import new_figure, svg_text

__all__ = ["Plot", "allocation_plots", "certificate_plots", "model_plots", "paper_plots", "training_plots"]

WIDTH = 768
HEAD_COUNTS = tuple(h for h in range(1, 97) if WIDTH % (2 * h) == 0)
SHOWN_HEADS, SHOWN_PROBES = 12, 64
LONGEST_NAME = 40
COLOURS = ("#3b6ea5", "#b5523b", "#8a8a8a")
MARKERS = "osD^vP"


@dataclass(frozen=True)
class Plot:
    """An inline chart and its caption."""

    svg: Markup
    caption: str


def paper_plots(papers: Sequence[Paper]) -> list[Plot]:
    """The charts that belong to these papers."""
    found = []
    if Paper.IDENTIFICATION in papers:
        caption = (
            f"Identified share of the attention parameters of one plain layer of width {WIDTH}, in percent, "
            "over the number of heads H: 1 − 1/(2H) without rotations, more with them."
        )
        found.append(_plot("share", "identified share over the number of heads", caption, _share_chart))
    if Paper.ALLOCATION in papers:
        caption = (
            f"Budget front: all splits of H · d = {WIDTH} in a layer of width {WIDTH}. More heads leave more "
            "query/key parameters identified and give each head a lower rank."
        )
        chart = lambda: budget_chart(budget_line(WIDTH, WIDTH))  # noqa: E731
        found.append(_plot("budget", "identified parameters against rank", caption, chart))
    if Paper.SCHEDULES in papers:
        for name, schedule in PUBLISHED.items():
            caption = (
                f"Schedule {name} against the uniform layout: heads, exponentials of a sequence of T tokens "
                "in units of T², and the unidentified share in percent, layer by layer."
            )

            def draw(schedule: Any = schedule) -> str:
                return schedule_chart(schedule)

            found.append(_plot(name, f"schedule {name}", caption, draw))
    return found


def certificate_plots(files: Sequence[CheckedFile]) -> dict[int, Plot]:
    """For the recoveries among the files, by their number from 1: where the poles lie, or the walk."""
    found = {}
    for number, file in enumerate(files, 1):
        if file.valid and file.kind == "transformer":
            caption = (
                "F at single tokens b0 → c → −b0 (t = 1 at c, where the path turns): the verified pieces, "
                "the places where each was seen, and between them strips with the kink of one neuron each."
            )

            def draw_walk(content: dict[str, Any] = file.content) -> str:
                return walk_chart(content)

            found[number] = _plot(f"walk-{number}", "walk of the recovery", caption, draw_walk)
        if file.valid and file.kind == "recovery" and file.content["heads"]:
            heads = len(file.content["heads"])
            probes = len(file.content["b_inverse"]) * file.content["dim"]
            caption = (
                "Poles −r_h of the recovery in the base probes (b_i, u_j): the exponent log₂ r_h of each "
                "head. In every probe they are pairwise distinct."
            )
            if file.content["method"] != "published":
                caption = (
                    "The exponent log₂ r_h of each head for last tokens b_i and directions u_j: poles are "
                    "sums of two such powers of 2."
                )
            if heads > SHOWN_HEADS or probes > SHOWN_PROBES:
                caption += (
                    f" Shown are {min(heads, SHOWN_HEADS)} of {heads} heads in "
                    f"{min(probes, SHOWN_PROBES)} of {probes} probes."
                )

            def draw(content: dict[str, Any] = file.content) -> str:
                return _poles_chart(content)

            found[number] = _plot(f"poles-{number}", "poles of the recovery", caption, draw)
    return found


def model_plots(models: Sequence[ModelCount]) -> list[Plot]:
    """Identified shares of the reader's own models."""
    if not models:
        return []
    caption = "Identified share of the attention parameters of each model, in percent."

    def draw() -> str:
        import matplotlib

        with matplotlib.rc_context({"text.parse_math": False}):  # a dollar in a model's name is a dollar
            return identified_chart([_short_named(model) for model in models])

    return [_plot("models", "identified shares of models", caption, draw)]


def _short_named(counted: ModelCount) -> ModelCount:
    """The count with a name that fits beside a chart, without letters that no font or XML text can hold."""
    name = clean(counted.model.name)
    short = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
    return replace(counted, model=replace(counted.model, name=short))


def allocation_plots(files: Sequence[AllocationFile]) -> list[Plot]:
    """Spectra of the heads and their certified ranks, for each file."""
    found = []
    for number, file in enumerate(files):
        caption = (
            f"{file.name}: above, the singular values of the heads of each layer (score per unit of token "
            "norm on either side), largest first; below, the certified rank of each head at tolerance "
            f"{file.tolerance}."
        )

        def draw(layers: Any = file.layers) -> str:
            return allocation_chart(layers)

        found.append(_plot(f"spectra-{number}", "spectra and ranks of heads", caption, draw))
    return found


def training_plots(files: Sequence[TrainingFile]) -> list[Plot]:
    """The curves of each experiment of each file."""
    found = []
    for number, file in enumerate(files):
        for place, experiment in enumerate(file.experiments):
            caption = (
                f"{file.name}: {experiment['title']}; means over {len(experiment['seeds'])} seeds, bands of "
                "one standard deviation. Floating point: a cross-check, not a verdict."
            )

            def draw(experiment: Any = experiment) -> str:
                return experiment_chart(experiment)

            found.append(_plot(f"training-{number}-{place}", "curves of training runs", caption, draw))
    return found


def _plot(prefix: str, label: str, caption: str, chart: Callable[[], str]) -> Plot:
    with _as_written():
        return Plot(themed_svg(chart(), f"plot-{prefix}", label), caption)


@contextmanager
def _as_written() -> Iterator[None]:
    """Charts without complaints about letters that the layout font lacks: the browser has its own font."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        yield


def _share_chart() -> str:
    figure = new_figure(7, 4)
    axes = figure.add_subplot()
    for rotary, marker, label in ((False, "o", "plain"), (True, "s", "all of each head rotated (RoPE)")):
        shares = [
            100 * float(_fraction(identified_count(WIDTH, h, rotary=rotary).ratio)) for h in HEAD_COUNTS
        ]
        axes.plot(
            HEAD_COUNTS, shares, marker=marker, color=COLOURS[rotary], markersize=4, lw=1.2, label=label
        )
    axes.set_xscale("log", base=2)
    ticks = [h for h in HEAD_COUNTS if h & (h - 1) == 0]
    axes.set_xticks(ticks, [str(h) for h in ticks])
    axes.minorticks_off()
    axes.set_xlabel("number of heads H")
    axes.set_ylabel("identified attention parameters, %")
    axes.set_ylim(45, 102)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    return svg_text(figure)


def _fraction(x: Any) -> Fraction:
    return Fraction(int(x.p), int(x.q))


def _inverse(rows: Sequence[Sequence[str]]) -> list[Vector]:
    inverse = to_matrix([rational_vector(row) for row in rows]).inv()
    return [tuple(row) for row in inverse.tolist()]


def _poles_chart(content: dict[str, Any]) -> str:
    """Exponents D·bᵀW_h u of a recovery certificate that the checker has accepted."""
    b, u = (_inverse(content[f"{name}_inverse"]) for name in ("b", "u"))
    probes = [(i, j) for i in range(len(b)) for j in range(len(u))][:SHOWN_PROBES]
    scale = rational(content["denominator"])
    figure = new_figure(8, 3.6)
    axes = figure.add_subplot()
    for number, head in enumerate(content["heads"][:SHOWN_HEADS]):
        columns = list(zip(*map(rational_vector, head["W"]), strict=True))
        rows = [tuple(dot(x, column) for column in columns) for x in b]
        exponents = [float(_fraction(scale * dot(rows[i], u[j]))) for i, j in probes]
        axes.plot(
            range(len(probes)),
            exponents,
            MARKERS[number % len(MARKERS)],
            color=COLOURS[number % len(COLOURS)],
            markersize=5,
            label=f"head {number + 1}",
        )
    axes.set_xticks(range(len(probes)), [f"{i + 1},{j + 1}" for i, j in probes])
    if len(probes) > 16:
        axes.tick_params(axis="x", rotation=90, labelsize=6)
    axes.set_xlabel("base probe i,j")
    axes.set_ylabel("log₂ r_h (pole at −r_h)")
    axes.axhline(0, color="#cccccc", lw=0.8, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return svg_text(figure)
