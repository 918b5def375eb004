"""exactattn recover WEIGHTS --layer N: the heads of an attention layer of a trained model, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from rich.table import Table

from exactattn.certificate.prime import companion_path, write_prime_certificate
from exactattn.checkpoint import open_checkpoint
from exactattn.cli.console import facts_table, print_json, progress_bars, stdout
from exactattn.cli.recover_options import LAYER_OPTIONS, RecoverOptions
from exactattn.exceptions import InputError
from exactattn.model.files import write_file
from exactattn.prime.cluster import dask_executor
from exactattn.prime.dyadic_layer import DyadicLayer, trained_layer
from exactattn.prime.plan import BlockPlan
from exactattn.prime.trained import TrainedRecovery, recover_trained
from exactattn.recovery.counts import identified_count, published_count
from exactattn.recovery.draw import draw_vector

__all__ = ["recover_trained_layer"]

READOUT_RADIUS = 1000
KEEPS = "with --blocks finished blocks are kept"


def recover_trained_layer(options: RecoverOptions) -> bool:
    """Recovers, compares afterwards, prints; whether the heads equal the layer's own. The rank "auto" is the
    head size."""
    options.refuse_others(LAYER_OPTIONS, "--layer")
    if options.dask is not None:
        options.refuse({"--workers"}, "--dask, whose cluster has workers of its own")
    certificate, rank, layer = options.certificate, options.rank_bound, options.layer_number or 0
    if rank is not None and options.method == "published":
        raise InputError("does not go with the published method; use --method optimal", field="--rank")
    if certificate is not None:
        if options.method != "published":
            raise InputError("of layers are for --method published", field="--certificate")
        companion_path(certificate)  # refuses before the work begins
    checkpoint = open_checkpoint(str(options.file), options.config)
    if layer not in checkpoint.layers:
        raise InputError(f"must be from 0 to {len(checkpoint.layers) - 1}, not {layer}", field="--layer")
    attention = checkpoint.attention(layer)
    width = attention.spec.width
    coordinate = options.output_coordinate
    if coordinate is not None and not 0 <= coordinate < width:
        raise InputError(f"must be from 0 to {width - 1}, not {coordinate}", field="--output-coordinate")
    box = trained_layer(attention, _readout(width, coordinate, options.seed))
    with _executor(options.dask) as executor, progress_bars(not options.json_output, KEEPS) as progress:
        found = recover_trained(
            box,
            options.heads_bound,
            method=options.method,
            rank=attention.spec.head_size if rank == "auto" else rank,
            seed=options.seed,
            compiled=options.compiled,
            workers=options.workers,
            executor=executor,
            folder=options.blocks,
            progress=progress,
        )
    equal = found.matches(box)
    if certificate is not None:
        plan = BlockPlan(options.heads_bound or len(box.W), width, options.seed, box.bias)
        write_prime_certificate(found, plan, box, certificate)
    size = min(width, attention.spec.head_size)
    identified = identified_count(len(found.W), width, size, bias=box.bias)
    summary = _summary(found, box, attention.name, coordinate, identified, equal)
    if options.heads_file is not None:
        write_file(_heads_json(found, box), options.heads_file)
    if options.json_output:
        print_json(summary)
    else:
        _show(found, box, summary)
        if certificate is not None:
            stdout.print(
                f"\ncertificate: {certificate} and {companion_path(certificate).name} (check them with: "
                f"exactattn check {certificate})",
                markup=False,
            )
    return equal


def _readout(width: int, coordinate: int | None, seed: int) -> list[int]:
    if coordinate is not None:
        return [int(i == coordinate) for i in range(width)]
    return [int(x.p) for x in draw_vector(seed, "readout", 0, 0, width, READOUT_RADIUS)]


@contextmanager
def _executor(address: str | None) -> Iterator[Executor | None]:
    if address is None:
        yield None
        return
    with dask_executor(address) as executor:
        yield executor


def _summary(
    found: TrainedRecovery,
    box: DyadicLayer,
    name: str,
    coordinate: int | None,
    identified: int,
    equal: bool,
) -> dict[str, Any]:
    heads, rows, dim = found.W.shape
    return {
        "layer": name,
        "output": "random combination" if coordinate is None else f"coordinate {coordinate}",
        "heads": heads,
        "dim": dim,
        "bias": rows > dim,
        "queries": found.queries,
        "published": published_count(len(box.W), dim, bias=rows > dim),
        "identified": identified,
        "primes": [run.field.prime for run in found.runs],
        "queries_by_prime": [run.queries + run.further for run in found.runs],
        "mended": [run.mended for run in found.runs],
        "fresh_prime": found.fresh_prime,
        "fresh_queries": found.fresh_queries,
        "score_unit": f"2^{box.score_exponent} * sqrt({box.scale_squared})",
        "value_unit": f"2^{box.value_exponent}",
        "score_bits": box.score_bits,
        "value_bits": box.value_bits,
        "proved": found.bounded,
        "equals_weights": equal,
        "seconds": round(found.seconds, 2),
    }


def _show(found: TrainedRecovery, box: DyadicLayer, summary: dict[str, Any]) -> None:
    bias = ", with query bias and constant" if summary["bias"] else ""
    facts = [
        ("layer", f"{summary['layer']}, output {summary['output']}"),
        ("heads recovered", f"{summary['heads']} of token size {summary['dim']}{bias}"),
        ("W_h", f"integers of at most {box.score_bits} bits times {summary['score_unit']}"),
        ("v_h", f"integers of at most {box.value_bits} bits times {summary['value_unit']}"),
        ("integers", "proved by their bound" if found.bounded else "unchanged by one prime more"),
        ("queries asked", f"{found.queries:,}"),
        ("published count, one prime", f"{summary['published']:,}"),
        ("identified parameters", f"{summary['identified']:,}"),
        ("fresh queries that agree", f"{found.fresh_queries} modulo {found.fresh_prime}"),
        ("seconds", f"{found.seconds:.1f}"),
        ("equals W_QᵀW_K and W_O W_V of the weights", "yes, exactly" if summary["equals_weights"] else "NO"),
    ]
    stdout.print(facts_table("recovery of a trained layer", facts))
    table = Table(title="\n[bold]modulo each prime", title_justify="left", box=None, pad_edge=False)
    for column in ("prime", "queries", "exceptional probes", "queries for these"):
        table.add_column(column, justify="right")
    for run in found.runs:
        table.add_row(f"{run.field.prime}", f"{run.queries:,}", f"{run.mended}", f"{run.further}")
    stdout.print(table)


def _heads_json(found: TrainedRecovery, box: DyadicLayer) -> str:
    """The integers, head by head, one row a line."""

    def rows(matrix: Any) -> str:
        return ",\n".join("[" + ", ".join(f'"{x}"' for x in row) + "]" for row in matrix)

    heads = ",\n".join(
        f'{{"W": [\n{rows(W)}],\n"v": [' + ", ".join(f'"{x}"' for x in v) + "]}"
        for W, v in zip(found.W.tolist(), found.v.tolist(), strict=True)
    )
    return (
        f'{{"score_exponent": {box.score_exponent}, "scale_squared": "{box.scale_squared}", '
        f'"value_exponent": {box.value_exponent}, "constant": "{found.constant}",\n"heads": [\n{heads}]}}\n'
    )
