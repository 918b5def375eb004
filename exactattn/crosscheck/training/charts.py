"""Charts of training figures, as SVG; shaded bands are one standard deviation over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from exactattn.pictures import new_figure, svg_text

__all__ = ["SHOWN", "draw_experiment", "experiment_chart"]

COLOURS = ("#3b6ea5", "#7fb3d5", "#b5523b", "#e0a458", "#8a8a8a")
STYLES = ("-", "--", "-.", ":", "-")

SHOWN = {
    "optimisers": ("held_out", "beta", "rho", "key_bias_gradient"),
    "rates": ("held_out", "drift"),
    "schedules": ("held_out", "rho"),
}
"""The curves shown of each experiment."""

TITLES = {
    "held_out": "loss on held-out text, nats",
    "beta": "β, mean of heads",
    "tau": "τ, mean of heads",
    "mu": "μ, mean of heads",
    "rho": "ρ, mean of heads",
    "drift": "drift of the balance, mean of heads",
    "key_bias_gradient": "largest gradient by a bias",
}
LOGARITHMIC = ("rho", "drift", "key_bias_gradient")
LEAST = 1e-35


def experiment_chart(experiment: Mapping[str, Any]) -> str:
    """The chart of one experiment of :func:`~exactattn.crosscheck.training.figures.figures`."""
    figure = new_figure(8, 3.1 * ((len(_shown(experiment)) + 1) // 2))
    draw_experiment(figure, experiment)
    return svg_text(figure)


def _shown(experiment: Mapping[str, Any]) -> tuple[str, ...]:
    return SHOWN.get(experiment["name"], ("held_out",))


def draw_experiment(figure: Any, experiment: Mapping[str, Any]) -> None:
    """Draws it on a matplotlib figure."""
    shown = _shown(experiment)
    places = figure.subplots((len(shown) + 1) // 2, 2, squeeze=False).reshape(-1)
    for axes, name in zip(places, shown, strict=True):
        for number, run in enumerate(experiment["runs"]):
            _draw(axes, name, run, number)
        axes.set_title(TITLES[name], fontsize=9, loc="left")
        axes.set_xlabel("step", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        if name in LOGARITHMIC:
            axes.set_yscale("log")
        if name == "rho":
            shares = {run["chance_share"] for run in experiment["runs"]}
            if len(shares) == 1:
                share = shares.pop()
                axes.axhline(share, color="#999999", lw=0.8, ls=":")
                axes.text(0, share, " 1/(2H)", fontsize=7, va="bottom", color="#666666")
    handles, labels = places[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=8)


def _draw(axes: Any, name: str, run: Mapping[str, Any], number: int) -> None:
    style: dict[str, Any] = {"color": COLOURS[number % len(COLOURS)], "lw": 1.3}
    steps = run["steps"]
    means, lower, upper = _band(run["curves"][name])
    axes.plot(steps, means, STYLES[number % len(STYLES)], label=run["label"], **style)
    axes.fill_between(steps, lower, upper, color=style["color"], alpha=0.18, lw=0)
    if name == "key_bias_gradient":  # beside it the same for the queries, which do matter
        means, _, _ = _band(run["curves"]["query_bias_gradient"])
        axes.plot(steps, means, STYLES[number % len(STYLES)], alpha=0.45, **style)
        if number == 0:
            axes.text(steps[-1], means[-1], "query biases", fontsize=7, ha="right", va="bottom")
            low = run["curves"][name]["mean"][-1]
            axes.text(steps[-1], low, "key biases", fontsize=7, ha="right", va="bottom")


def _band(curve: Mapping[str, Sequence[float]]) -> tuple[list[float], list[float], list[float]]:
    """Mean and band, kept above a least positive number for logarithmic axes."""
    means = [max(x, LEAST) for x in curve["mean"]]
    lower = [max(x - s, x / 10, LEAST) for x, s in zip(curve["mean"], curve["spread"], strict=True)]
    upper = [max(x + s, LEAST) for x, s in zip(curve["mean"], curve["spread"], strict=True)]
    return means, lower, upper
