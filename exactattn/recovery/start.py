"""The first plan of a run: the method, its tokens, and what is left to find out."""

from __future__ import annotations

from typing import Literal

from exactattn.exceptions import InputError
from exactattn.recovery.draw import TokenRange
from exactattn.recovery.method import Plan
from exactattn.recovery.methods.consistency_plan import ConsistencyPlan
from exactattn.recovery.methods.head_count import HeadCountPlan
from exactattn.recovery.methods.optimal_plan import OptimalPlan
from exactattn.recovery.methods.staged_plan import StagedPlan
from exactattn.recovery.plan import PublishedPlan

__all__ = ["CLOSENESS", "Method", "fallback_plan", "first_plan"]

Method = Literal["published", "consistent", "optimal"]

# Tokens of the optimal method over balls differ by 2^-CLOSENESS from those that predict poles. It costs twice
# as many bits, and makes wrong labels rare (measured by tests/benchmarks/methods_table.py).
CLOSENESS = 32
GUESSED_HEADS = 4


def _tokens(method: Method, heads: int, dim: int, *, exact: bool, full_rank: bool = True) -> TokenRange:
    if not exact:
        return TokenRange.for_balls(dim)
    if method == "published":
        return TokenRange.for_lattice(heads, dim)
    return TokenRange.for_stages(heads, full_rank=full_rank)


def first_plan(
    method: Method,
    heads: int | None,
    dim: int,
    seed: int,
    *,
    exact: bool,
    tokens: TokenRange | None = None,
    bias: bool = False,
    rank: int | Literal["auto"] | None = None,
    closeness: int = CLOSENESS,
    rounds: bool = False,
) -> Plan:
    """The plan to begin with; ``heads`` None and ``rank`` "auto" are found out. ``rounds``: over exact
    systems the methods in two stages choose later vectors after earlier answers. Raises InputError if the
    options do not fit together."""
    guessed = max(1, heads or GUESSED_HEADS)
    chosen = tokens or _tokens(method, guessed, dim, exact=exact, full_rank=rank in (None, dim))
    known = 1 if heads is None else heads
    plan: Plan | StagedPlan
    if method == "published":
        if rank is not None:
            raise InputError("the published method takes no rank; use optimal or consistent", field="rank")
        plan = PublishedPlan.draw(known, dim, seed, chosen, bias=bias)
    else:
        kind: type[StagedPlan] = OptimalPlan if method == "optimal" else ConsistencyPlan
        close = closeness if method == "optimal" and not exact else 0
        plan = kind.draw(
            known, dim, seed, chosen, bias=bias, closeness=close, rank=None if rank == "auto" else rank
        )
        if rank == "auto":
            plan = plan.from_rank_one()
        if exact and rounds:
            plan = plan.in_rounds()
    return HeadCountPlan.of(plan) if heads is None else plan


def fallback_plan(plan: Plan, *, exact: bool) -> Plan:
    """The plan of the published method, which tells any two heads apart, in place of one that cannot."""
    tokens = _tokens("published", plan.heads, plan.dim, exact=exact)
    return PublishedPlan.draw(plan.heads, plan.dim, plan.seed, tokens, bias=plan.bias)
