"""What attention layers cost, counted from the shapes of their matrix products, as exact polynomials.

Sizes may be numbers or sympy symbols: width d, heads h of size d/h, sequence length T. A multiply-add is one
multiplication with one addition; an exponential is one weight of a softmax. Scores of pairs that a causal
mask hides can be left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from flint import fmpq

from exactattn.allocate.schedule import HeadSchedule
from exactattn.exceptions import InputError
from exactattn.identify import AttentionSpec, Pairing, Rotary
from exactattn.identify.counts import Count, count_layer

__all__ = [
    "LayerCost",
    "Product",
    "identified_count",
    "layer_cost",
    "products",
    "schedule_cost",
    "score_pairs",
    "unidentified_share",
]

T = sympy.Symbol("T", integer=True, positive=True)


@dataclass(frozen=True)
class Product:
    """``times`` products whose result has ``entries`` numbers, each a sum of ``terms`` products."""

    name: str
    times: Any
    entries: Any
    terms: Any

    @property
    def multiply_adds(self) -> sympy.Expr:
        """Multiply-adds of all of them."""
        return sympy.sympify(self.times) * self.entries * self.terms


def products(width: Any, heads: Any, length: Any = T, *, causal: bool = False) -> tuple[Product, ...]:
    """The matrix products of one layer: projections, scores and weighted values of each head, output.

    >>> d, h = sympy.symbols("d h", positive=True)
    >>> [sympy.simplify(p.multiply_adds) for p in products(d, h)]
    [3*T*d**2, T**2*d, T**2*d, T*d**2]
    """
    size = sympy.sympify(width) / heads
    pairs = score_pairs(length, causal=causal)
    return (
        Product("query, key and value projections", 3 * heads, length * size, width),
        Product("scores", heads, pairs, size),
        Product("weighted values", heads, pairs, size),
        Product("output projection", 1, length * sympy.sympify(width), heads * size),
    )


def score_pairs(length: Any, *, causal: bool = False) -> sympy.Expr:
    """The number of (query, key) pairs of one head: T², or T(T+1)/2 under a causal mask."""
    number = sympy.sympify(length)
    return number * (number + 1) / 2 if causal else number**2


@dataclass(frozen=True)
class LayerCost:
    """Learned numbers, and per sequence of length T: multiply-adds, exponentials, numbers in the key/value
    cache. Costs of layers add.
    """

    parameters: sympy.Expr
    multiply_adds: sympy.Expr
    exponentials: sympy.Expr
    cache: sympy.Expr

    def __add__(self, other: LayerCost) -> LayerCost:
        return LayerCost(
            self.parameters + other.parameters,
            sympy.expand(self.multiply_adds + other.multiply_adds),
            sympy.expand(self.exponentials + other.exponentials),
            sympy.expand(self.cache + other.cache),
        )


def layer_cost(
    width: Any, heads: Any, length: Any = T, *, bias: bool = False, causal: bool = False
) -> LayerCost:
    """The cost of one plain layer whose head count divides the width.

    >>> cost = layer_cost(768, 12)
    >>> cost.parameters, cost.multiply_adds, cost.exponentials, cost.cache
    (2359296, 1536*T**2 + 2359296*T, 12*T**2, 1536*T)
    """
    size = sympy.sympify(width) / heads
    # four projections, each heads·size rows or columns; biases of the first three, and of the output
    weights = 4 * heads * size * width
    biases = 3 * heads * size + width if bias else 0
    total = sympy.Add(*(p.multiply_adds for p in products(width, heads, length, causal=causal)))
    return LayerCost(
        sympy.expand(weights + biases),
        sympy.expand(total),
        sympy.expand(heads * score_pairs(length, causal=causal)),
        sympy.expand(2 * heads * size * length),
    )


def schedule_cost(schedule: HeadSchedule, *, bias: bool = False, causal: bool = False) -> LayerCost:
    """The cost of all layers. Raises InputError if a head count does not divide the width."""
    _require_divisible(schedule)
    total = LayerCost(*(sympy.S.Zero,) * 4)
    for heads in schedule.heads:
        total += layer_cost(schedule.width, heads, bias=bias, causal=causal)
    return total


def identified_count(width: int, heads: int, *, rotary: bool = False, bias: bool = False) -> Count:
    """Identified parameters of one layer (theory, section 8), with all of each head rotated if ``rotary``.

    >>> identified_count(768, 12).ratio
    23/24

    Raises InputError for rotated heads of odd size.
    """
    names = ("query_bias", "key_bias", "value_bias", "output_bias")
    features: dict[str, Any] = dict.fromkeys(names, bias)
    if rotary:
        features["rotary"] = Rotary(size=width // heads, pairing=Pairing.HALF_SPLIT)
    return count_layer(AttentionSpec.of(width, heads, **features))


def unidentified_share(schedule: HeadSchedule, *, rotary: bool = False, bias: bool = False) -> fmpq:
    """Unidentified parameters of all layers over all parameters. Raises InputError as its parts do.

    >>> unidentified_share(HeadSchedule.parse("12x12", width=768))
    1/24
    """
    _require_divisible(schedule)
    counts = [identified_count(schedule.width, heads, rotary=rotary, bias=bias) for heads in schedule.heads]
    return fmpq(sum(c.unidentified for c in counts), sum(c.parameters for c in counts))


def _require_divisible(schedule: HeadSchedule) -> None:
    unfit: Sequence[int] = [h for h in schedule.heads if schedule.width % h]
    if unfit:
        raise InputError(
            f"{unfit[0]} heads do not divide the width {schedule.width}; costs need whole head sizes",
            field="schedule",
        )
