"""exactattn plan: the queries as data, before any answer."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Literal

import typer

from exactattn.model import Query
from exactattn.recovery.start import Method, first_plan

__all__ = ["plan", "query_line"]


def plan(
    heads: Annotated[int, typer.Option(help="Number of heads H, or an upper bound.")],
    dim: Annotated[int, typer.Option(help="Token size d.")],
    numbers: Annotated[Literal["lattice", "balls"], typer.Option(help="Number system.")] = "lattice",
    seed: Annotated[int, typer.Option(help="Seed of the query vectors.")] = 0,
    method: Annotated[Method, typer.Option(help="As for recover.")] = "published",
    rank: Annotated[int | None, typer.Option(help="As for recover; not for published.")] = None,
    bias: Annotated[bool, typer.Option("--bias", help="As for recover.")] = False,
) -> None:
    """Prints every query of a plan as JSON lines, to be answered elsewhere.

    Add a "value" to each line and give the file to `exactattn recover --answers`.
    """
    chosen = first_plan(method, heads, dim, seed, exact=numbers == "lattice", rank=rank, bias=bias)
    for query in chosen.queries():
        sys.stdout.write(query_line(query))


def query_line(query: Query) -> str:
    """One JSON line that waits for a "value"."""
    return json.dumps({"query": query.to_json()}) + "\n"
