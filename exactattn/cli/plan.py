"""exactattn plan: the queries as data, before any answer."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Literal

import typer

from exactattn.model import Query
from exactattn.recovery import PublishedPlan, TokenRange

__all__ = ["plan", "query_line"]


def plan(
    heads: Annotated[int, typer.Option(help="Number of heads H, or an upper bound.")],
    dim: Annotated[int, typer.Option(help="Token size d.")],
    numbers: Annotated[Literal["lattice", "balls"], typer.Option(help="Number system.")] = "lattice",
    seed: Annotated[int, typer.Option(help="Seed of the query vectors.")] = 0,
) -> None:
    """Prints every query of the published plan as JSON lines, to be answered elsewhere.

    Add a "value" to each line and give the file to `exactattn recover --answers`.
    """
    tokens = TokenRange.for_lattice(heads, dim) if numbers == "lattice" else TokenRange.for_balls(dim)
    for query in PublishedPlan.draw(heads, dim, seed, tokens).queries():
        sys.stdout.write(query_line(query))


def query_line(query: Query) -> str:
    """One JSON line that waits for a "value"."""
    return json.dumps({"query": query.to_json()}) + "\n"
