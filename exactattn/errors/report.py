"""Everything a bound says about one layer and one design, with plain numbers for people and programs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from flint import arb, ctx, fmpq

from exactattn.errors.bounds import Bounds
from exactattn.errors.centre import AnyLayer, centre_of_layer
from exactattn.errors.design import Design
from exactattn.errors.drawing import generic_plan, log_size
from exactattn.errors.first_order import FirstOrder
from exactattn.errors.jacobian import square_constants
from exactattn.errors.minimax import minimax_constants, reached_constants
from exactattn.errors.robust import noise_tokens, robust_design
from exactattn.errors.theorem import ErrorTheorem
from exactattn.exceptions import GenericityExhausted, InputError
from exactattn.model import Attention
from exactattn.model.affine import AffineAttention
from exactattn.numbers import NumberSystem, rational_text
from exactattn.recovery import TokenRange
from exactattn.recovery.methods.optimal_plan import OptimalPlan

__all__ = ["BoundMethod", "BoundReport", "bound_report"]

BoundMethod = Literal["published", "direct", "optimal"]

LOG_10 = math.log(10)
MAX_REDRAWS = 40


@dataclass(frozen=True)
class BoundReport:
    """The constants of one design for one layer; logarithms to base 10, of upper bounds.

    ``log10_constant``: of C(ε0), in natural units for matrices; None for the optimal method, for which only
    the first-order constant is known, and ε0 is not. ``log10_minimax``: of the largest constant of a log r_h
    in a base probe that no copy ratios can beat, ``log10_reached``: of the largest this design has.
    """

    method: str
    robust: bool
    queries: int
    longest: int
    seed: int
    tokens: TokenRange
    log10_first_order: float
    log10_first_order_matrices: float | None
    log10_first_order_vectors: float | None
    first_order: str | None
    log10_constant: float | None
    epsilon0: fmpq | None
    limited_by: str | None
    probe: str | None
    log10_minimax: float | None
    log10_reached: float | None

    @property
    def log10_epsilon0(self) -> float | None:
        """log10 ε0."""
        return None if self.epsilon0 is None else log_size(self.epsilon0) / LOG_10

    @property
    def first_order_only(self) -> bool:
        """Whether ε0 is unknown, and so how small errors must be for the constants to hold."""
        return self.epsilon0 is None

    def digits_needed(self, digits: int) -> int:
        """Decimal digits that answers must have for parameters within 10^-digits; to first order where ε0 is
        unknown."""
        constant = self.log10_first_order if self.log10_constant is None else self.log10_constant
        needed = digits + constant
        return math.ceil(needed if self.log10_epsilon0 is None else max(needed, -self.log10_epsilon0))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        numbers = {
            name: None if (x := getattr(self, name)) is None else round(x, 4)
            for name in (
                "log10_first_order",
                "log10_first_order_matrices",
                "log10_first_order_vectors",
                "log10_constant",
                "log10_epsilon0",
                "log10_minimax",
                "log10_reached",
            )
        }
        return {
            "method": self.method,
            "robust": self.robust,
            "queries": self.queries,
            "longest": self.longest,
            "seed": self.seed,
            "tokens": self.tokens.to_json(),
            **numbers,
            "first_order": self.first_order,
            "epsilon0": "unknown" if self.epsilon0 is None else rational_text(self.epsilon0),
            "first_order_only": self.first_order_only,
            "limited_by": self.limited_by,
            "probe": self.probe,
        }


def bound_report(
    layer: AnyLayer,
    system: NumberSystem[Any, Any],
    *,
    method: BoundMethod = "published",
    robust: bool = False,
    longest: int | None = None,
    seed: int = 0,
    tokens: TokenRange | None = None,
) -> BoundReport:
    """The constants of a layer's canonical heads under one method.

    "published" derives V from the first row of probes, "direct" asks every b_i alone, "optimal" asks as many
    queries as parameters, and only its first-order constants are known. ``robust`` (not optimal): the best of
    some direct designs with other copy ratios and query vectors, within ``longest`` tokens (default 2H + 1).
    Query vectors are drawn from ``seed`` and ``tokens`` (default: small ones).

    Raises InputError, GenericityExhausted.

    >>> from exactattn.model import random_layer
    >>> from exactattn.numbers import LogLattice
    >>> layer = random_layer(heads=2, dim=2, seed=1, size=3)
    >>> plain, robust = (bound_report(layer, LogLattice(), robust=x) for x in (False, True))
    >>> plain.log10_constant > robust.log10_constant + 1, plain.longest == robust.longest
    (True, True)
    """
    canonical: AnyLayer = layer.canonical()
    if not canonical.heads:
        raise InputError("the layer is the zero function; there is nothing to bound")
    chosen = tokens or noise_tokens(system, layer.dim)
    if method == "optimal":
        if robust:
            raise InputError("robust queries belong to the published families; leave out --method optimal")
        if isinstance(canonical, AffineAttention):
            raise InputError(
                "constants of the optimal method are for layers without biases", field="--method"
            )
        return _optimal(canonical, system, seed, chosen)
    design = Design.published(generic_plan(canonical, system, seed=seed, tokens=chosen))
    if method == "direct":
        design = design.direct()
    if robust:
        design = robust_design(canonical, system, design, seed=seed, tokens=chosen, longest=longest)
    centre = centre_of_layer(design, canonical, system)
    with ctx.workprec(256), system.context():
        first = FirstOrder(centre)
        theorem = ErrorTheorem(first)
        bounds = theorem.bounds(theorem.epsilon0)
        assert isinstance(bounds, Bounds)
        base = range(len(design.b) * design.dim)
        lowest = [x for n in base for x in minimax_constants(centre.poles[n], centre.residues[n])]
        reached = [x for n in base for x in reached_constants(first.responses[n])]
        return BoundReport(
            method="direct" if design.is_direct else method,
            robust=robust,
            queries=design.count,
            longest=design.longest,
            seed=seed,
            tokens=chosen,
            log10_first_order=_log10(first.largest),
            log10_first_order_matrices=_log10(first.of_matrices),
            log10_first_order_vectors=_log10(first.of_vectors),
            first_order=rational_text(first.largest) if isinstance(first.largest, fmpq) else None,
            log10_constant=_log10(bounds.largest),
            epsilon0=theorem.epsilon0,
            limited_by=theorem.limit.condition,
            probe=theorem.limit.probe,
            log10_minimax=max(map(_log10, lowest)),
            log10_reached=max(map(_log10, reached)),
        )


def _optimal(layer: Attention, system: NumberSystem[Any, Any], seed: int, tokens: TokenRange) -> BoundReport:
    heads = len(layer.heads)
    for attempt in range(MAX_REDRAWS):
        plan = OptimalPlan.draw(heads, layer.dim, seed + attempt, tokens)
        queries = plan.queries()
        try:
            constants = square_constants(layer, queries, system)
        except ZeroDivisionError:
            continue
        top = max(map(_log10, constants))
        exact = max(x for x in constants) if system.exact else None
        return BoundReport(
            method="optimal",
            robust=False,
            queries=len(queries),
            longest=max(query.length for query in queries),
            seed=seed + attempt,
            tokens=tokens,
            log10_first_order=top,
            log10_first_order_matrices=None,
            log10_first_order_vectors=None,
            first_order=None if exact is None else rational_text(exact),
            log10_constant=None,
            epsilon0=None,
            limited_by=None,
            probe=None,
            log10_minimax=None,
            log10_reached=None,
        )
    raise GenericityExhausted("the queries of the optimal method do not determine this layer to first order")


def _log10(x: Any) -> float:
    """log10 of (an upper bound of) a positive number."""
    return log_size(arb(x).upper()) / LOG_10
