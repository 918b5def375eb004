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
from exactattn.recovery.methods.first_row import FirstStage
from exactattn.recovery.methods.half_probe import solve_half_probe
from exactattn.recovery.methods.labels import nearest
from exactattn.recovery.methods.matching_rules import shared_labels
from exactattn.recovery.methods.optimal_plan import OptimalPlan
from exactattn.recovery.methods.rows import Task
from exactattn.recovery.methods.staged import StagedSolver
from exactattn.recovery.methods.two_powers import two_exponents, two_to
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
            if self.system.exact:
                labels = self.member_labels(probe, g, first)
            else:
                labels = self.near_labels(probe, g, predicted)
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
        if not self.system.exact:
            return reason
        tokens = {vector for vector in probe.vectors if vector[0] == "b"}
        if any(self.plan.version(*vector) for vector in tokens):
            tokens.add(("b", 1))
        return NonGeneric(reason.failures, reason.proved, vectors=frozenset(tokens))

    def _directions(self) -> list[Any]:
        """The directions in which the first row predicts the later ones: none over exact systems."""
        return [] if self.system.exact else list(self.plan.u)

    def pair_exponentials(
        self, probe: Probe, g: PartialFractions, alpha: list[Any], beta: list[Any], expected: list[Any]
    ) -> list[tuple[Any, Any]]:
        """(x_h, y_h) of a whole probe."""
        if self.system.exact:
            return self.shared_exponentials(probe, g, alpha, beta)
        labels = self.near_labels(probe, g, expected)
        return [
            ((g.residues[k] - b * g.poles[k]) / (a - b), (a * g.poles[k] - g.residues[k]) / (a - b))
            for k, a, b in zip(labels, alpha, beta, strict=True)
        ]

    def shared_exponentials(
        self, probe: Probe, g: PartialFractions, alpha: list[Any], beta: list[Any]
    ) -> list[tuple[Any, Any]]:
        """The same by membership: x and y are the powers of two in the pole, one way or the other, as the
        residue shows. Heads may share poles."""
        ways = set()
        for k, R in enumerate(g.poles):
            pair = two_exponents(R)
            if pair is None:
                raise InconsistentAnswers(
                    f"{probe}: a pole is not the sum of two powers of 2, so the answers are not those of an "
                    f"attention layer with at most {self.plan.heads} heads, evaluated on the log-lattice"
                )
            ways |= {(k, *pair), (k, *pair[::-1])}
        numbers = [(k, two_to(e), two_to(f)) for k, e, f in sorted(ways)]
        options = [
            [(k, x * a + y * b, (x, y)) for k, x, y in numbers] for a, b in zip(alpha, beta, strict=True)
        ]
        found = shared_labels(g.residues, options)
        if found is None:
            self.failures.append((probe, "the labels of two heads are ambiguous"))
            return [(two_to(0), two_to(0)) for _ in alpha]
        return found

    def near_labels(self, probe: Probe, g: PartialFractions, expected: list[Any]) -> list[int]:
        """For every head the pole nearest to the expected one."""
        labels = nearest(expected, g.poles)
        if labels is None:
            reason = "tokens are not close enough to label the poles"
            raise NonGeneric([(probe, reason)], True, too_far=True)
        return labels

    def logs(self, xs: Sequence[Any], probe: Probe) -> list[Any]:
        """Logarithms; over balls one that certainly has none comes from a wrong label."""
        try:
            return super().logs(xs, probe)
        except InconsistentAnswers:
            if self.system.exact or probe.kind == "base":
                raise
            raise NonGeneric([(probe, "a label by proximity is wrong")], True, too_far=True) from None
