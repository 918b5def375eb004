"""exactattn canonicalize: the one representative of every attention layer."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from exactattn.checkpoint import Which
from exactattn.checkpoint import canonicalize as canonical
from exactattn.cli.rewriting import Config, Input, Json, Output, Rewriting, TokenNorm

__all__ = ["canonicalize"]


def canonicalize(
    source: Input,
    output: Output,
    config: Config = None,
    which: Annotated[Which, typer.Option(help="Queries and keys, values and outputs, or both.")] = Which.ALL,
    keep_biases: Annotated[bool, typer.Option(help="Leave key and value biases as they are.")] = False,
    fold_norms: Annotated[
        bool, typer.Option(help="Fold the norm before a layer into its projections, where it feeds only it.")
    ] = False,
    token_norm: TokenNorm = None,
    json_output: Json = False,
) -> None:
    """Write every layer in its canonical form: inert biases 0, value biases in the output's, one basis.

    Checkpoints that differ by such transformations only come out equal up to rounding, which is certified.
    """
    transformation = partial(canonical, which=which, biases=not keep_biases, norms=fold_norms)
    run = Rewriting(source, output, config, token_norm, transformation)
    run.run("in canonical form", json_output)
