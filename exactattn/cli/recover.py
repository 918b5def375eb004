"""exactattn recover: heads, layers of trained models and Transformers from nothing but answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from exactattn.cli.recover_options import RecoverOptions
from exactattn.model.transformer_files import is_transformer_file
from exactattn.recovery.start import Method

__all__ = ["recover"]


def recover(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help="Model file (.json, .npz, .safetensors) to play the black box.")
    ] = None,
    heads_bound: Annotated[
        int | None, typer.Option(help="Number of heads, or an upper bound; default: that of FILE.")
    ] = None,
    heads: Annotated[
        Literal["auto"] | None, typer.Option(help="auto: find the number of heads out; no bound is needed.")
    ] = None,
    method: Annotated[
        Method,
        typer.Option(
            help="published: 4Hd² − 2H + 1 queries; consistent: half of it; optimal: H(d² + d), as many as "
            "identified parameters."
        ),
    ] = "published",
    rank: Annotated[
        str | None,
        typer.Option(help="Rank of every W, or an upper bound, or auto to find it out; not for published."),
    ] = None,
    bias: Annotated[
        bool, typer.Option("--bias", help="Query bias and constant output; FILE is then a layer with biases.")
    ] = False,
    numbers: Annotated[
        Literal["lattice", "balls", "prime"] | None,
        typer.Option(
            help="Exact log-lattice, a prime field, or balls; default: lattice unless FILE's numbers are "
            "too long."
        ),
    ] = None,
    digits: Annotated[int, typer.Option(help="Balls: every parameter to within 10^-digits.")] = 40,
    seed: Annotated[int, typer.Option(help="Seed of the query vectors.")] = 0,
    oracle_command: Annotated[
        str | None, typer.Option(help="A command that answers JSON lines, instead of FILE.")
    ] = None,
    oracle_timeout: Annotated[float, typer.Option(help="Seconds a command may take for an answer.")] = 60.0,
    answers: Annotated[
        Path | None, typer.Option(help="Recorded answers (JSON lines), instead of FILE.")
    ] = None,
    missing: Annotated[
        Path | None, typer.Option(help="With --answers: write queries without an answer (JSON lines) there.")
    ] = None,
    dim: Annotated[int | None, typer.Option(help="Token size d, without FILE.")] = None,
    denominator: Annotated[
        int | None, typer.Option(help="Lattice: D with exp(s) = 2^(D s); default: that of FILE, or 1.")
    ] = None,
    transcript: Annotated[
        Path | None, typer.Option(help="SQLite file that keeps every answer; resumes if it exists.")
    ] = None,
    output_error: Annotated[
        str | None,
        typer.Option(
            help="Bound on the error of every answer, 0 if answers carry their own: enclosures of all "
            "parameters, or a refusal."
        ),
    ] = None,
    robust: Annotated[
        bool,
        typer.Option("--robust", help="With --output-error: queries that stand more noise, in two passes."),
    ] = False,
    longest: Annotated[
        int | None, typer.Option(help="With --robust: the longest sequence; default 2H + 1.")
    ] = None,
    layer_number: Annotated[
        int | None,
        typer.Option("--layer", help="FILE is a checkpoint: recover this attention layer, from 0, exactly."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="With --layer: config.json; default: beside FILE.")
    ] = None,
    output_coordinate: Annotated[
        int | None, typer.Option(help="With --layer: the output to read; default: a random combination.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="With --layer: processes.")] = 1,
    dask: Annotated[
        str | None, typer.Option(help="With --layer: the tcp:// address of a Dask scheduler.")
    ] = None,
    blocks: Annotated[
        Path | None, typer.Option(help="With --layer: folder for finished blocks; resumes if it has some.")
    ] = None,
    compiled: Annotated[
        bool, typer.Option("--compiled", help="With --layer: compiled kernels (extra compiled).")
    ] = False,
    heads_file: Annotated[
        Path | None, typer.Option(help="With --layer: write the integers of all heads (JSON).")
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="Write a certificate.")] = None,
    max_precision: Annotated[int, typer.Option(help="Balls: the most bits to use.")] = 1 << 16,
    neurons: Annotated[
        str | None,
        typer.Option(
            help="Transformers: number of neurons, parallel ones merged, or unknown; default: that of FILE."
        ),
    ] = None,
    kink_spacing: Annotated[
        str | None,
        typer.Option(help="Transformers: least distance of kinks on the path, instead of --neurons."),
    ] = None,
    residual: Annotated[
        bool, typer.Option("--residual", help="Transformers without FILE: the last token is stacked too.")
    ] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Recovers the canonical heads of a layer from value queries alone: 4Hd² − 2H + 1 of them with the
    published method, H(d² + d) with the optimal one.

    The solver sees answers only. FILE's own heads are compared with the result afterwards.
    """
    chosen = {name: value for name, value in locals().items() if name != "context"}
    options = RecoverOptions(given=_given(context), **chosen)
    options.check_sources()
    options.check_outputs()
    same: bool | None
    if layer_number is not None:
        from exactattn.cli.trained_layer import recover_trained_layer

        same = recover_trained_layer(options)
    elif options.wants_transformer or (file is not None and is_transformer_file(file)):
        from exactattn.cli.transformer import recover_and_show

        same = recover_and_show(options)
    else:
        from exactattn.cli.recover_heads import recover_heads

        same = recover_heads(options)
    if same is False:
        raise typer.Exit(1)


def _given(context: typer.Context) -> frozenset[str]:
    """The options on the command line, as they are written there."""
    sources = {p.opts[0]: context.get_parameter_source(str(p.name)) for p in context.command.params}
    return frozenset(
        name
        for name, source in sources.items()
        if source and source.name != "DEFAULT" and name.startswith("--")
    )
