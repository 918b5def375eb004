"""The forms of a layer with given parameters: norms before it folded in, latents multiplied out.

Two layers of one architecture (see :func:`architecture`) whose forms agree compute the same function; that
is linear algebra, said beside each form. Scores are compared up to the common factor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isqrt
from typing import Any

import numpy as np
from flint import fmpq, fmpz_mat

from exactattn.checkpoint.compare_forms import Form, HeadForms, LayerForms
from exactattn.checkpoint.compare_matrices import beside, columns_scaled, last, times, without_last
from exactattn.checkpoint.dyadic import Dyadic
from exactattn.identify.features import Latent, Norm, NormKind, Scope, Sinks, Tie
from exactattn.identify.layer import rotary_pairs
from exactattn.identify.parameters import Array
from exactattn.identify.spec import AttentionSpec

__all__ = ["architecture", "common_factors", "layer_forms"]

Rows = slice | list[int]


def architecture(spec: AttentionSpec) -> dict[str, Any]:
    """What two layers must have in common to be compared by their forms; sizes of heads, their number and
    groups, biases, and the order of rotated dimensions need not be the same.
    """
    norm = spec.query_key_norm
    rotary = spec.rotary
    return {
        "width": spec.width,
        "width of the other sequence": spec.source_width,
        "causal mask": spec.causal,
        "window": spec.window,
        "rotary angles": None if rotary is None else (rotary.size, rotary.base, rotary.rule),
        "query/key norm": None
        if norm is None
        else (*_kind(norm.norm), norm.scope is Scope.WIDTH, spec.head_size, spec.groups),
        "sinks": spec.sinks is not None,
        "soft cap": spec.soft_cap,
        "ALiBi": spec.heads if spec.alibi else None,
        "relative bias": spec.relative_bias,
        "norm before": _kind(spec.norm_before),
        "norm after": None
        if spec.norm_after is None
        else (*_kind(spec.norm_after), spec.norm_after.scale, spec.norm_after.shift),
        "norm of the query latent": _latent_kind(spec.query_latent),
        "norm of the key/value latent": _latent_kind(spec.key_value_latent),
    }


def _kind(norm: Norm | None) -> Any:
    return None if norm is None else (norm.kind, norm.eps)


def _latent_kind(latent: Latent | None) -> Any:
    # a latent without a norm is a product of matrices, so its size is no part of the function
    return None if latent is None or latent.norm is None else (*_kind(latent.norm), latent.rank)


def common_factors(first: AttentionSpec, second: AttentionSpec) -> tuple[int, int] | None:
    """Integers in the ratio of the factors on scores, None if that ratio is irrational.

    >>> spec = AttentionSpec.of(width=8, heads=2)
    >>> common_factors(spec, AttentionSpec.of(width=8, heads=2, head_size=16))
    (2, 1)
    """
    ratio: fmpq = first.score_scale_squared / second.score_scale_squared
    p, q = int(ratio.p), int(ratio.q)
    roots = isqrt(p), isqrt(q)
    return roots if roots[0] ** 2 == p and roots[1] ** 2 == q else None


def layer_forms(spec: AttentionSpec, parameters: Mapping[str, Array], factor: int = 1) -> LayerForms:
    """The forms of a layer; ``factor`` multiplies its scores. ``parameters`` are floats that hold exact
    numbers, as :func:`exactattn.checkpoint.open_checkpoint` reads them.
    """
    return _Reader(spec, parameters, factor).forms()


class _Reader:
    def __init__(self, spec: AttentionSpec, parameters: Mapping[str, Array], factor: int) -> None:
        self.spec, self.parameters, self.factor = spec, parameters, factor
        norm = spec.norm_before
        self.centred = norm is not None and norm.kind is NormKind.LAYER
        self.shared: dict[str, Dyadic] = {}
        self.made: dict[tuple[str, int], Dyadic] = {}
        self.normed_readers = {"query", "query down"} if spec.cross else set(parameters) - {"output"}

    def forms(self) -> LayerForms:
        spec = self.spec
        heads = [self._head(h) for h in range(spec.heads)]
        if spec.norm_after is not None:
            self._share("norm after", "after")
        constant, size_squared = self._constant()
        norm = spec.query_key_norm
        # a norm over all heads reads every one of them
        apart = norm is not None and norm.scope is Scope.WIDTH
        kept = heads if apart else _merged(heads)
        return LayerForms(tuple(kept), constant, size_squared, self.shared)

    # ---- projections as matrices with a last column for the bias ----

    def _array(self, name: str) -> Dyadic:
        return Dyadic.of(self.parameters[name])

    def _share(self, called: str, name: str) -> None:
        for kind in ("scale", "shift"):
            if f"{name} {kind}" in self.parameters:
                self.shared[f"{called} {kind}"] = self._array(f"{name} {kind}")

    def _once(self, part: str, group: int, make: Callable[[], Dyadic]) -> Dyadic:
        """What all heads of a group share is made once."""
        if (part, group) not in self.made:
            self.made[part, group] = make()
        return self.made[part, group]

    def _rows(self, name: str, rows: Rows) -> Dyadic:
        """Rows of a projection of the input, in front of the bias; the norm before the layer is folded in."""
        given, bias = self.parameters[name][rows], self._bias(name, rows)
        if name not in self.normed_readers:
            return Dyadic.of(np.column_stack([given, bias]))
        scale = self.parameters.get("before scale")
        if not self.centred and "before shift" not in self.parameters:
            if scale is None:
                return Dyadic.of(np.column_stack([given, bias]))
            if _fit_in_float32(given, scale):  # then float64 holds the products
                return Dyadic.of(np.column_stack([given * scale, bias]))
        return self._behind_norm(Dyadic.of(given), Dyadic.of(bias))

    def _bias(self, name: str, rows: Rows) -> Array:
        given = self.parameters.get(f"{name} bias")
        return np.zeros(len(self.parameters[name][rows])) if given is None else given[rows]

    def _behind_norm(self, matrix: Dyadic, bias: Dyadic) -> Dyadic:
        """[W Γ, b + W β]; behind a layer norm, whose outputs have mean 0, the rows without their mean (all
        times the width, to stay integers)."""
        if "before shift" in self.parameters:
            bias = bias + matrix @ self._array("before shift")
        if "before scale" in self.parameters:
            matrix = columns_scaled(matrix, self._array("before scale"))
        if self.centred:
            width = self.spec.width
            ones = Dyadic(fmpz_mat(width, 1, [1] * width), 0)
            matrix = times(matrix, width) - (matrix @ ones) @ ones.T
            bias = times(bias, width)
        return beside(matrix, bias)

    def _projection(self, name: str, rows: Rows, latent: Latent | None, latent_name: str) -> Dyadic:
        """A projection of the input, through its latent if it has one. A latent with a norm stays an input of
        its own, and what makes it is a vector that both layers must share."""
        if latent is None:
            return self._rows(name, rows)
        down = self._rows(f"{latent_name} down", slice(None))
        up, bias = Dyadic.of(self.parameters[name][rows]), Dyadic.of(self._bias(name, rows))
        if latent.norm is None:
            product = up @ down
            column = Dyadic(fmpz_mat(1, down.shape[1], [0] * (down.shape[1] - 1) + [1]), 0)
            return product + bias @ column
        self.shared[f"{latent_name} latent"] = down
        if f"{latent_name} latent shift" in self.parameters:
            bias = bias + up @ self._array(f"{latent_name} latent shift")
        if f"{latent_name} latent scale" in self.parameters:
            up = columns_scaled(up, self._array(f"{latent_name} latent scale"))
        return beside(up, bias)

    def _query(self, h: int, order: list[int]) -> Dyadic:
        spec = self.spec
        if Tie.QUERY_HEADS in spec.ties:
            h = h // spec.heads_per_group
        rows = [h * spec.head_size + k for k in order]
        found = self._projection("query", rows, spec.query_latent, "query")
        return times(found, self.factor) if spec.query_key_norm is None else found

    def _key(self, g: int, order: list[int], size: int) -> Dyadic:
        name = "query" if Tie.QUERY_KEY in self.spec.ties else "key"
        rows = [g * size + k for k in order]
        return self._projection(name, rows, self.spec.key_value_latent, "key/value")

    def _value(self, g: int) -> Dyadic:
        spec, size = self.spec, self.spec.value_size
        name = "value"
        if Tie.KEY_VALUE in spec.ties:
            name = "query" if Tie.QUERY_KEY in spec.ties else "key"
        rows = slice(g * size, (g + 1) * size)
        return self._once(
            "value", g, lambda: self._projection(name, rows, spec.key_value_latent, "key/value")
        )

    # ---- heads ----

    def _head(self, h: int) -> HeadForms:
        spec = self.spec
        g = h // spec.heads_per_group
        scores, vectors = self._scores(h, g)
        output = Dyadic.of(self.parameters["output"][:, h * spec.value_size : (h + 1) * spec.value_size]).T
        value = self._value(g)
        if spec.sinks is None:
            # rows of weights sum to 1: what the bias adds is a constant
            value = self._once("value without bias", g, lambda: without_last(self._value(g)))
        else:
            vectors["sink"] = Dyadic.of(
                self.parameters["sinks"][h : h + 1] if spec.sinks is Sinks.LEARNED else np.zeros(1)
            )
        if spec.relative_bias is not None:
            vectors["relative bias"] = self._relative_bias(h)
        return HeadForms(scores, vectors, Form(output, value), h if spec.alibi else 0, (h,))

    def _relative_bias(self, h: int) -> Dyadic:
        table, spec = self.spec.relative_bias, self.spec
        assert table is not None
        reached = sorted(table.reached(causal=spec.causal))
        numbers = Dyadic.of(self.parameters["relative bias"][h][reached])
        if spec.sinks is not None:
            return numbers
        # a constant for all distances cancels in the softmax
        ones = Dyadic(fmpz_mat(len(reached), 1, [1] * len(reached)), 0)
        first = Dyadic(fmpz_mat(1, 1, [numbers.integers[0, 0]]), numbers.exponent)
        return numbers - ones @ first

    def _scores(self, h: int, g: int) -> tuple[dict[str, Form], dict[str, Dyadic]]:
        """One form for each rotation plane, and one for the dimensions that stay."""
        spec = self.spec
        every = list(range(spec.head_size))
        turned = [row for pair in rotary_pairs(spec) for row in pair]
        still = [row for row in every if row not in set(turned)]
        vectors: dict[str, Dyadic] = {}
        forms: dict[str, Form] = {}
        if spec.query_key_norm is not None:
            # scores are forms in what the norms make, which is fixed by what they read
            vectors["queries"] = self._query(h, every)
            vectors["keys"] = self._once("key", g, lambda: self._key(g, every, spec.head_size))
        if turned:
            forms["rotated"] = Form(self._left(h, turned), self._turned_right(g, turned), turned=True)
        if still:
            right = self._once("unrotated", g, lambda: self._still_right(g, still))
            forms["unrotated" if forms else "scores"] = Form(self._left(h, still), right)
        return forms, vectors

    def _left(self, h: int, order: list[int]) -> Dyadic:
        if self.spec.query_key_norm is None:
            return self._query(h, order)
        return times(self._scales("query norm", h, order), self.factor)

    def _turned_right(self, g: int, turned: list[int]) -> Dyadic:
        rotary = self.spec.rotary
        if rotary is not None and rotary.shared_key:
            return self._once("rotated", 0, lambda: self._rows("rotated key", turned))
        return self._once("rotated", g, lambda: self._right(g, turned))

    def _right(self, g: int, order: list[int]) -> Dyadic:
        if self.spec.query_key_norm is None:
            return self._key(g, order, self.spec.head_size)
        return self._scales("key norm", g, order)

    def _still_right(self, g: int, still: list[int]) -> Dyadic:
        spec = self.spec
        if spec.rotary is not None and spec.rotary.shared_key:
            right = self._key(g, list(range(spec.unrotated)), spec.unrotated)
        else:
            right = self._right(g, still)
        constants_seen = spec.sinks is not None or spec.soft_cap is not None
        # what the key bias adds is one number for a whole row of scores
        return right if constants_seen else without_last(right)

    def _scales(self, name: str, number: int, order: list[int]) -> Dyadic:
        """Scales of a norm of queries or keys as a diagonal matrix, with the shifts as last column."""
        size, norm = self.spec.head_size, self.spec.query_key_norm
        assert norm is not None
        start = 0 if norm.scope is Scope.SHARED else number * size
        scales, shifts = (self.parameters.get(f"{name} {kind}") for kind in ("scale", "shift"))
        diagonal = np.ones(size) if scales is None else scales[start : start + size]
        column = np.zeros(size) if shifts is None else shifts[start : start + size]
        return Dyadic.of(np.column_stack([np.diag(diagonal), column])[order])

    def _constant(self) -> tuple[Dyadic, fmpq]:
        """b_O and what value biases add to every output, and a bound on the squared size of its terms."""
        spec = self.spec
        bias = self.parameters.get("output bias")
        total = Dyadic.of(np.zeros(spec.width) if bias is None else bias)
        if spec.sinks is not None:
            return total, total.frobenius_squared()
        # behind a layer norm, values are multiplied by the width
        total = times(total, spec.width if self.centred and not spec.cross else 1)
        size, squares = spec.value_size, total.frobenius_squared()
        for h in range(spec.heads):
            column = last(self._value(h // spec.heads_per_group))
            output = Dyadic.of(self.parameters["output"][:, h * size : (h + 1) * size])
            total = total + output @ column
            squares += output.frobenius_squared() * column.frobenius_squared()
        return total, (spec.heads + 1) * squares


def _fit_in_float32(*arrays: Array) -> bool:
    return all(bool((x == x.astype(np.float32)).all()) for x in arrays)


def _merged(heads: list[HeadForms]) -> list[HeadForms]:
    """Heads with the same attention weights become one; those without an output are dropped."""
    found: list[HeadForms] = []
    for head in heads:
        for k, other in enumerate(found):
            if _may_agree(head, other) and head.same_scores(other):
                found[k] = HeadForms(
                    other.scores,
                    other.vectors,
                    other.output.with_rows_of(head.output),
                    other.label,
                    other.members + head.members,
                )
                break
        else:
            found.append(head)
    return [head for head in found if head.output.squared != 0]


def _may_agree(a: HeadForms, b: HeadForms) -> bool:
    """A quick test that equal heads pass: their forms have the same size."""
    return a.label == b.label and all(
        form.squared == b.scores[name].squared for name, form in a.scores.items()
    )
