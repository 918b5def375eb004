"""Rank certificates against floating-point singular values and sympy, at growing sizes.

    python tests/benchmarks/rank_table.py [WIDTH HEADS]...

For each layer: seconds to make the certificate, to check it with the standard-library checker, its size, the
peak memory of making it; then, for the Jacobian of as many outputs in float64, seconds of numpy's singular
values and the factor between the last one that counts and the first that does not; then seconds of sympy's
rank of the rows modulo p, up to a limit. Each measurement runs in a process of its own. The last lines give
the exponents of growth.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from flint import fmpq
from rich.console import Console
from rich.table import Table
from sympy import GF
from sympy.polys.matrices import DomainMatrix

from exactattn.checker import check_data
from exactattn.identify import AttentionSpec
from exactattn.identify.jacobian import input_sizes, jacobian_rows
from exactattn.identify.layer import Constants, LayerRun
from exactattn.identify.parameters import Array, join, parameter_count, parameter_shapes
from exactattn.identify.rank_certificate import certify_count
from exactattn.identify.specialisation import Point

DEFAULT = ((5, 1), (16, 4), (36, 4), (50, 5))
SYMPY_SECONDS = 120
SINGULAR_SECONDS = 1800


class FloatArrays:
    """Arrays of float64, for comparison only."""

    def constant(self, x: fmpq) -> float:
        return float(int(x.p) / int(x.q))

    def zeros(self, shape: tuple[int, ...]) -> Array:
        return np.zeros(shape)

    def add(self, a: Array, b: Array) -> Array:
        return a + b

    def multiply(self, a: Array, b: Any) -> Array:
        return a * b

    def total(self, a: Array, axes: tuple[int, ...]) -> Array:
        return a.sum(axis=axes)

    def contract(self, subscripts: str, a: Array, b: Array) -> Array:
        return np.einsum(subscripts, a, b, optimize=True)

    def inverse(self, a: Array) -> Array:
        return 1 / a

    def root(self, a: Array) -> Array:
        return np.sqrt(a)

    def is_square(self, a: Array) -> Array:
        return a > 0


def float_jacobian(spec: AttentionSpec) -> Array:
    """As many rows as the certificate draws, at a random point of moderate size."""
    source = np.random.default_rng(1)
    shapes = parameter_shapes(spec)
    parameters = {name: source.normal(size=shape) / math.sqrt(shape[-1]) for name, shape in shapes.items()}
    constants = Constants(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(spec.heads), 1.0)
    rows = []
    for n, _ in input_sizes(spec, int(1.03 * parameter_count(spec))):
        run = LayerRun(spec, FloatArrays(), parameters, constants, lambda _, x: np.exp(x))
        outputs = run.outputs(source.normal(size=(n, spec.width)) * 1.5, None, range(n))
        unit = np.eye(n * spec.width).reshape(-1, n, spec.width)
        parts = run.tape.pull_back(outputs, unit, list(run.leaves.values()))
        rows.append(join(dict(zip(run.leaves, parts, strict=True)), shapes, lead=1))
    return np.concatenate(rows)


def certificate(spec: AttentionSpec) -> dict[str, Any]:
    """Seconds and memory of making, seconds of checking, verdict."""
    start = time.perf_counter()
    made = certify_count(spec, deterministic=False)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    text = json.dumps(made.content)
    start = time.perf_counter()
    verdict = check_data(json.loads(text))
    return {
        "rank": made.at_least,
        "verdict": f"{made.verdict}, {verdict.word}",
        "make": seconds,
        "check": time.perf_counter() - start,
        "kilobytes": len(text) / 1000,
        "megabytes": peak,
    }


def singular_values(spec: AttentionSpec, rank: int) -> dict[str, Any]:
    """Seconds of the singular values, and the gap behind the certified rank."""
    rows = float_jacobian(spec)
    start = time.perf_counter()
    values = np.linalg.svd(rows, compute_uv=False)
    seconds = time.perf_counter() - start
    return {"svd": seconds, "gap": float(values[rank - 1] / values[rank]) if rank < len(values) else math.inf}


def sympy_rank(spec: AttentionSpec) -> dict[str, Any]:
    """Seconds of sympy on the rows modulo p."""
    point = Point.draw(spec, 1, input_sizes(spec, int(1.03 * parameter_count(spec))))
    rows = np.concatenate([part.rows for part in jacobian_rows(point)])
    field = GF(point.primes[0])
    matrix = DomainMatrix([[field(int(x)) for x in row] for row in rows], rows.shape, field)
    start = time.perf_counter()
    return {"sympy rank": matrix.rank(), "sympy": time.perf_counter() - start}


def apart(work: Callable[..., dict[str, Any]], limit: float, *arguments: Any) -> dict[str, Any]:
    """The result of a function in a process of its own, or nothing beyond a time limit."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, work, arguments))
    process.start()
    try:
        return dict(receiver.recv()) if receiver.poll(limit) else {}
    except EOFError:
        return {}
    finally:
        process.kill()
        process.join()


def _send(sender: Any, work: Callable[..., dict[str, Any]], arguments: tuple[Any, ...]) -> None:
    sender.send(work(*arguments))


def measured(width: int, heads: int) -> dict[str, Any]:
    """All measurements of one layer."""
    spec = AttentionSpec.of(width, heads)
    result = {"parameters": parameter_count(spec)} | apart(certificate, 3600, spec)
    result |= apart(singular_values, SINGULAR_SECONDS, spec, result["rank"])
    return result | apart(sympy_rank, SYMPY_SECONDS, spec)


def main(arguments: list[str]) -> None:
    """Prints the table."""
    sizes = [int(x) for x in arguments]
    layers = list(zip(sizes[::2], sizes[1::2], strict=True)) or list(DEFAULT)
    columns = (
        "parameters",
        "rank",
        "verdict",
        "make",
        "check",
        "kilobytes",
        "megabytes",
        "svd",
        "gap",
        "sympy",
    )
    table = Table(*columns, title="seconds unless said otherwise")
    console = Console(width=130)
    found = []
    for width, heads in layers:
        found.append(measured(width, heads))
        table.add_row(*(_text(found[-1].get(column)) for column in columns))
        console.print(
            f"width {width}, heads {heads}: {json.dumps(found[-1])}", soft_wrap=True, highlight=False
        )
    console.print(table)
    for name in ("make", "check", "svd", "sympy"):
        pairs = [(each["parameters"], each[name]) for each in found if each.get(name, 0) > 0]
        if len(pairs) > 1:
            (n, s), (m, t) = pairs[-2:]
            growth = math.log(t / s) / math.log(m / n)
            console.print(f"{name}: seconds grow with parameters to the power {growth:.1f} (last two sizes)")


def _text(x: Any) -> str:
    if x is None:
        return "–"
    return f"{x:.3g}" if isinstance(x, float) else str(x)


if __name__ == "__main__":
    main(sys.argv[1:])
