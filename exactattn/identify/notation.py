"""Formulas, numbers and ratios as people read them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import sympy
from flint import fmpq

from exactattn.identify.counts import Count
from exactattn.identify.symbols import LEGEND

__all__ = ["formula_text", "grouped", "legend_lines", "percent_text", "sizes_text"]

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def formula_text(formula: sympy.Expr) -> str:
    """A formula on one line.

    >>> D, H, R = sympy.symbols("D H R")
    >>> formula_text(H * (R + (D - R) ** 2) + 2 * H * D)
    '2·D·H + H·(R + (D - R)²)'
    """
    powers = re.sub(r"\*\*(\d+)", lambda match: match[1].translate(_RAISED), str(formula))
    return powers.replace("*", "·")


def grouped(number: int) -> str:
    """An integer with its digits in groups of three.

    >>> grouped(2362368)
    '2 362 368'
    """
    return f"{number:,}".replace(",", " ")


def percent_text(ratio: fmpq) -> str:
    """A ratio from 0 to 1 in percent, rounded to two decimals for display, or to as many as tell it from 0
    and from 1.

    >>> percent_text(fmpq(11, 12)), percent_text(fmpq(20479, 20480)), percent_text(fmpq(1))
    ('91.67 %', '99.995 %', '100.00 %')
    """
    decimals = 2
    while True:
        unit = 10**decimals
        rounded = int((ratio * 100 * unit + fmpq(1, 2)).floor())
        if 0 < rounded < 100 * unit or ratio in (0, 1):
            return f"{rounded // unit}.{rounded % unit:0{decimals}d} %"
        decimals += 1


def sizes_text(count: Count) -> str:
    """The numbers of the letters of one layer.

    >>> from exactattn.identify import AttentionSpec, count_layer
    >>> sizes_text(count_layer(AttentionSpec.of(768, 12)))
    'E = 768, H = 12, D = 64'
    """
    return ", ".join(f"{symbol} = {value}" for symbol, value in count.values.items())


def legend_lines(counts: Iterable[Count]) -> list[str]:
    """What each letter in use means."""
    used = {str(symbol) for count in counts for symbol in count.values}
    return [f"{letter}  {meaning}" for letter, meaning in LEGEND.items() if letter in used]
