"""Recovering a Transformer whole, beside learning attention first and the network by a separate learner.

python tests/benchmarks/relu_table.py [--seeds 10] [--large]

Both learn the heads from the same antisymmetric queries. The separate learner then sees a piecewise-linear
function: it asks on a grid of G single tokens of the path, takes three neighbours on one line for a piece,
bisects between pieces until F at the meeting point fits, and reads the linear function off each piece, as the
whole recovery does. It is not told K and has no way to use it. "exact" are runs with the same function;
"wrong" runs ended with another function and no sign of it; "gave up" runs ended with a named error. Runs of
the whole recovery that are told nothing carry the label of unknown completeness, right or wrong. Queries are
means over the runs that ended.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from typing import Any

from flint import fmpq
from rich.console import Console
from rich.table import Table

from exactattn.exceptions import ExactAttnError
from exactattn.model.random_transformer import random_transformer
from exactattn.model.relu_form import ReluForm
from exactattn.model.transformer import Transformer
from exactattn.numbers import LogLattice
from exactattn.oracle import Transcript
from exactattn.oracle.transformer import TransformerOracle
from exactattn.recovery.relu import TransformerRecovery, recover_transformer
from exactattn.recovery.relu.asking import Asked, Asker
from exactattn.recovery.relu.draws import Draws
from exactattn.recovery.relu.paths import TokenPath
from exactattn.recovery.relu.pieces import Piece, line_through, meeting
from exactattn.recovery.relu.steps import TransformerRun
from exactattn.recovery.relu.walk import Walked, WalkFailed

CASES: list[tuple[int, int, int, dict[str, Any]]] = [
    (1, 2, 1, {}),
    (2, 3, 3, {}),
    (2, 3, 5, {}),
    (3, 4, 6, {}),
    (2, 2, 8, {}),
    (2, 3, 4, {"residual": True}),
    (3, 4, 6, {"residual": True, "bypass": True}),
    (2, 3, 4, {"plant": "near-parallel pair", "gap": 8}),
    (2, 3, 4, {"plant": "near-parallel pair", "gap": 16}),
]
LARGE: list[tuple[int, int, int, dict[str, Any]]] = [(2, 8, 20, {}), (4, 6, 10, {})]
BISECTIONS = 24


class _GridLearner(TransformerRun):
    """The separate learner in place of the walk; nothing counts or checks its pieces."""

    grid: int

    def walk(self, path: TokenPath) -> Walked:
        values: dict[fmpq, fmpq] = {}

        def value(t: fmpq) -> fmpq:
            if t not in values:
                values[t] = self.asker.ask("walk", [path.query(t)])[0]
            return values[t]

        points = [fmpq(2 * i, self.grid) for i in range(self.grid + 1)]
        pieces: list[Piece] = []
        for a, b, c in zip(points, points[1:], points[2:], strict=False):
            line = line_through(a, value(a), b, value(b))
            found = Piece(line, (a, b, c))
            if found.at(c) == value(c):
                if pieces and pieces[-1].line == line:
                    found = pieces.pop().with_points(c)
                pieces.append(found)
        if not pieces:
            raise WalkFailed("no three points of the grid lie on one line", ())
        whole = [pieces[0]]
        for left, right in pairwise(pieces):
            whole += [*self.between(left, right, value, BISECTIONS), right]
        return Walked(tuple(whole), False, "grid and bisection", 0, values)

    def between(self, left: Piece, right: Piece, value: Any, depth: int) -> list[Piece]:
        """Pieces that bisection finds between two neighbours."""
        t = meeting(left.line, right.line)
        if t is not None and left.high <= t <= right.low and value(t) == left.at(t):
            return []
        if depth == 0:
            raise WalkFailed("bisection ended without a kink", ())
        middle = (left.high + right.low) / 2
        if left.at(middle) == value(middle):
            return self.between(left.with_points(middle), right, value, depth - 1)
        if right.at(middle) == value(middle):
            return self.between(left, right.with_points(middle), value, depth - 1)
        step = (right.low - left.high) / 4
        for _ in range(depth):
            a, c = middle - step, middle + step
            found = Piece(line_through(a, value(a), c, value(c)), (a, middle, c))
            if found.at(middle) == value(middle):
                before = self.between(left, found, value, depth - 1)
                return [*before, found, *self.between(found, right, value, depth - 1)]
            step /= 4
        raise WalkFailed("no piece shows between two others", ())

    def checked(self, form: ReluForm) -> tuple[Asked, ...]:
        return ()


def separate(model: Transformer, seed: int, grid: int) -> TransformerRecovery:
    """Heads, then the grid learner."""
    oracle = TransformerOracle(model)
    with Transcript(fingerprint=oracle.fingerprint) as record:
        run = _GridLearner(
            Asker(oracle, record, LogLattice()), Draws(seed), len(model.matrices), model.dim, model.residual
        )
        run.kinks, run.spacing, run.antisymmetric, run.grid = 0, None, True, grid
        return run.result(1)


def together(model: Transformer, seed: int, *, known: bool) -> TransformerRecovery:
    """The recovery of this package, told K or nothing."""
    return recover_transformer(
        TransformerOracle(model),
        len(model.matrices),
        neurons=len(model.canonical().kinks) if known else None,
        residual=model.residual,
        seed=seed,
    )


METHODS: list[tuple[str, Any]] = [
    ("whole, K known", lambda model, seed: together(model, seed, known=True)),
    ("whole, K unknown", lambda model, seed: together(model, seed, known=False)),
    ("separate, G = 64", lambda model, seed: separate(model, seed, 64)),
    ("separate, G = 512", lambda model, seed: separate(model, seed, 512)),
]


def row(case: tuple[int, int, int, dict[str, Any]], name: str, method: Any, seeds: int) -> list[str]:
    """One line of the table."""
    heads, dim, neurons, options = case
    exact, wrong, gave_up = 0, 0, 0
    ended: list[TransformerRecovery] = []
    for seed in range(seeds):
        model = random_transformer(heads, dim, neurons, seed=seed, **options)
        try:
            result = method(model, seed)
        except ExactAttnError:
            gave_up += 1
            continue
        ended.append(result)
        exact += result.matches(model)
        wrong += not result.matches(model)

    def mean(step: str) -> str:
        return f"{sum(r.counts[step] for r in ended) / len(ended):.0f}" if ended else "–"

    total = f"{sum(r.queries for r in ended) / len(ended):.0f}" if ended else "–"
    named = ", ".join(str(v) if k != "residual" else k for k, v in options.items() if k != "bypass")
    shown = f"({heads}, {dim}, {neurons}) {named}{', bypass' if 'bypass' in options else ''}"
    counts = [f"{exact}/{seeds}", str(wrong), str(gave_up)]
    return [shown, name, total, mean("heads"), mean("walk"), mean("regions"), *counts]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--large", action="store_true", help="also (2, 8, 20) and (4, 6, 10)")
    options = parser.parse_args()
    table = Table(title=f"Transformers, {options.seeds} random models each")
    for column in (
        "(H, d, K)", "method", "queries", "heads", "walk", "regions", "exact", "wrong", "gave up",
    ):  # fmt: skip
        table.add_column(column, no_wrap=True)
    for case in CASES + (LARGE if options.large else []):
        for name, method in METHODS:
            table.add_row(*row(case, name, method, options.seeds))
        table.add_section()
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
