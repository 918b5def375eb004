"""exactattn recover: the canonical heads of a layer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from exactattn.certificate import ball_certificate, lattice_certificate, write_certificate
from exactattn.cli.console import (
    conclude,
    facts_table,
    print_heads,
    progress_bars,
    stdout,
)
from exactattn.cli.noisy import recover_noisy
from exactattn.cli.recover_options import RecoverOptions
from exactattn.cli.recover_sources import black_box, missing_written
from exactattn.exceptions import CertificateError, InputError
from exactattn.model import Attention, load_layer
from exactattn.model.affine import AffineAttention
from exactattn.model.affine_files import load_affine_layer
from exactattn.oracle import ExactOracle, Oracle
from exactattn.oracle.affine import AffineOracle
from exactattn.recovery import Recovery
from exactattn.recovery import recover as run_recovery

__all__ = ["number_system", "recover_heads"]

LATTICE_BITS = 4096


def recover_heads(options: RecoverOptions) -> bool | None:
    """Recovers, shows, and says whether the heads are those of FILE; None without FILE."""
    file, noisy = options.file, options.output_error is not None
    affine = load_affine_layer(file) if options.bias and file is not None else None
    layer = None if file is None else affine.lifted() if affine is not None else _layer(file)
    bound = _bound(affine or layer, options)
    system = _system(layer, options)
    _check(options, bound, system)
    denominator = options.denominator or (1 if layer is None else layer.denominator())
    with (
        black_box(options, _model_oracle(affine or layer)) as oracle,
        progress_bars(not options.json_output) as progress,
        missing_written(options.missing),
    ):
        if noisy and bound is not None and system != "prime":
            own = affine or layer
            exact = bound if own is None or options.heads_bound else len(own.canonical().heads)
            return recover_noisy(oracle, own, exact, system, denominator, options, progress)
        result = run_recovery(
            oracle,
            bound,
            method=options.method,
            rank=options.rank_bound,
            bias=options.bias,
            numbers=system,
            denominator=denominator,
            digits=options.digits,
            seed=options.seed,
            transcript=options.transcript,
            max_precision=options.max_precision,
            progress=progress,
        )
    verdict = None if layer is None else result.matches(affine or layer)
    conclude(
        options.certificate,
        options.json_output,
        certify=lambda path: _certify(result, affine or layer, verdict, path),
        summary=lambda: _summary(result, verdict),
        show=lambda: _show(result, verdict),
    )
    return verdict


def _check(options: RecoverOptions, bound: int | None, system: str) -> None:
    """Raises InputError for options that contradict each other, or that the run would not look at."""
    noisy = options.output_error is not None
    if noisy and (options.method != "published" or options.rank is not None or bound is None):
        raise InputError("goes with the published method at a known number of heads", field="--output-error")
    if noisy:
        options.refuse({"--digits", "--max-precision"}, "--output-error")
    else:
        options.keep_for("--output-error", {"--robust", "--longest"})
    if not options.robust:
        options.keep_for("--robust", {"--longest"})
    if system != "balls":
        options.refuse({"--digits", "--max-precision"}, f"--numbers {system}, where numbers are exact")
    else:
        options.refuse({"--denominator"}, "--numbers balls")
    if (
        options.certificate is not None
        and system == "balls"
        and (options.method != "published" or bound is None)
    ):
        raise InputError(
            "over balls, certificates are written for the published method with a known number of heads; use "
            "--numbers lattice",
            field="--certificate",
        )


def _layer(file: Path) -> Attention:
    try:
        return load_layer(file)
    except InputError as error:
        if file.suffix != ".safetensors" or not file.is_file():
            raise
        raise InputError(f"{error}; --layer N recovers a layer of a checkpoint") from None


def _model_oracle(layer: Attention | AffineAttention | None) -> Oracle | None:
    if layer is None:
        return None
    return AffineOracle(layer) if isinstance(layer, AffineAttention) else ExactOracle(layer)


def _certify(
    result: Recovery, layer: Attention | AffineAttention | None, verdict: bool | None, file: Path
) -> None:
    """Writes the certificate of the run's kind."""
    if verdict is False:
        raise CertificateError("the recovered heads are not the model's canonical form; no certificate")
    write: Any = lattice_certificate if result.system.name == "lattice" else ball_certificate
    write_certificate(write(result, layer), file)


def _bound(layer: Attention | AffineAttention | None, options: RecoverOptions) -> int | None:
    if options.heads == "auto":
        options.refuse({"--heads-bound"}, "--heads auto")
        return None
    if options.heads_bound is not None:
        return options.heads_bound
    if layer is None:
        raise InputError("give the number of heads, an upper bound, or --heads auto", field="--heads-bound")
    return max(1, len(layer.heads))


def _system(layer: Attention | None, options: RecoverOptions) -> Literal["lattice", "balls", "prime"]:
    numbers = options.numbers
    noisy = options.output_error is not None
    if numbers == "prime":
        if noisy or options.certificate is not None:
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
