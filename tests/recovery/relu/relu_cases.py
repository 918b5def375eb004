"""Runs for the tests of Transformer recovery, and what the true model says about them."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from typing import Any

from flint import fmpq

from exactattn.model import Query
from exactattn.model.random_transformer import random_transformer
from exactattn.model.transformer import Transformer
from exactattn.numbers import LogLattice, dot, rational_vector
from exactattn.oracle.transformer import TransformerOracle
from exactattn.recovery import published_count
from exactattn.recovery.relu import TransformerRecovery, recover_transformer
from exactattn.recovery.relu.paths import TokenPath
from exactattn.recovery.relu.pieces import meeting

LATTICE = LogLattice()


def teacher(heads: int, dim: int, neurons: int, seed: int, **options: Any) -> Transformer:
    """A random model that keeps its neurons and heads in canonical form, unless something is planted."""
    return random_transformer(heads, dim, neurons, seed=seed, **options)


def recovered(model: Transformer, seed: int, **options: Any) -> TransformerRecovery:
    """A run that is told the number of heads and of merged neurons, unless the options say otherwise."""
    known = {"neurons": len(model.canonical().kinks)} if "kink_spacing" not in options else {}
    heads = options.pop("heads", len(model.matrices))
    return recover_transformer(
        TransformerOracle(model), heads, residual=model.residual, seed=seed, **{**known, **options}
    )


def random_query(dim: int, seed: object) -> Query:
    """Five tokens of small integers, one of them several times."""
    rng = random.Random(f"query {seed}")
    tokens = [rational_vector([rng.randint(-4, 4) for _ in range(dim)]) for _ in range(5)]
    return Query.of([(tok, rng.randint(1, 3)) for tok in tokens[1:]], tokens[0])


def require_equal(result: TransformerRecovery, model: Transformer, queries: int = 100) -> None:
    """The same function: by canonical form, and by values at random queries of many tokens."""
    assert result.matches(model)
    assert result.model.same_function(model)
    for n in range(queries):
        query = random_query(model.dim, n)
        assert result.model(query, LATTICE) == model(query, LATTICE)


def kink_abscissae(model: Transformer, path: TokenPath) -> list[fmpq]:
    """Where the model's neurons have their kinks on a path of single tokens, sorted; 2 for one at an end."""
    found = []
    for _, D in model.canonical().kinks:
        total = tuple(sum(column, fmpq(0)) for column in zip(*D, strict=True))
        t = meeting((dot(total, path.start), dot(total, path.corner)), (fmpq(0), fmpq(0)))
        found.append(fmpq(2) if t is None else t)
    return sorted(found)


def kink_spacing(model: Transformer, path: TokenPath) -> fmpq:
    """The least distance of kinks and ends on a path."""
    points = [fmpq(0), *kink_abscissae(model, path), fmpq(2)]
    return min(b - a for a, b in pairwise(points))


def require_counts(result: TransformerRecovery, model: Transformer) -> None:
    """Queries by step within the formulas; heads and regions exactly, unless something was drawn again."""
    heads, dim = result.bound, model.dim
    count, plan = result.counts, result.heads_plan
    formula = 2 * (published_count(heads, dim) + (dim - 1 if model.residual else 0))
    assert plan is not None
    assert count["heads"] == formula if not plan.versions else count["heads"] >= formula
    each = heads * dim + (dim - 1 if model.residual else 1)
    pieces = len(model.canonical().kinks) + 1
    assert count["checks"] == 2
    if result.notes:
        return
    assert isinstance(result.path, TokenPath)
    assert sum(len(region.fitted) + len(region.tests) for region in result.regions) <= pieces * each
    if len(result.matrices) == heads and all(region.scale == 1 << 20 for region in result.regions):
        assert count["regions"] == pieces * each
    kinks = pieces - 1
    rounds = math.ceil(math.log(2 / _as_float(kink_spacing(model, result.path)), 4 / 3))
    assert count["walk"] <= 5 * kinks + 14 + 4 * (kinks + 1) * rounds


def _as_float(x: fmpq) -> float:
    return int(x.p) / int(x.q)
