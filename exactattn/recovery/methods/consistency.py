"""Solving the consistency plan: one of a probe's two numbers is a check that tells whose pole it is.

Row 1: x = R − y from a probe with a_j and 1/x = R' − y from the one with −a_j; with e = S − y v·b_1, e'
likewise, x·x' = 1 and e' x = −e x' single out the pole of each head in both. Row i: the base shows S/R =
v_h·u_1, which names the head, and in every further probe S = (R − y) v_h·u_j + y v_h·u_1 does.
"""

from __future__ import annotations

from typing import Any

from flint import fmpq

from exactattn.exceptions import InconsistentAnswers
from exactattn.recovery.methods.consistency_plan import ConsistencyPlan
from exactattn.recovery.methods.first_row import FirstStage
from exactattn.recovery.methods.matching_rules import shared_labels
from exactattn.recovery.methods.staged import StagedSolver
from exactattn.recovery.partial_fractions import PartialFractions
from exactattn.recovery.probe import Probe

__all__ = ["ConsistencySolver"]


class ConsistencySolver(StagedSolver[ConsistencyPlan]):
    """Labels from one check equation a probe."""

    def token_exponentials(
        self, found: dict[Probe, PartialFractions], first: FirstStage
    ) -> list[tuple[list[Any], list[Any]]]:
        if self.system.exact:
            return [
                first.of_token(found[p], self.member_labels(p, found[p], first)) for p in self.token_probes
            ]
        probes = self.plan.first_probes  # the base probe first
        one = self.system.value(fmpq(1))
        result = []
        for probe, opposite in zip(probes[1::2], probes[2::2], strict=True):
            g, other = found[probe], found[opposite]
            poles = range(g.rank)
            candidates: list[list[int]] = []
            partners: list[list[int]] = []
            for y, value in zip(first.y, first.value, strict=True):
                pairs = []
                for k in poles:
                    x, e = g.poles[k] - y, g.residues[k] - y * value
                    for n in poles:
                        inverse, back = other.poles[n] - y, other.residues[n] - y * value
                        if not self.is_no(x * inverse, one) and not self.is_no(back * x, -e * inverse):
                            pairs.append((k, n))
                candidates.append([k for k, _ in pairs])
                partners.append([n for _, n in pairs])
            labels = self.one_each(candidates, probe)
            self.one_each(partners, opposite)
            result.append(first.of_token(g, labels))
        return result

    @property
    def whole_probes(self) -> list[Probe]:
        """Over exact systems, where membership gives the labels, heads may share poles of opposite probes."""
        return [p for p in self.plan.first_probes if not self.system.exact or p.kind != "opposite"]

    def check_first_row(self, found: dict[Probe, PartialFractions], first: FirstStage) -> None:
        """Raises InconsistentAnswers unless the heads have the poles and residues of the opposite probes."""
        for probe in self.plan.first_probes:
            if not self.system.exact or probe.kind != "opposite" or probe.extra is None:
                continue
            residues: dict[Any, Any] = {}
            for y, value, row, v in zip(first.y, first.value, first.row, first.v, strict=True):
                x = self.system.exp(self.dot(row, probe.extra))
                shown = x * self.dot(v, probe.extra) + y * value
                residues[x + y] = residues.get(x + y, 0) + shown
            g = found[probe]
            if {R: S for R, S in residues.items() if S != 0} != dict(zip(g.poles, g.residues, strict=True)):
                raise InconsistentAnswers(
                    f"{probe}: the heads of the other probes do not give its answers, so the answers are not "
                    f"those of one attention layer with at most {self.plan.heads} heads"
                )

    def row_scores(self, first: FirstStage) -> dict[tuple[int, int], list[Any]]:
        if self.plan.row_probes:
            self.require_different_outputs(first)
        total, along = self.total(first), self.projections(first)
        probes = [probe for _, probe in self.plan.row_probes]
        found = self.interpolated_all(probes, lambda probe: self.constant_at(total, probe.filler))
        self.require_rank(found, len(first.v))
        table: dict[tuple[int, int], list[Any]] = {}
        y: list[Any] = []
        heads = range(len(first.v))
        for task, probe in self.plan.row_probes:
            g, j = found[probe], task.columns[0]
            if j == 1:
                expected = [[R * beta for R in g.poles] for beta in along[0]]
                labels = self.consistent(probe, g, expected)
                y = [g.poles[k] for k in labels]
                xs = y
            else:
                expected = [
                    [(R - y[h]) * along[j - 1][h] + y[h] * along[0][h] for R in g.poles] for h in heads
                ]
                labels = self.consistent(probe, g, expected)
                xs = [g.poles[k] - y[h] for h, k in enumerate(labels)]
            if self.failures:
                return table
            self.task_scores(task, self.logs(xs, probe), table, first)
        return table

    def consistent(self, probe: Probe, g: PartialFractions, expected: list[list[Any]]) -> list[int]:
        """For every head the pole k whose residue is expected[h][k]."""
        if self.system.exact:
            options = [[(k, S, k) for k, S in enumerate(row)] for row in expected]
            labels = shared_labels(g.residues, options)
            if labels is None:
                self.failures.append((probe, "the labels of two heads are ambiguous"))
                return [0] * len(expected)
            return labels
        candidates = [[k for k, S in enumerate(g.residues) if not self.is_no(S, row[k])] for row in expected]
        return self.one_each(candidates, probe)
