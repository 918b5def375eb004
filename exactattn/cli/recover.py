"""exactattn recover: heads from nothing but answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from exactattn.certificate import ball_certificate, lattice_certificate, write_certificate
from exactattn.cli.console import facts_table, print_heads, print_json, progress_bars, stdout
from exactattn.cli.plan import query_line
from exactattn.cli.transformer import recover_and_show, refuse_layer_options
from exactattn.exceptions import CertificateError, InputError, MissingAnswers
from exactattn.model import Attention, load_layer
from exactattn.model.affine import AffineAttention
from exactattn.model.affine_files import load_affine_layer
from exactattn.model.files import write_file
from exactattn.model.transformer_files import is_transformer_file, load_transformer
from exactattn.oracle import CommandOracle, ExactOracle, Oracle, RecordedOracle
from exactattn.oracle.affine import AffineOracle
from exactattn.oracle.transformer import TransformerOracle
from exactattn.recovery import Recovery
from exactattn.recovery import recover as run_recovery
from exactattn.recovery.start import Method

__all__ = ["number_system", "recover"]

LATTICE_BITS = 4096


def recover(
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
        str | None, typer.Option(help="Transformers: least distance of kinks on the path, not --neurons.")
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
    if sum(source is not None for source in (file, oracle_command, answers)) != 1:
        raise InputError("give exactly one of FILE, --oracle-command and --answers")
    if layer_number is not None:
        if file is None:
            raise InputError("needs FILE, a checkpoint", field="--layer")
        from exactattn.cli.trained_layer import recover_trained_layer

        equal = recover_trained_layer(
            file,
            config,
            layer_number,
            output_coordinate,
            heads_bound=heads_bound,
            method=method,
            rank=_rank(rank),
            seed=seed,
            workers=workers,
            dask=dask,
            blocks=blocks,
            compiled=compiled,
            output=heads_file,
            certificate=certificate,
            json_output=json_output,
        )
        raise typer.Exit(int(not equal))
    wanted = neurons is not None or kink_spacing is not None or residual
    transformer = (
        load_transformer(file) if file is not None and (wanted or is_transformer_file(file)) else None
    )
    if transformer is not None or wanted:
        layer_only = (heads, rank, output_error, longest)
        refuse_layer_options(any(layer_only) or method != "published" or bias or robust, numbers)
        with (
            TransformerOracle(transformer)
            if transformer is not None
            else _oracle(None, oracle_command, oracle_timeout, answers, dim) as oracle,
            _missing_written(missing),
        ):
            same = recover_and_show(
                oracle, transformer, heads=heads_bound, neurons=neurons, kink_spacing=kink_spacing,
                residual=residual, denominator=denominator, seed=seed, transcript=transcript,
                certificate=certificate, json_output=json_output,
            )  # fmt: skip
        raise typer.Exit(int(same is False))
    affine = load_affine_layer(file) if bias and file is not None else None
    layer = None if file is None else affine.lifted() if affine is not None else load_layer(file)
    bound = None if heads == "auto" else _bound(affine or layer, heads_bound)
    if heads == "auto" and heads_bound is not None:
        raise InputError("give --heads auto or --heads-bound, not both", field="--heads")
    noisy = output_error is not None
    if noisy and (method != "published" or rank is not None or bound is None):
        raise InputError("goes with the published method at a known number of heads", field="--output-error")
    if (robust or longest is not None) and not noisy:
        raise InputError("belongs to runs with --output-error", field="--robust" if robust else "--longest")
    system = _system(layer, numbers, noisy, certificate)
    if certificate is not None and system == "balls" and (method != "published" or bound is None):
        raise InputError(
            "over balls, certificates are written for the published method with a known number of heads; use "
            "--numbers lattice",
            field="--certificate",
        )
    with (
        _oracle(affine or layer, oracle_command, oracle_timeout, answers, dim) as oracle,
        progress_bars(not json_output) as progress,
        _missing_written(missing),
    ):
        if output_error is not None and bound is not None and system != "prime":
            from exactattn.cli.noisy import recover_noisy

            inside = recover_noisy(
                oracle,
                affine or layer,
                bound
                if layer is None or heads_bound is not None
                else len((affine or layer).canonical().heads),
                output_error,
                bias=bias,
                numbers=system,
                denominator=denominator or (1 if layer is None else layer.denominator()),
                robust=robust,
                longest=longest,
                seed=seed,
                transcript=transcript,
                certificate=certificate,
                progress=progress,
                json_output=json_output,
            )
            raise typer.Exit(int(inside is False))
        result = run_recovery(
            oracle,
            bound,
            method=method,
            rank=_rank(rank),
            bias=bias,
            numbers=system,
            denominator=denominator or (1 if layer is None else layer.denominator()),
            digits=digits,
            seed=seed,
            transcript=transcript,
            max_precision=max_precision,
            progress=progress,
        )
    verdict = None if layer is None else result.matches(affine or layer)
    try:  # before anything is printed: a closed pipe must not lose the certificate
        if certificate is not None:
            _certify(result, affine or layer, verdict, certificate)
    finally:
        if json_output:
            print_json(_summary(result, verdict))
        else:
            _show(result, verdict)
    if certificate is not None and not json_output:
        stdout.print(
            f"\ncertificate: {certificate} (check it with: exactattn check {certificate})", markup=False
        )
    if verdict is False:
        raise typer.Exit(1)


def _certify(
    result: Recovery, layer: Attention | AffineAttention | None, verdict: bool | None, file: Path
) -> None:
    """Writes the certificate of the run's kind."""
    if verdict is False:
        raise CertificateError("the recovered heads are not the model's canonical form; no certificate")
    write: Any = lattice_certificate if result.system.name == "lattice" else ball_certificate
    write_certificate(write(result, layer), file)


@contextmanager
def _missing_written(path: Path | None) -> Iterator[None]:
    """Queries that a recording has no answer for (non-generic ones were drawn again) go to a file."""
    try:
        yield
    except MissingAnswers as error:
        if path is None:
            raise MissingAnswers(f"{error}: add --missing FILE to have them written", error.queries) from None
        write_file("".join(query_line(query) for query in error.queries), path)
        raise MissingAnswers(
            f"{path}: wrote {len(error.queries)} queries without an answer; add their answers to the "
            "recording and run again",
            error.queries,
        ) from None


def _rank(text: str | None) -> int | Literal["auto"] | None:
    if text is None:
        return None
    if text == "auto":
        return "auto"
    if not text.isdecimal():
        raise InputError(f"must be auto or a number, not {text!r}", field="--rank")
    return int(text)


def _bound(layer: Attention | AffineAttention | None, heads_bound: int | None) -> int:
    if heads_bound is not None:
        return heads_bound
    if layer is None:
        raise InputError("give the number of heads, an upper bound, or --heads auto", field="--heads-bound")
    return max(1, len(layer.heads))


def _system(
    layer: Attention | None,
    numbers: Literal["lattice", "balls", "prime"] | None,
    noisy: bool,
    certificate: Path | None,
) -> Literal["lattice", "balls", "prime"]:
    if numbers == "prime":
        if noisy or certificate is not None:
            raise InputError("a run modulo a prime has no error bounds and no certificate", field="--numbers")
        return numbers
    return (numbers or "balls") if noisy else number_system(layer, numbers)


def number_system(
    layer: Attention | None, numbers: Literal["lattice", "balls"] | None
) -> Literal["lattice", "balls"]:
    """The asked system; otherwise the lattice when scores of unit tokens stay short there."""
    if numbers is not None or layer is None:
        return numbers or "lattice"
    D = layer.denominator()
    largest = max((abs(x) for h in layer.heads for row in h.W for x in row), default=0)
    return "lattice" if D * largest <= LATTICE_BITS else "balls"


def _oracle(
    layer: Attention | AffineAttention | None,
    command: str | None,
    timeout: float,
    answers: Path | None,
    dim: int | None,
) -> Oracle:
    if layer is not None:
        if dim not in (None, layer.dim):
            raise InputError(f"is {dim}, but the model's token size is {layer.dim}", field="--dim")
        return AffineOracle(layer) if isinstance(layer, AffineAttention) else ExactOracle(layer)
    if answers is not None:
        return RecordedOracle.from_jsonl(answers)
    if dim is None:
        raise InputError("is needed with --oracle-command", field="--dim")
    return CommandOracle(str(command), dim, timeout=timeout)


def _summary(result: Recovery, verdict: bool | None) -> dict[str, Any]:
    return {
        "method": result.plan.method,
        "queries": result.queries,
        "formula": result.formula,
        "verifying_queries": result.verifying,
        "published": result.published,
        "identified": result.identified,
        "notes": list(result.notes),
        "longest": result.longest,
        "longest_allowed": result.longest_allowed,
        "redraws": result.redraws,
        "redraw_reasons": list(result.redraw_reasons),
        "heads": result.heads_json(),
        "constant": result.constant_text(),
        "heads_bound": result.plan.heads,
        "completeness": result.completeness,
        "matches_model": verdict,
        "numbers": result.system.describe(),
        "refinements": result.refinements,
        "resent": result.resent,
        "seed": result.plan.seed,
        "seconds": round(result.seconds, 3),
    }


def _show(result: Recovery, verdict: bool | None) -> None:
    words = {True: "yes, exactly", False: "NO", None: "no model to compare with"}
    if verdict and result.system.name == "balls":
        words[True] = "yes: every true parameter lies in its enclosure"
    facts = [
        *result.facts(),
        ("seed", str(result.plan.seed)),
        ("equals the model's canonical form", words[verdict]),
    ]
    stdout.print(facts_table("recovery", facts))
    print_heads([(h.W, h.v) for h in result.heads])
