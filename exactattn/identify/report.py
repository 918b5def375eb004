"""Counts of models as data for machines, and as a LaTeX table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from flint import fmpq

from exactattn.identify.counts import Count
from exactattn.identify.model_counts import CountedLayers, ModelCount
from exactattn.numbers import rational_text

__all__ = ["count_data", "count_latex"]


def _numbers(parameters: int, unidentified: int) -> dict[str, Any]:
    identified = parameters - unidentified
    return {
        "parameters": parameters,
        "unidentified": unidentified,
        "identified": identified,
        "ratio": rational_text(fmpq(identified, parameters)),
    }


def _parts(count: Count) -> list[dict[str, Any]]:
    return [
        {
            "name": part.name,
            "parameters": count.number(part.parameters),
            "unidentified": count.number(part.unidentified),
            "unidentified_at_eps_0": count.number(part.unidentified_at_zero),
            "parameters_formula": str(part.parameters),
            "unidentified_formula": str(part.unidentified),
            "unidentified_at_eps_0_formula": str(part.unidentified_at_zero),
            "reason": part.reason,
        }
        for part in count.parts
    ]


def _layers(group: CountedLayers) -> dict[str, Any]:
    count = group.count
    return {
        "name": group.name,
        "repeat": group.repeat,
        **_numbers(count.parameters, count.unidentified),
        "at_eps_0": _numbers(count.parameters, count.unidentified_at_zero),
        "sizes": {str(symbol): value for symbol, value in count.values.items()},
        "parameters_formula": str(count.parameters_formula),
        "unidentified_formula": str(count.unidentified_formula),
        "parts": _parts(count),
    }


def count_data(model: ModelCount) -> dict[str, Any]:
    """A count as JSON data: totals of the model; numbers of one layer in each entry of ``layers``.

    ``unidentified`` and what follows from it are exact for the ε of the config's norms; ``at_eps_0`` holds
    the same with every ε = 0. Ratios are exact, "p/q".

    >>> from exactattn.identify import count_model, parse_variant
    >>> data = count_data(count_model(parse_variant("mha E=768 H=12")))
    >>> data["ratio"], data["layers"][0]["unidentified_formula"]
    ('23/24', '2*D**2*H')
    """
    return {
        "name": model.model.name,
        "family": model.model.family,
        **_numbers(model.parameters, model.unidentified),
        "at_eps_0": _numbers(model.parameters, model.unidentified_at_zero),
        "layers": [_layers(group) for group in model.layers],
    }


def count_latex(models: Sequence[ModelCount]) -> str:
    """A LaTeX tabular of the parts of every layer, with formulas and totals.

    >>> from exactattn.identify import count_model, parse_variant
    >>> print(count_latex([count_model(parse_variant("mha E=8 H=2"))]).splitlines()[4])
    query/key & 128 & 32 & $D^{2} H$ \\\\
    """
    lines = [r"\begin{tabular}{lrrl}", r"part & parameters & unidentified & formula \\ \hline"]
    for model in models:
        lines.append(rf"\multicolumn{{4}}{{l}}{{\textbf{{{_escape(model.model.name)}}}}} \\")
        for group in model.layers:
            lines.append(rf"\multicolumn{{4}}{{l}}{{{_escape(group.name)}, ${group.repeat}\times$}} \\")
            for part in group.count.parts:
                sizes = [group.count.number(formula) for formula in (part.parameters, part.unidentified)]
                formula = sympy.latex(part.unidentified)
                lines.append(rf"{_escape(part.name)} & {sizes[0]} & {sizes[1]} & ${formula}$ \\")
        lines.append(rf"total & {model.parameters} & {model.unidentified} & \\ \hline")
    return "\n".join([*lines, r"\end{tabular}"])


def _escape(text: str) -> str:
    for character in "\\&%$#_{}":
        text = text.replace(character, " " if character == "\\" else f"\\{character}")
    return text.replace("–", "--").replace("…", r"\dots")
