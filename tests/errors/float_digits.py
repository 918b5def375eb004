"""How many digits survive when a layer is evaluated in floating point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from exactattn.errors import FloatFormat, NoisyRecovery, float_oracle, largest_error, recover_with_error
from exactattn.exceptions import ErrorsTooLarge, InconsistentAnswers
from exactattn.model import Attention, Head, Query
from exactattn.oracle import FunctionOracle

__all__ = ["FloatRun", "float_layer", "float_run"]


def float_layer(heads: int, dim: int) -> Attention:
    """Standard normal float64 parameters."""
    rng = np.random.default_rng(heads * 100 + dim)
    W, v = rng.standard_normal((heads, dim, dim)), rng.standard_normal((heads, dim))
    return Attention.of([Head.of(W[h].tolist(), v[h].tolist()) for h in range(heads)])


@dataclass(frozen=True)
class FloatRun:
    """What a recovery from float answers gave: enclosures, or the condition that could not be told."""

    found: NoisyRecovery | None
    condition: str
    error: fmpq
    queries: int


def float_run(
    layer: Attention,
    kind: FloatFormat,
    *,
    robust: bool,
    longest: int | None = None,
    redraws: int = 2,
    make_oracle: Callable[[Attention, FloatFormat], FunctionOracle] = float_oracle,
) -> FloatRun:
    """Recovery with the largest error of the answers, measured against balls, as the stated error bound.

    Which queries are asked does not depend on the bound, except for how many draws are tried; so the bound is
    raised to that of all queries asked until it is that of the run itself.
    """
    oracle = make_oracle(layer, kind)
    asked: dict[Query, Any] = {}

    def remembered(query: Query) -> Any:
        if query not in asked:
            asked[query] = oracle.function(query)
        return asked[query]

    error = fmpq(1, 2**60)
    while True:
        condition, found = "", None
        try:
            found = recover_with_error(
                FunctionOracle(remembered, layer.dim),
                len(layer.heads),
                error,
                robust=robust,
                longest=longest,
                max_redraws=redraws,
            )
        except ErrorsTooLarge as refusal:
            condition = refusal.condition
        except InconsistentAnswers as refusal:  # as it must be while the stated error is too small
            condition = str(refusal)
        measured = largest_error(layer, list(asked), list(asked.values()))
        if measured <= error:
            return FloatRun(found, condition, error, len(asked))
        error = measured
