"""exactattn rebalance: both sides of every change of basis equally large, the function as it was."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from exactattn.checkpoint import Which
from exactattn.checkpoint import rebalance as rebalanced
from exactattn.cli.rewriting import Config, Input, Json, Output, Rewriting, TokenNorm

__all__ = ["rebalance"]


def rebalance(
    source: Input,
    output: Output,
    config: Config = None,
    which: Annotated[Which, typer.Option(help="Queries and keys, values and outputs, or both.")] = Which.ALL,
    token_norm: TokenNorm = None,
    json_output: Json = False,
) -> None:
    """Give queries and keys, and values and outputs, equal Gram matrices; the nearest such weights.

    The model stays the same function. What rounding to the stored type changes is certified: |Δ scores| up
    to a constant a row, |Δ output| for every sequence of tokens.
    """
    run = Rewriting(source, output, config, token_norm, partial(rebalanced, which=which))
    run.run("rebalanced", json_output)
