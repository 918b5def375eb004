"""Recovery in a prime field at the sizes of real layers: time, memory, shares of the stages, and rivals.

    python tests/benchmarks/prime_table.py                        sizes up to (12, 128), one process
    python tests/benchmarks/prime_table.py --largest --workers 2  with (12, 384) and (12, 768)
    python tests/benchmarks/prime_table.py --compiled             with numba
    python tests/benchmarks/prime_table.py --methods              three methods at (12, 768), full rank and
    rank 64 python tests/benchmarks/prime_table.py --rivals               one probe by other means, at H = 12

Layers are random integers of 24 bits, or products of factors with entries −1, 0, 1 for a rank. Every run must
return the planted heads. Every row is a process of its own; times are wall and CPU seconds of the recovery
alone, without the drawing of the layer and without compilation (a small run comes first).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # two threads of a product would wait for each other

import numpy as np
from flint import nmod_mat
from rich.console import Console
from rich.table import Table

from exactattn.prime import PrimeField, PrimeLayer, ProbeGroup, recover_prime
from exactattn.prime.arithmetic import Array
from exactattn.prime.careful import careful_interpolation
from exactattn.prime.interpolation import Interpolation
from exactattn.prime.kernels import Kernels, kernels

Method = Literal["published", "consistent", "optimal"]

SMALL = [(4, 8), (8, 16), (12, 64), (64, 64), (12, 128)]
LARGE = [(12, 384), (12, 768)]
METHODS: list[tuple[Method, int | None]] = [
    ("published", None), ("consistent", None), ("optimal", None), ("consistent", 64), ("optimal", 64),
]  # fmt: skip
STAGES = ("scores", "values", "recurrences", "roots", "residues", "labels")


class StageClock:
    """CPU seconds by stage."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its time booked under a name."""

        def run(*arguments: Any) -> Any:
            start = time.process_time()
            result = function(*arguments)
            self.seconds[name] += time.process_time() - start
            return result

        return run


class TimedField(PrimeField):
    """A field whose inner functions are timed (in one process)."""

    clock = StageClock()

    @property
    def kernels(self) -> Kernels:
        """The inner functions, each with its time booked."""
        plain, timed = kernels(self.compiled), self.clock.timed
        return Kernels(
            timed("values", plain.sums_of_fractions), timed("recurrences", plain.recurrences),
            timed("roots", plain.root_exponents), timed("residues", plain.residue_quotients),
            timed("labels", plain.labels), plain.powers,
        )  # fmt: skip


class TimedLayer(PrimeLayer):
    """The black box, with the time of everything but the fractions booked as scores."""

    def group_answers(
        self, groups: Sequence[ProbeGroup], copies: Sequence[int], *, exponent: int = 1
    ) -> list[Array]:
        """The answers."""
        clock = TimedField.clock
        before, start = clock.seconds["values"], time.process_time()
        found = super().group_answers(groups, copies, exponent=exponent)
        clock.seconds["scores"] += time.process_time() - start - (clock.seconds["values"] - before)
        return found


def drawn_layer(field: PrimeField, heads: int, dim: int, rank: int | None) -> PrimeLayer:
    """24-bit integers, or a product of factors with entries −1, 0, 1."""
    rng = np.random.default_rng([heads, dim])
    if rank is None:
        W = rng.integers(-(2**23), 2**23, (heads, dim, dim))
    else:
        left, right = rng.integers(-1, 2, (heads, dim, rank)), rng.integers(-1, 2, (heads, rank, dim))
        W = np.rint(left.astype(np.float64) @ right.astype(np.float64)).astype(np.int64)
    return TimedLayer(field, W, rng.integers(-(2**23), 2**23, (heads, dim)))


def is_planted(found: Any, layer: PrimeLayer) -> bool:
    """Whether all heads are the layer's, W modulo the order that the method shows."""
    order = layer.field.order
    signed = np.where(order < 2 * layer.W, layer.W - order, layer.W) % found.order
    heads = sorted(range(len(layer.v)), key=lambda h: layer.v[h].tolist())
    return bool((signed[heads] == found.W).all() and (found.v == layer.v[heads]).all())


def cpu_seconds() -> float:
    """Of this process and its finished children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class PeakMemory(threading.Thread):
    """The largest sum of the proportional memory of this process and its children, sampled (Linux)."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.kilobytes = 0
        self.over = threading.Event()

    def run(self) -> None:
        """Samples five times a second."""
        while not self.over.wait(0.2):
            self.kilobytes = max(self.kilobytes, sum(map(proportional_memory, own_processes())))


def own_processes() -> list[int]:
    """This process and its children."""
    found = [os.getpid()]
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
                if int(parent) == os.getpid():
                    found.append(int(entry.name))
    return found


def proportional_memory(process: int) -> int:
    """Kilobytes, shared pages divided by how many share them."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def measured(
    heads: int, dim: int, method: Method, rank: int | None, *, compiled: bool, workers: int
) -> dict[str, Any]:
    """One run in this process."""
    field = TimedField(compiled=compiled)
    if compiled:
        small = drawn_layer(field, 2, 4, None)
        recover_prime(small, 2, 4, field, method=method)
    layer = drawn_layer(field, heads, dim, rank)
    TimedField.clock.seconds.update(dict.fromkeys(STAGES, 0.0))
    memory = PeakMemory()
    memory.start()
    start, cpu = time.perf_counter(), cpu_seconds()
    found = recover_prime(layer, heads, dim, field, method=method, rank=rank, workers=workers)
    wall, used = time.perf_counter() - start, cpu_seconds() - cpu
    if not is_planted(found, layer):
        raise SystemExit(f"({heads}, {dim}), {method}: not the planted heads")
    memory.over.set()
    peak = max(memory.kilobytes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return {
        "queries": found.queries,
        "further": found.further,
        "wall": wall,
        "cpu": used,
        "memory_mb": peak / 1024,
        "stages": TimedField.clock.seconds,
    }


def row_in_a_process(
    arguments: argparse.Namespace, heads: int, dim: int, method: Method, rank: int | None
) -> Any:
    """The same in a process of its own, for its memory."""
    row = json.dumps([heads, dim, method, rank, arguments.compiled, arguments.workers])
    done = subprocess.run(
        [sys.executable, __file__, "--row", row], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


def sizes_table(arguments: argparse.Namespace) -> None:
    """All sizes by the published method, or all methods at the largest size."""
    sizes = SMALL + (LARGE if arguments.largest else [])
    rows: list[tuple[int, int, Method, int | None]] = [(H, d, "published", None) for H, d in sizes]
    if arguments.methods:
        rows = [(*LARGE[-1], method, rank) for method, rank in METHODS]
    kind = "numba" if arguments.compiled else "numpy"
    table = Table(title=f"recovery in a prime field, {kind}, {arguments.workers} process(es)")
    for column in (
        "H",
        "d",
        "method",
        "rank",
        "queries",
        "further",
        "wall s",
        "CPU s",
        "queries/CPU s",
        "MB",
    ):
        table.add_column(column, justify="right")
    if arguments.workers == 1:
        for stage in (*STAGES, "other"):
            table.add_column(f"{stage} %", justify="right")
    results = []
    for H, d, method, rank in rows:
        result = row_in_a_process(arguments, H, d, method, rank)
        results.append((H, d, result["cpu"]))
        cells = [str(H), str(d), method, str(rank or d), f"{result['queries']:,}", f"{result['further']:,}"]
        cells += [
            f"{result['wall']:.2f}",
            f"{result['cpu']:.2f}",
            f"{result['queries'] / result['cpu']:,.0f}",
        ]
        cells.append(f"{result['memory_mb']:.0f}")
        if arguments.workers == 1:
            shares = [result["stages"][stage] / result["cpu"] for stage in STAGES]
            cells += [f"{100 * share:.0f}" for share in (*shares, 1 - sum(shares))]
        table.add_row(*cells)
    Console(width=180).print(table)
    if not arguments.methods:
        print_growth(results)


def print_growth(results: list[tuple[int, int, float]]) -> None:
    """Exponents of the CPU time in H and in d, between the two largest sizes that differ in one."""
    by_size = {(H, d): cpu for H, d, cpu in results}
    dims = sorted(d for H, d in by_size if H == 12)
    a, b = dims[-2:]
    in_d = math.log(by_size[12, b] / by_size[12, a]) / math.log(b / a)
    in_H = math.log(by_size[64, 64] / by_size[12, 64]) / math.log(64 / 12)
    print(
        f"CPU time grows like d^{in_d:.2f} from {a} to {b} at H = 12, "
        f"like H^{in_H:.2f} from 12 to 64 at d = 64"
    )


def best_of(repeat: int, function: Callable[[], Any]) -> float:
    """CPU seconds."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def rivals_table(arguments: argparse.Namespace) -> None:
    """Interpolation of one probe at H = 12 by several means, in one run; and what no means can save."""
    H, many, few = 12, 1 << 14, 50
    field, copies = PrimeField(compiled=arguments.compiled), tuple(range(1, 25))
    rng = np.random.default_rng(1)
    exponents = rng.integers(0, field.order, (H, many)).astype(np.uint64)
    residues = rng.integers(1, field.prime, (H, many)).astype(np.uint64)
    nodes = np.array(copies, dtype=np.uint64)
    zero = np.zeros(many, dtype=np.uint64)
    values = field.kernels.sums_of_fractions(zero, residues, field.exp(exponents), nodes, field)
    solver = Interpolation(field, copies, H)
    width = 1 << 12
    pieces = [np.ascontiguousarray(values[:, k : k + width]) for k in range(0, many, width)]
    columns = values[:, :few].T.tolist()
    found = solver(pieces[0])
    for k, column in enumerate(columns):
        pairs = zip(found.exponents[:, k].tolist(), found.residues[:, k].tolist(), strict=True)
        if careful_interpolation(field.scalar, copies, column) != sorted(pairs):
            raise SystemExit("the two ways disagree")
    engine = best_of(3, lambda: [solver(piece) for piece in pieces]) / many
    flint = best_of(2, lambda: [careful_interpolation(field.scalar, copies, c) for c in columns]) / few
    dense = best_of(2, lambda: [dense_solve(field.prime, copies, c) for c in columns]) / few
    touch = best_of(5, lambda: [int(piece.sum()) for piece in pieces]) / many
    table = Table(title=f"one probe at H = {H}, CPU µs, {'numba' if arguments.compiled else 'numpy'}")
    for name in ("way", "µs", "against the engine"):
        table.add_column(name, justify="right")
    for name, seconds in (
        ("engine: poles, logarithms, residues", engine),
        ("python-flint, one probe after the other", flint),
        ("dense 2H×2H solve alone, python-flint", dense),
        ("touching the 2H answers once", touch),
    ):
        table.add_row(name, f"{1e6 * seconds:.4g}", f"{seconds / engine:.3g}")
    Console(width=120).print(table)


def dense_solve(p: int, copies: Sequence[int], values: Sequence[int]) -> Any:
    """Numerator and denominator of the rational function from linear equations."""
    H = len(copies) // 2
    rows, right = [], []
    for m, g in zip(copies, values, strict=True):
        powers = [pow(m, k, p) for k in range(H)]
        rows += [*powers, *(-g * x % p for x in powers)]
        right.append(g * pow(m, H, p) % p)
    return nmod_mat(2 * H, 2 * H, rows, p).solve(nmod_mat(2 * H, 1, right, p))


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--largest", action="store_true")
    parser.add_argument("--methods", action="store_true")
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--row", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.row:
        H, d, method, rank, compiled, workers = json.loads(arguments.row)
        print(json.dumps(measured(H, d, method, rank, compiled=compiled, workers=workers)))
    elif arguments.rivals:
        rivals_table(arguments)
    else:
        sizes_table(arguments)


if __name__ == "__main__":
    main()
