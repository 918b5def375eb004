"""exactattn bound: how much noise a recovery stands, and how far errors of answers move the parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from exactattn.cli.console import facts_table, print_json, stdout
from exactattn.cli.recover_heads import number_system
from exactattn.errors import AnyLayer, BoundReport, bound_report
from exactattn.model import load_layer
from exactattn.model.affine import AffineAttention
from exactattn.model.affine_files import load_affine_layer
from exactattn.numbers import Balls, LogLattice, NumberSystem
from exactattn.recovery import TokenRange

__all__ = ["bound"]

PRECISION = 512


def bound(
    file: Annotated[Path, typer.Argument(help="Model file (.json, .npz, .safetensors).")],
    method: Annotated[
        Literal["published", "direct", "optimal"],
        typer.Option(
            help="published, direct (every b_i asked alone too), or optimal (to first order; ε0 unknown)."
        ),
    ] = "published",
    robust: Annotated[
        bool, typer.Option("--robust", help="Choose queries that stand more noise; compare with the default.")
    ] = False,
    longest: Annotated[
        int | None, typer.Option(help="With --robust: the longest sequence; default 2H + 1.")
    ] = None,
    digits: Annotated[int, typer.Option(help="Wanted accuracy: parameters to within 10^-digits.")] = 6,
    numbers: Annotated[
        Literal["lattice", "balls"] | None,
        typer.Option(help="Exact log-lattice, or balls (base e); default: as for recover."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the query vectors.")] = 0,
    radius: Annotated[
        int | None, typer.Option(help="Lattice: entries of the query vectors are −radius … radius.")
    ] = None,
    bias: Annotated[
        bool, typer.Option("--bias", help="FILE is a layer with query biases and a constant output.")
    ] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Computes ε0 and C such that answers within ε ≤ ε0 give every parameter within C·ε.

    For errors of at most ε0/2 every enclosure from noisy answers is at most a fifth wider than first order
    demands. Constants of matrices are in natural units: of D·log 2·W_h on the log-lattice, of W_h over balls.
    """
    layer: AnyLayer = load_affine_layer(file) if bias else load_layer(file)
    plain = layer.lifted() if isinstance(layer, AffineAttention) else layer
    system: NumberSystem[Any, Any] = Balls(PRECISION)
    if number_system(plain, numbers) == "lattice":
        system = LogLattice(plain.denominator())
    tokens = None if radius is None else TokenRange(radius, radius)
    found = bound_report(
        layer, system, method=method, robust=robust, longest=longest, seed=seed, tokens=tokens
    )
    default = bound_report(layer, system, seed=seed, tokens=tokens) if robust else None
    if json_output:
        content = {
            **found.to_json(),
            "numbers": system.describe(),
            "wanted_digits": digits,
            "answer_digits_needed": found.digits_needed(digits),
        }
        if default is not None:
            content |= {"default": default.to_json(), "gained_digits": _gain(default, found)}
        print_json(content)
        return
    stdout.print(facts_table("bound", _facts(found, digits)))
    if default is not None:
        stdout.print(facts_table("\nwithout --robust", _facts(default, digits)))
        queries, tokens_more = found.queries - default.queries, found.longest - default.longest
        stdout.print(
            f"\ngain: {_gain(default, found)} digits; price: {queries:+} queries, "
            f"{tokens_more:+} tokens in the longest",
            markup=False,
        )


def _gain(plain: BoundReport, robust: BoundReport) -> float:
    before, after = plain.log10_constant, robust.log10_constant
    return round((before or 0) - (after or 0), 2)


def _facts(found: BoundReport, digits: int) -> list[tuple[str, str]]:
    def power(x: float | None) -> str:
        return "unknown" if x is None else f"10^{x:.2f}"

    facts = [
        ("method", found.method + (", robust queries" if found.robust else "")),
        ("queries", f"{found.queries:,}"),
        ("longest sequence", f"{found.longest} tokens"),
        ("first-order constant C1", power(found.log10_first_order)),
    ]
    if found.log10_first_order_matrices is not None:
        facts += [
            ("  of matrices", power(found.log10_first_order_matrices)),
            ("  of vectors", power(found.log10_first_order_vectors)),
        ]
    facts += [("C, for all ε up to ε0", power(found.log10_constant)), ("ε0", power(found.log10_epsilon0))]
    if found.limited_by is not None:
        facts += [
            ("ε0 is limited by", f"{found.limited_by}, in the {found.probe}"),
            ("worst log r in a base probe", power(found.log10_reached)),
            ("  no copy ratios beat", power(found.log10_minimax)),
        ]
    needed = f"{found.digits_needed(digits)} decimal digits in the answers"
    if found.first_order_only:
        needed += ", to first order"
    return [*facts, (f"for parameters to 10^-{digits}", needed)]
