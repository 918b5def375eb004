"""The parameters of one attention layer of a checkpoint, exactly, head by head."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from exactattn.checkpoint.dyadic import Dyadic
from exactattn.checkpoint.place import Array
from exactattn.exceptions import InputError
from exactattn.identify.parameters import Parameters
from exactattn.identify.spec import AttentionSpec

__all__ = ["AttentionWeights", "HeadArrays", "HeadProducts"]


@dataclass(frozen=True)
class HeadArrays:
    """One head, as float64 arrays that hold the stored numbers exactly; a bias the layer lacks is None.

    ``query`` (D×E), ``key`` (D×E), ``value`` (C×E), ``output`` (E×C), biases of D, D and C numbers. Heads
    of one group have the same key and value. Rotated dimensions come first. Behind a latent of rank r the
    projections read the (normed) latent, D×r; with a shared rotated key ``key`` has the unrotated rows only.
    """

    query: Array
    query_bias: Array | None
    key: Array
    key_bias: Array | None
    value: Array
    value_bias: Array | None
    output: Array


@dataclass(frozen=True)
class HeadProducts:
    """What plain scores and outputs of one head depend on, exactly.

    ``query_key``: W_QᵀW_K (E×E). ``query_key_affine``: the same with one more row b_QᵀW_K at the end, so
    that scores are (x, 1)ᵀ M y up to a constant for all keys. ``value_output``: W_O W_V (E×E), and
    ``value_output_affine`` with one more column W_O b_V. Scores are not yet multiplied by their factor.
    """

    query_key: Dyadic
    query_key_affine: Dyadic
    value_output: Dyadic
    value_output_affine: Dyadic


@dataclass(frozen=True)
class AttentionWeights:
    """One layer: its number, its name, its architecture and its parameters.

    ``parameters`` are float64 arrays by the names of ``exactattn.identify.parameters`` ("query",
    "query bias", "key", …, "before scale", "query norm scale", "sinks"), holding the stored numbers exactly.
    For names in ``shifted`` the parameter is the stored number plus 1. ``norm_is_shared``: why the norm
    before the layer feeds more than this layer; empty if it does not.
    """

    layer: int
    name: str
    spec: AttentionSpec
    parameters: Mapping[str, Array]
    shifted: frozenset[str] = frozenset()
    norm_is_shared: str = ""

    def head(self, number: int) -> HeadArrays:
        """Head ``number``, from 0. Raises InputError if there is none."""
        spec = self.spec
        if not 0 <= number < spec.heads:
            raise InputError(f"must be from 0 to {spec.heads - 1}, not {number}", field="head")
        group = number // spec.heads_per_group
        keys = self.key_rows
        return HeadArrays(
            query=self._rows("query", number, spec.head_size),
            query_bias=self._bias("query", number, spec.head_size),
            key=self._rows("key", group, keys),
            key_bias=self._bias("key", group, keys),
            value=self._rows("value", group, spec.value_size),
            value_bias=self._bias("value", group, spec.value_size),
            output=self.parameters["output"][:, number * spec.value_size : (number + 1) * spec.value_size],
        )

    @property
    def key_rows(self) -> int:
        """Rows of "key" a group: D, or D − R where the rotated key is shared."""
        spec = self.spec
        shared = spec.rotary is not None and spec.rotary.shared_key
        return spec.unrotated if shared else spec.head_size

    def _rows(self, name: str, number: int, size: int) -> Array:
        if name not in self.parameters:  # a shared rotated key leaves no rows
            return np.zeros((0, 0))
        return self.parameters[name][number * size : (number + 1) * size]

    def _bias(self, name: str, number: int, size: int) -> Array | None:
        return self._rows(f"{name} bias", number, size) if f"{name} bias" in self.parameters else None

    def exact_products(self, number: int) -> HeadProducts:
        """The products of head ``number``, exactly: E² entries each, so for small widths.

        Raises InputError where one matrix does not give the scores: rotated or normed queries and keys.
        """
        if self.spec.rotated or self.spec.query_key_norm is not None:
            raise InputError(
                "scores with rotation or query/key norms are no bilinear form; use the head's arrays",
                field=self.name,
            )
        head = self.head(number)
        key, value = Dyadic.of(head.key), Dyadic.of(head.value)
        output = Dyadic.of(head.output)
        query = Dyadic.of(with_column(head.query, head.query_bias))
        affine = query.T @ key
        outputs = output @ Dyadic.of(with_column(head.value, head.value_bias))
        return HeadProducts(
            query_key=Dyadic.of(head.query).T @ key,
            query_key_affine=affine,
            value_output=output @ value,
            value_output_affine=outputs,
        )

    def with_parameters(self, changed: Parameters) -> AttentionWeights:
        """The layer with some arrays of parameters replaced."""
        return replace(self, parameters={**self.parameters, **changed})


def with_column(matrix: Array, bias: Array | None) -> Array:
    """The matrix with the bias as last column, 0 where there is none."""
    column = np.zeros(len(matrix)) if bias is None else bias
    return np.column_stack([matrix, column])
