"""Solving the optimal plan: every probe shows two new numbers a head.

Stage 1: x = R − y and v·a = (S − y v·b_1)/x. Stage 2, with α = v·p and β = v·q known: x = (S − βR)/(α − β)
and y = (αR − S)/(α − β). The labelling rule is membership (for the right head, x and y are exponentials) over
exact systems, and proximity (the pole nearest to the predicted one) over balls, where tokens are close
enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exactattn.exceptions import InconsistentAnswers
from exactattn.recovery.genericity import NonGeneric
from exactattn.recovery.methods.half_probe import solve_half_probe
from exactattn.recovery.methods.labels import nearest
from exactattn.recovery.methods.optimal_plan import OptimalPlan
from exactattn.recovery.methods.rows import Task
from exactattn.recovery.methods.staged import FirstStage, StagedSolver
from exactattn.recovery.partial_fractions import PartialFractions
from exactattn.recovery.probe import Probe

__all__ = ["OptimalSolver"]


class OptimalSolver(StagedSolver[OptimalPlan]):
    """Labels by membership over exact systems, by proximity over balls."""

    def token_exponentials(
        self, found: dict[Probe, PartialFractions], first: FirstStage
    ) -> list[tuple[list[Any], list[Any]]]:
        one = self.system.exp(self.plan.zero[0])
        predicted = [one + y for y in first.y]  # a_j is near 0, so x is near 1
        result = []
        for probe in self.token_probes:
            g = found[probe]

            def exponentials(h: int, k: int, g: PartialFractions = g) -> tuple[Any, ...]:
                return (g.poles[k] - first.y[h],)

            labels = self.labels(probe, g, predicted, exponentials)
            result.append(first.of_token(g, labels))
        return result

    def row_scores(self, first: FirstStage) -> dict[tuple[int, int], list[Any]]:
        if self.system.exact and self.plan.row_probes:
            self.require_different_outputs(first)
        total, along = self.total(first), self.projections(first)
        near = [[self.system.exp(self.dot(row, u)) for row in first.row] for u in self._directions()]
        whole = [probe for task, probe in self.plan.row_probes if task.kind != "half"]
        found = self.interpolated_all(whole, lambda probe: self.constant_at(total, probe.filler))
        self.require_rank(found, len(first.v))
        table: dict[tuple[int, int], list[Any]] = {}
        for task, probe in self.plan.row_probes:
            j = task.columns[0]
            if task.kind == "half":
                values = self.shifted(probe, self.constant_at(total, probe.last))
                prediction = near[j - 1] if near else None
                try:
                    xs = solve_half_probe(probe, along[j - 1], prediction, values, self.system)
                except NonGeneric as reason:
                    raise self.blamed(reason, probe) from None
                self.task_scores(task, self.logs(xs, probe), table, first)
                self.progress(1)
                continue
            k = task.columns[1]
            expected = [x + y for x, y in zip(near[j - 1], near[k - 1], strict=True)] if near else []
            pairs = self.pair_exponentials(probe, found[probe], along[j - 1], along[k - 1], expected)
            for column, xs in zip((j, k), (list(x) for x in zip(*pairs, strict=True)), strict=True):
                scores = self.logs(xs, probe)
                self.task_scores(Task(task.rows, (column,)), scores, table, first)
        return table

    def blamed(self, reason: NonGeneric, probe: Probe) -> NonGeneric:
        """Once other vectors have not helped a half probe, the first row may show too few heads: b_1 goes."""
        if any(self.plan.version(*vector) for vector in probe.vectors):
            return NonGeneric(reason.failures, reason.proved, vectors=frozenset({("b", 1), *probe.vectors}))
        return reason

    def _directions(self) -> list[Any]:
        """The directions in which the first row predicts the later ones: none over exact systems."""
        return [] if self.system.exact else list(self.plan.u)

    def pair_exponentials(
        self, probe: Probe, g: PartialFractions, alpha: list[Any], beta: list[Any], expected: list[Any]
    ) -> list[tuple[Any, Any]]:
        """(x_h, y_h) of a whole probe."""
        if self.system.exact and any(a == b for a, b in zip(alpha, beta, strict=True)):
            self.failures.append((probe, "a head has the same v·p and v·q"))
            return [(self.system.exp(self.plan.zero[0]),) * 2 for _ in alpha]

        def exponentials(h: int, k: int) -> tuple[Any, Any]:
            R, S, a, b = g.poles[k], g.residues[k], alpha[h], beta[h]
            return (S - b * R) / (a - b), (a * R - S) / (a - b)

        labels = self.labels(probe, g, expected, exponentials)
        return [exponentials(h, k) for h, k in enumerate(labels)]

    def labels(self, probe: Probe, g: PartialFractions, expected: list[Any], exponentials: Any) -> list[int]:
        """For every head its pole."""
        poles = range(g.rank)
        if not self.system.exact:
            labels = nearest(expected, g.poles)
            if labels is None:
                raise NonGeneric(
                    [(probe, "tokens are not close enough to label the poles")], True, too_far=True
                )
            return labels
        candidates = [[k for k in poles if self._all_exponentials(exponentials(h, k))] for h in poles]
        return self.one_each(candidates, probe)

    def _all_exponentials(self, values: tuple[Any, ...]) -> bool:
        try:
            for x in values:
                self.system.log(x)
        except InconsistentAnswers:
            return False
        return True

    def logs(self, xs: Sequence[Any], probe: Probe) -> list[Any]:
        """Logarithms; over balls one that certainly has none comes from a wrong label."""
        try:
            return super().logs(xs, probe)
        except InconsistentAnswers:
            if self.system.exact or probe.kind == "base":
                raise
            raise NonGeneric([(probe, "a label by proximity is wrong")], True, too_far=True) from None
