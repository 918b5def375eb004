"""Exact rational interpolation against its alternatives, on the same samples, in one run.

python tests/benchmarks/interpolation_table.py [--rounds N] [--budget SECONDS]

The alternatives solve the dense linear system for the coefficients of numerator and denominator: over Q, or
over Z with denominators cleared (python-flint, then factorisation), in sympy (rational_interpolate, then
factorisation), or in floating point (mpmath: lu_solve, then polyroots; nothing is proved). All exact results
must equal the planted numbers. An alternative that takes longer than the budget, or fails, is not run on
larger sizes of the family; "–" marks that.
"""

from __future__ import annotations

import argparse
import gc
import math
import random
import time
from collections.abc import Callable

import mpmath
import sympy
from flint import fmpq, fmpq_mat, fmpq_poly, fmpz, fmpz_mat
from rich.console import Console
from rich.table import Table

from exactattn.recovery.rational import partial_fractions_over_q

Pairs = list[tuple[fmpq, fmpq]]
Method = Callable[[list[fmpq], list[fmpq]], object]

SIZES = {
    "integers": (2, 4, 8, 16, 32, 64),
    "fractions": (2, 4, 8, 16, 32, 64),
    "powers of two": (2, 4, 8, 16, 32, 64),
    "2^e, |e| ≤ 15000": (2, 6),
}
ROUND_SECONDS = 0.002


def planted(family: str, poles: int) -> tuple[list[fmpq], list[fmpq], Pairs]:
    """Nodes 1..2H, the samples there, and the sorted pairs (r_h, c_h) they come from; seeded."""
    rng = random.Random(f"{family} {poles}")
    if family == "integers":
        r = [fmpq(x) for x in rng.sample(range(1, 20 * poles), poles)]
    elif family == "fractions":
        r = [x + fmpq(1, rng.randint(2, 30)) for x in rng.sample(range(20 * poles), poles)]
    else:
        bound = 15000 if "15000" in family else 4 * poles
        r = [fmpq(2) ** e for e in rng.sample(range(-bound, bound), poles)]
    c = [fmpq(rng.choice([-1, 1]) * rng.randint(1, 60), rng.randint(1, 60)) for _ in r]
    nodes = [fmpq(m) for m in range(1, 2 * poles + 1)]
    values = [sum((b / (x + a) for a, b in zip(r, c, strict=True)), fmpq(0)) for x in nodes]
    return nodes, values, sorted(zip(r, c, strict=True))


def exactattn(nodes: list[fmpq], values: list[fmpq]) -> Pairs:
    """This package; the nodes were met before, as in a recovery, where every probe has the same ones."""
    g = partial_fractions_over_q(nodes, values, len(nodes) // 2)
    return list(zip(g.poles, g.residues, strict=True))


def exactattn_new_nodes(nodes: list[fmpq], values: list[fmpq]) -> Pairs:
    """This package, when the nodes are met for the first time."""
    from exactattn.recovery import nodes as module

    module._recent.clear()
    return exactattn(nodes, values)


def _poles_and_residues(P: fmpq_poly, Q: fmpq_poly) -> Pairs:
    slope = Q.derivative()
    roots = [fmpq(-f[0], f[1]) for f, _ in Q.numer().factor()[1]]
    return sorted((-z, P(z) / slope(z)) for z in roots)


def dense_over_q(nodes: list[fmpq], values: list[fmpq]) -> Pairs:
    """fmpq_mat.solve and factorisation."""
    H = len(nodes) // 2
    left, right = [], []
    for x, y in zip(nodes, values, strict=True):
        powers = [fmpq(1)]
        for _ in range(H):
            powers.append(powers[-1] * x)
        left += powers[:H] + [-y * w for w in powers[:H]]
        right.append(y * powers[H])
    found = fmpq_mat(2 * H, 2 * H, left).solve(fmpq_mat(2 * H, 1, right)).entries()
    return _poles_and_residues(fmpq_poly(found[:H]), fmpq_poly([*found[H:], fmpq(1)]))


def dense_over_z(nodes: list[fmpq], values: list[fmpq]) -> Pairs:
    """fmpz_mat.solve with the rows cleared of denominators, and factorisation (integer nodes)."""
    H = len(nodes) // 2
    left, right = [], []
    for x, y in zip(nodes, values, strict=True):
        powers = [fmpz(1)]
        for _ in range(H):
            powers.append(powers[-1] * x.p)
        a, b = y.p, y.q
        left += [b * w for w in powers[:H]] + [-a * w for w in powers[:H]]
        right.append(a * powers[H])
    found = fmpz_mat(2 * H, 2 * H, left).solve(fmpz_mat(2 * H, 1, right)).entries()
    return _poles_and_residues(fmpq_poly(found[:H]), fmpq_poly([*found[H:], fmpq(1)]))


def in_sympy(nodes: list[fmpq], values: list[fmpq]) -> Pairs:
    """sympy.rational_interpolate and factor_list."""
    x = sympy.Symbol("x")
    samples = [
        (sympy.Integer(int(n.p)), sympy.Rational(int(y.p), int(y.q)))
        for n, y in zip(nodes, values, strict=True)
    ]
    f = sympy.polys.polyfuncs.rational_interpolate(samples, len(nodes) // 2 - 1, X=x)
    P, Q = (sympy.Poly(part, x, domain=sympy.QQ) for part in sympy.fraction(sympy.cancel(f)))
    slope = Q.diff(x)
    pairs = []
    for factor, _ in Q.factor_list()[1]:
        z = -factor.eval(0) / factor.LC()
        c = P.eval(z) / slope.eval(z)
        pairs.append((fmpq(-int(z.p), int(z.q)), fmpq(int(c.p), int(c.q))))
    return sorted(pairs)


def in_mpmath(nodes: list[fmpq], values: list[fmpq]) -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    """mpmath.lu_solve and polyroots with 30 + 12 H digits: floating point, nothing is proved."""
    H = len(nodes) // 2
    with mpmath.workdps(30 + 12 * H):
        rows, right = [], []
        for x, y in zip(nodes, values, strict=True):
            value = mpmath.mpf(int(y.p)) / int(y.q)
            powers = [mpmath.mpf(int(x.p)) ** i for i in range(H + 1)]
            rows.append(powers[:H] + [-value * w for w in powers[:H]])
            right.append(value * powers[H])
        found = list(mpmath.lu_solve(mpmath.matrix(rows), mpmath.matrix(right)))
        P, Q = found[:H][::-1], [mpmath.mpf(1), *found[H:][::-1]]
        slope = [q * (H - i) for i, q in enumerate(Q[:-1])]
        roots = mpmath.polyroots(Q, maxsteps=500, extraprec=100 * H)
        return [(-z, mpmath.polyval(P, z) / mpmath.polyval(slope, z)) for z in roots]


METHODS: dict[str, Method] = {
    "exactattn": exactattn,
    "new nodes": exactattn_new_nodes,
    "fmpq_mat.solve + factor": dense_over_q,
    "fmpz_mat.solve + factor": dense_over_z,
    "sympy": in_sympy,
    "mpmath (no proof)": in_mpmath,
}
OURS, DENSE = list(METHODS)[:2], list(METHODS)[2:4]


def measured_row(family: str, size: int, dropped: set[str], rounds: int, budget: float) -> dict[str, float]:
    """Best seconds of one call by method, infinite where it failed, for the methods not dropped.

    Processor time, without garbage collection in between; the methods take turns, so that a busy machine
    slows all of them. Calls beyond the budget are made once.
    """
    nodes, values, truth = planted(family, size)
    best: dict[str, float] = {}
    for name in [name for name in METHODS if name not in dropped]:
        started = time.process_time()
        try:
            result = METHODS[name](nodes, values)
        except (ZeroDivisionError, mpmath.mp.NoConvergence):  # floating point only
            best[name] = math.inf
            dropped.add(name)
            continue
        best[name] = time.process_time() - started
        if METHODS[name] is not in_mpmath and result != truth:
            raise AssertionError(f"{name} is wrong at H = {size}, {family}")
        if best[name] > budget:
            dropped.add(name)
    quick = [name for name, once in best.items() if once <= budget]
    for _ in range(rounds):
        gc.collect()
        for name in quick:
            METHODS[name](nodes, values)  # not counted: it finds cold caches
            count = max(1, int(ROUND_SECONDS / best[name]))
            started = time.process_time()
            for _ in range(count):
                METHODS[name](nodes, values)
            best[name] = min(best[name], (time.process_time() - started) / count)
    return best


def _milliseconds(best: float | None) -> str:
    if best is None:
        return "–"
    return "failed" if best == math.inf else f"{best * 1000:.3f}"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--budget", type=float, default=0.5)
    options = parser.parse_args()
    gc.disable()
    table = Table(title=f"2H samples to H poles and residues: milliseconds, best of {options.rounds}")
    for column in ("poles", "H", *METHODS, "dense / exactattn", "dense / new nodes"):
        table.add_column(column, justify="right")
    for family, sizes in SIZES.items():
        dropped: set[str] = set()
        for size in sizes:
            times = measured_row(family, size, dropped, options.rounds, options.budget)
            shown = [_milliseconds(times.get(name)) for name in METHODS]
            dense = min((times[name] for name in DENSE if name in times), default=None)
            ratios = ["–" if dense is None else f"{dense / times[name]:.2f}" for name in OURS]
            table.add_row(family, str(size), *shown, *ratios)
        table.add_section()
    Console(width=170).print(table)


if __name__ == "__main__":
    main()
