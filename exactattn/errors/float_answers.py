"""Layers evaluated in floating point: real oracles with rounding errors, and how large these are.

The arithmetic is numpy's; bfloat16 answers are float32 ones rounded to eight significant bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from exactattn.model import Attention, Evaluator, Query
from exactattn.numbers import Balls
from exactattn.oracle import FunctionOracle

__all__ = ["FloatFormat", "float_oracle", "largest_error", "nearest_float"]

FloatFormat = Literal["float64", "float32", "bfloat16"]


def float_oracle(layer: Attention, kind: FloatFormat) -> FunctionOracle:
    """An oracle (base e) that evaluates the layer in a floating-point format, and answers with the float.

    >>> from exactattn.model import Head, token
    >>> oracle = float_oracle(Attention.of([Head.of([[0]], [1])]), "float64")
    >>> oracle.function(Query.of([(token(1), 2)], last=token("1/2")))
    0.8333333333333333
    """
    precise = np.float64 if kind == "float64" else np.float32
    W = np.array([[[nearest_float(x) for x in row] for row in head.W] for head in layer.heads], dtype=precise)
    v = np.array([[nearest_float(x) for x in head.v] for head in layer.heads], dtype=precise)

    def answer(query: Query) -> float:
        tokens = np.array([[nearest_float(x) for x in row] for row in query.expanded()], dtype=precise)
        value = precise(0)
        for matrix, vector in zip(W, v, strict=True):
            scores = (tokens[-1] @ matrix) @ tokens.T
            weights = np.exp(scores - scores.max())
            value += (weights / weights.sum()) @ (tokens @ vector)
        return float(_rounded_to_bfloat16(value)) if kind == "bfloat16" else float(value)

    answer.__qualname__ = f"{kind} evaluation"
    return FunctionOracle(answer, layer.dim)


def largest_error(
    layer: Attention, queries: Sequence[Query], answers: Sequence[Any], bits: int = 200
) -> fmpq:
    """An upper bound on the distance of answers (floats or rationals) from the true values, by balls; the
    result is rounded up to about ten significant bits."""
    evaluator = Evaluator(layer, Balls(bits))
    with Balls(bits).context():
        distances = [abs(evaluator(q) - arb(x)).upper() for q, x in zip(queries, answers, strict=True)]
    widest: fmpq = max(x.fmpq() for x in distances)
    return widest


def nearest_float(x: fmpq) -> float:
    """The float64 nearest to a rational.

    >>> nearest_float(fmpq(1, 3))
    0.3333333333333333
    """
    return int(x.p) / int(x.q)


def _rounded_to_bfloat16(x: Any) -> NDArray[np.float32]:
    """Round to nearest, ties to even, in the upper half of a float32."""
    bits = np.asarray(x, dtype=np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return rounded.astype(np.uint32).view(np.float32)
