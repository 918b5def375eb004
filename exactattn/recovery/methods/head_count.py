"""The number of heads, found by asking one more copy at a time.

At last token b_1 and filler 0 the answers are Σ_h S_h/(m + R_h) (plus a constant with a bias), m = 0, 1, 2,
…; on the log-lattice with one token a_2 more, so that heads need not differ at b_1^T W_h b_1 alone. The
(K+1)×(K+1) Hankel matrix of their moments is singular when there are K poles; one further answer must agree.
That is 2K + 2 answers, 2K of which the plan for K heads asks anyway, and no bound on the number of heads is
needed (theory, section 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from flint import fmpq, fmpz_mod_poly_ctx, nmod, nmod_mat

from exactattn.model.query import Query
from exactattn.numbers import NumberSystem, Vector
from exactattn.recovery.method import Plan
from exactattn.recovery.methods.staged_plan import StagedPlan
from exactattn.recovery.modular_image import PRIMES
from exactattn.recovery.nodes import prepared_nodes
from exactattn.recovery.probe import Probe
from exactattn.recovery.prony import moments
from exactattn.recovery.solution import Further, Solution

__all__ = ["HeadCountPlan", "poles_seen"]


def poles_seen(nodes: Sequence[fmpq], values: Sequence[Any], system: NumberSystem[Any, Any]) -> int:
    """The largest k ≤ N/2 for which the k×k Hankel matrix of the moments, or the one shifted by one, is
    invertible; over balls, for which that is proved. Over exact systems the order of the recurrence of the
    moments modulo a prime, and more than N/2 are counted as N/2; it is hardly ever too small.

    >>> from exactattn.numbers import LogLattice
    >>> nodes = [fmpq(m) for m in range(4)]
    >>> poles_seen(nodes, [1 / (m + 3) for m in nodes], LogLattice())
    1
    """
    if system.exact:
        return _poles_modulo_primes(nodes, values)
    mu = moments(nodes, values, system)
    for k in range((len(mu) + 1) // 2, 0, -1):
        for shift in (0, 1):
            if 2 * k - 1 + shift > len(mu):
                continue
            hankel = [[mu[i + j + shift] for j in range(k)] for i in range(k)]
            try:
                system.solve(hankel, [[mu[0]]] * k)
            except ZeroDivisionError:
                continue
            return k
    return 0


def _poles_modulo_primes(nodes: Sequence[fmpq], values: Sequence[fmpq]) -> int:
    prepared = prepared_nodes(nodes)
    orders = [0]
    for prime in PRIMES:
        maps = prepared.moment_map(prime)
        if maps is not None and all(y.q % prime for y in values):
            column = nmod_mat(len(values), 1, [nmod(y, prime) for y in values], prime)
            mu = [int(m) for m in (maps[0] * column).entries()]
            orders.append(fmpz_mod_poly_ctx(prime).minpoly(mu).degree())
    return min(max(orders), (len(values) + 1) // 2)


@dataclass(frozen=True)
class HeadCountPlan(Plan):
    """The queries that tell the number of heads of ``target``, so far at m = 0 … ``asked`` − 1; ``heads`` is
    unused. ``target`` has the vectors; its own number of heads is replaced once it is known."""

    target: Plan | None = None
    asked: int = 1

    method: ClassVar[str] = "head count"

    @classmethod
    def of(cls, target: Plan) -> HeadCountPlan:
        """The first step."""
        return cls(1, target.dim, target.seed, target.tokens, target.versions, target.bias, target)

    @property
    def plan(self) -> Plan:
        """The plan that is waiting for its number of heads."""
        assert self.target is not None
        return self.target

    @property
    def count(self) -> int:
        return self.asked + self.bias

    @property
    def formula(self) -> str:
        return "2K + 3" if self.bias else "2K + 2"

    @property
    def longest(self) -> int:
        return self.asked

    def identity(self) -> dict[str, Any]:
        return {**self.plan.identity(), "heads": "auto"}

    def versions_json(self) -> dict[str, list[int]]:
        return self.plan.versions_json()

    def bases(self) -> Iterable[tuple[tuple[tuple[str, int], Vector], ...]]:
        return self.plan.bases()

    @property
    def singles(self) -> tuple[Query, ...]:
        return (Query.of([], (fmpq(0),) * self.dim),) if self.bias else ()

    @cached_property
    def probes(self) -> tuple[Probe, ...]:
        zero = (fmpq(0),) * self.dim
        first = self.drawn("b", 1, self.tokens.first or self.tokens.last)
        vectors: tuple[tuple[str, int], ...] = (("b", 1),)
        extra = None
        if isinstance(self.plan, StagedPlan) and self.plan.rounds and self.dim > 1:
            extra = self.plan.first_basis[1]
            vectors = (("a", 2), ("b", 1))
        return (Probe("head count", 1, 1, zero, first, range(self.asked), vectors, extra),)

    @property
    def check_query(self) -> Query:
        """A random query, which no heads at all would answer with 0."""
        tokens = [self.drawn("check", k, self.tokens.last) for k in range(1, 4)]
        return Query.of([(tokens[1], 1), (tokens[2], 1)], tokens[0])

    def redrawn(self, vectors: set[tuple[str, int]]) -> HeadCountPlan:
        return HeadCountPlan.of(self.plan.redrawn(vectors))

    def solve(
        self,
        answers: Sequence[Any],
        system: NumberSystem[Any, Any],
        progress: Callable[[int], None] | None = None,
    ) -> Solution | Further:
        """One more copy, the plan for the heads seen, or no heads at all."""
        with system.context():
            (probe,) = self.probes
            offset = answers[0] if self.bias else system.value(fmpq(0))
            values = [f - offset for f in self.samples(answers)[probe]]
            nodes = [fmpq(m) for m in probe.copies]
            seen = poles_seen(nodes, values, system)
        if self.asked < 2 * seen + 2:
            return Further(replace(self, asked=self.asked + 1), proved=True)
        if seen == 0:
            return Solution((), system.exact, offset if self.bias else None)
        return Further(replace(self.plan, heads=seen).made_valid(), proved=system.exact)
