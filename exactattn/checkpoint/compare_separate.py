"""An input at which two layers certainly differ: found with floats, proved with balls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq, fmpz

from exactattn.checkpoint.compare_forms import Form, LayerForms, joined, turned
from exactattn.checkpoint.compare_match import Floats, float_of, floats
from exactattn.checkpoint.compare_restrict import restricted
from exactattn.checkpoint.dyadic import power_of_two
from exactattn.identify.array_numbers import FloatArrays
from exactattn.identify.features import NormKind
from exactattn.identify.layer import Constants
from exactattn.identify.layer_values import ball_outputs, last_outputs, real_constants
from exactattn.identify.parameters import Array
from exactattn.identify.spec import AttentionSpec
from exactattn.numbers import rational_text

__all__ = ["SeparatingInput", "separating_input"]

Layer = tuple[AttentionSpec, Mapping[str, Array]]
COLUMNS, TRIES, MOST_BITS = 6, 24, 1024


@dataclass(frozen=True)
class SeparatingInput:
    """A sequence of tokens (one dict of column and number each, 0 elsewhere) at whose last token coordinate
    ``coordinate`` of the two outputs differs: they lie in the disjoint balls ``first`` and ``second``.

    ``normed``: the tokens are what the norm before the layer makes, before its scale. ``source``: in
    cross-attention the last token asks, and the others are the other sequence.
    """

    tokens: tuple[dict[int, fmpq], ...]
    coordinate: int
    first: arb
    second: arb
    normed: bool = False
    source: bool = False

    def data(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "tokens": [{str(j): rational_text(x) for j, x in token.items()} for token in self.tokens],
            "behind_the_norm_before_the_layer": self.normed,
            "last_token_asks_the_others": self.source,
            "coordinate": self.coordinate,
            "outputs": [self.first.str(20), self.second.str(20)],
        }


def separating_input(
    first: Layer,
    second: Layer,
    forms: tuple[LayerForms, LayerForms] | None = None,
    pairs: Sequence[tuple[int, int]] = (),
) -> SeparatingInput | None:
    """An input that separates two layers, or None if the search finds none.

    Tokens have few entries other than 0, at columns where the forms of paired heads differ most.
    """
    specs = first[0], second[0]
    norm = specs[0].norm_before
    if any(_factor_unknown(spec) for spec in specs):
        return None
    if (norm is None) != (specs[1].norm_before is None) or (norm is not None and norm.eps == 0):
        return None
    columns = _columns(specs[0].key_width, forms, pairs)
    best: tuple[float, Array, int] | None = None
    small = [restricted(spec, parameters, columns, exact=False) for spec, parameters in (first, second)]
    for tokens in _candidates(specs[0], len(columns), _longest(specs)):
        values = [_float_output(spec, arrays, tokens) for spec, arrays in zip(specs, small, strict=True)]
        gaps = np.abs(values[0] - values[1])
        gaps = np.where(np.isfinite(gaps), gaps, 0)
        # what is large next to the outputs is easiest to read
        gap = float((gaps / (1 + np.abs(values[0]))).max())
        if best is None or gap > best[0]:
            best = gap, tokens, int(gaps.argmax())
    return None if best is None else _certified(first, second, columns, best[1], best[2])


def _certified(
    first: Layer, second: Layer, columns: list[int], tokens: Array, row: int
) -> SeparatingInput | None:
    """The input with proof, if balls around the two outputs become disjoint."""
    exact = [[fmpq(*map(int, float(x).as_integer_ratio())) for x in token] for token in tokens]
    spec = first[0]
    layers = [(each, restricted(each, parameters, columns, [row])) for each, parameters in (first, second)]
    bits = 128
    while bits <= MOST_BITS:
        with ctx.workprec(bits):
            (a,), (b,) = (ball_outputs(each, arrays, exact, cross=spec.cross) for each, arrays in layers)
            if not a.overlaps(b):
                named = tuple(
                    {j: x for j, x in zip(columns, token, strict=True) if x != 0} for token in exact
                )
                return SeparatingInput(named, row, a, b, spec.norm_before is not None, spec.cross)
        bits *= 2
    return None


def _factor_unknown(spec: AttentionSpec) -> bool:
    """Whether scores have a factor that the architecture does not tell, where even one token shows it."""
    return spec.rotary is not None and spec.rotary.rule is not None and spec.sinks is not None


def _longest(specs: tuple[AttentionSpec, AttentionSpec]) -> int:
    """With unknown angles only one token can be run."""
    known = all(s.rotary is None or (s.rotary.base is not None and s.rotary.rule is None) for s in specs)
    return 4 if known else 1


def _columns(
    width: int, forms: tuple[LayerForms, LayerForms] | None, pairs: Sequence[tuple[int, int]]
) -> list[int]:
    """Where the forms of paired heads differ most; the first columns where nothing is known."""
    weight = np.zeros(width)
    for i, j in pairs if forms is not None else ():
        assert forms is not None
        a, b = forms[0].heads[i], forms[1].heads[j]
        for one, other in [*((a.scores[name], b.scores[name]) for name in a.scores), (a.output, b.output)]:
            weight += _reach(one, other, width)
        for name in ("queries", "keys"):
            if name in a.vectors:
                weight += np.abs(floats(a.vectors[name] - b.vectors[name])).sum(axis=0)[:width]
    order = sorted(range(width), key=lambda k: (-weight[k], k))
    return sorted(order[:COLUMNS])


def _reach(one: Form, other: Form, width: int) -> Floats:
    """For each input column, how far the difference of two forms reaches into it, next to their size."""
    found = np.zeros(width)
    size = float(max(int(one.squared.ceil()), int(other.squared.ceil()), 1))
    lefts, rights = joined(one.left, other.left), joined(one.right, -other.right)
    for near, far in ((lefts, rights), (rights, lefts)):
        if near.shape[1] not in (width, width + 1):
            continue
        gram = far @ far.T
        if one.turned:
            gram = turned(gram, one.left.shape[0])
        # the squared norm of each column of the difference, exactly
        image = gram @ near
        columns = zip(
            zip(*near.integers.tolist(), strict=True), zip(*image.integers.tolist(), strict=True), strict=True
        )
        squares = [sum((x * y for x, y in zip(*pair, strict=True)), fmpz(0)) for pair in columns]
        unit = power_of_two(near.exponent + image.exponent)
        found += np.array([float_of(fmpq(x) * unit) / size for x in squares[:width]])
    return found


def _candidates(spec: AttentionSpec, columns: int, longest: int) -> Iterator[Array]:
    """Sequences of small whole numbers, times a power of 2; a norm before the layer bounds them."""
    rng = np.random.default_rng(1)
    norm = spec.norm_before
    for k in range(TRIES):
        length = max(min(1 + k % 4, longest), 2 if spec.cross else 1)
        tokens = rng.integers(-2, 3, (length, columns)).astype(np.float64)
        if norm is not None and norm.kind is NormKind.LAYER:
            tokens[:, -1] -= tokens.sum(axis=1)
        scale = 2.0 ** (2 * (k // 4 % 3))
        # outputs of a norm with ε > 0 have a mean square below 1
        while norm is not None and ((tokens * scale) ** 2).sum(axis=1).max() >= spec.width:
            scale /= 2
        yield tokens * scale


def _float_output(spec: AttentionSpec, arrays: Mapping[str, Array], tokens: Array) -> Floats:
    exact = real_constants(spec, len(tokens))
    cosines, sines, slopes = (
        np.array([float(x) for x in array.flat]).reshape(array.shape)
        for array in (exact.cosines, exact.sines, exact.slopes)
    )
    constants = Constants(cosines, sines, slopes, float(exact.factor))
    with np.errstate(all="ignore"):
        value = last_outputs(
            spec, FloatArrays(), arrays, tokens, constants, lambda _, x: np.exp(x), cross=spec.cross
        )
    return np.asarray(value, dtype=np.float64)
