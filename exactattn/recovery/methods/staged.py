"""Solving a plan in two stages: a pure function of plan and answers.

First row → every v → other rows → the matrices. A method adds the labels: which pole of a probe belongs to
which head.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Generic, TypeVar

from flint import fmpq

from exactattn.exceptions import CannotTell, InconsistentAnswers
from exactattn.numbers import Decision, NumberSystem, Vector
from exactattn.recovery.assembly import assemble_vector
from exactattn.recovery.genericity import NonGeneric, SameOutputs
from exactattn.recovery.interpolation import interpolate
from exactattn.recovery.methods.completion import assemble_rows, leading_rank
from exactattn.recovery.methods.directions import chosen_directions
from exactattn.recovery.methods.first_row import FirstStage, base_may_hide, linked_first_row
from exactattn.recovery.methods.matching_rules import unique_matching
from exactattn.recovery.methods.rows import Task
from exactattn.recovery.methods.staged_plan import StagedPlan
from exactattn.recovery.methods.two_powers import partial_fractions_of_powers
from exactattn.recovery.partial_fractions import PartialFractions
from exactattn.recovery.probe import Probe
from exactattn.recovery.solution import Further, RecoveredHead, Solution

__all__ = ["StagedSolver"]

P = TypeVar("P", bound=StagedPlan)


class StagedSolver(ABC, Generic[P]):
    """Base of the solvers of the optimal and the consistency method."""

    def __init__(
        self,
        plan: P,
        answers: Sequence[Any],
        system: NumberSystem[Any, Any],
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.plan = plan
        self.system = system
        self.progress = progress or (lambda _: None)
        self.offset = answers[0] if plan.bias else system.value(fmpq(0))
        self.samples = plan.samples(answers)
        self.failures: list[tuple[Probe, str]] = []
        self.proved = True

    @abstractmethod
    def token_exponentials(
        self, found: dict[Probe, PartialFractions], first: FirstStage
    ) -> list[tuple[list[Any], list[Any]]]:
        """For each token a_j: x_h = exp(b_1^T W_h a_j) and v_h·a_j, by head."""

    @abstractmethod
    def row_scores(self, first: FirstStage) -> dict[tuple[int, int], list[Any]]:
        """b_i^T W_h u_j by head, for all needed (i, j) with i ≥ 2."""

    def result(self) -> Solution | Further:
        """The heads, or the plan to go on with."""
        plan = self.plan
        with self.system.context():
            found = self.interpolated_all(plan.first_probes, lambda _: self.offset)
            self.require_equal_ranks({probe: found[probe] for probe in self.whole_probes})
            offset = self.offset if plan.bias else None
            if not any(g.rank for g in found.values()):
                return Solution((), self.proved, offset)
            if plan.rows_asked == 0:
                tokens = [found[probe] for probe in self.token_probes]
                return Further(plan.with_first_row(by_tokens=base_may_hide(tokens)), proved=True)
            first = self.linked(found) if plan.by_tokens else self.first_stage(found)
            self.check_first_row(found, first)
            if plan.rows_asked == 1:
                self.require_different_outputs(first)
                chosen = chosen_directions(plan, first.row, first.v)
                return Further(chosen.after_first_row(), proved=True)
            table = self.row_scores(first)
            self.stop_on_row_failures()
            for j, u in enumerate(plan.u, 1):
                table[1, j] = [self.dot(row, u) for row in first.row]
            return self.assembled(first, table, offset)

    # interpolation

    def constant_at(self, total: Sequence[Any], tok: Vector) -> Any:
        """V·a + c, what f(m) tends to when there are many copies of a."""
        return self.offset + self.dot(total, tok)

    def shifted(self, probe: Probe, constant: Any) -> list[Any]:
        """The values of Σ S_h/(m + R_h)."""
        return [f - constant for f in self.samples[probe]]

    def interpolated_all(
        self, probes: Sequence[Probe], constant: Callable[[Probe], Any]
    ) -> dict[Probe, PartialFractions]:
        """Poles R_h and residues S_h of whole probes."""
        found: dict[Probe, PartialFractions] = {}
        nodes = [fmpq(m) for m in self.plan.copies]
        for probe in probes:
            try:
                values = self.shifted(probe, constant(probe))
                if self.system.exact:
                    found[probe] = partial_fractions_of_powers(nodes, values, self.plan.heads)
                else:
                    found[probe] = interpolate(nodes, values, self.plan.heads, self.system)
            except CannotTell as error:
                self.failures.append((probe, str(error)))
            except InconsistentAnswers as error:
                raise InconsistentAnswers(f"{probe}: {error}") from None
            self.progress(1)
        self.stop_on_failures()
        self.proved = self.proved and all(g.rank_proved for g in found.values())
        return found

    def require_equal_ranks(self, found: dict[Probe, PartialFractions]) -> None:
        """Raises NonGeneric if some probe shows fewer heads than others."""
        rank = max((g.rank for g in found.values()), default=0)
        for probe, g in found.items():
            if g.rank < rank:
                self.failures.append(
                    (probe, f"{g.rank} of {rank} poles: poles coincide or a residue vanishes")
                )
        self.stop_on_failures()

    def stop_on_failures(self) -> None:
        """Raises NonGeneric if some probe cannot be used."""
        if self.failures:
            raise NonGeneric(self.failures, proved=self.system.exact)

    def stop_on_row_failures(self) -> None:
        """The same for later rows: over exact systems their last tokens go, since directions were chosen."""
        if self.failures and self.system.exact:
            tokens = frozenset(("b", probe.i) for probe, _ in self.failures)
            raise NonGeneric(self.failures, True, vectors=tokens)
        self.stop_on_failures()

    # small helpers

    def dot(self, entries: Sequence[Any], tok: Vector) -> Any:
        """Σ_i entries_i tok_i for values or scores."""
        total: Any = entries[0] * tok[0]
        for x, t in zip(entries[1:], tok[1:], strict=True):
            total = total + x * t
        return total

    def is_no(self, x: Any, y: Any) -> bool:
        """Whether two values are certainly different."""
        return self.system.equal(x, y) is Decision.NO

    def logs(self, xs: Sequence[Any], probe: Probe) -> list[Any]:
        """Logarithms; a value too wide to have one makes the probe fail."""
        found = []
        for x in xs:
            try:
                found.append(self.system.log(x))
            except CannotTell as error:
                self.failures.append((probe, str(error)))
                found.append(self.system.score(fmpq(0)))
        return found

    def require_rank(self, found: dict[Probe, PartialFractions], rank: int) -> None:
        """Raises NonGeneric if later rows show more heads than the first, which b_1 is to blame for; or
        fewer, over balls, where heads that share a pole cannot be taken apart."""
        if not self.system.exact:
            self.require_equal_ranks(found)
        wrong = [
            (p, g) for p, g in found.items() if g.rank > rank or (g.rank < rank and not self.system.exact)
        ]
        if wrong:
            reasons = [(probe, f"{g.rank} poles, but {rank} in the first row") for probe, g in wrong]
            first = {("b", 1)} if any(g.rank > rank for _, g in wrong) else set()
            raise NonGeneric(reasons, self.system.exact, vectors=frozenset(first))

    def one_each(self, candidates: list[list[int]], probe: Probe) -> list[int]:
        """The labels, if there is one way to give every head a candidate of its own. Raises
        InconsistentAnswers if there is certainly none; an ambiguous probe fails."""
        if any(not poles for poles in candidates):
            raise InconsistentAnswers(
                f"{probe}: a head has no pole, so the answers are not those of one attention layer with at "
                f"most {self.plan.heads} heads"
            )
        labels = unique_matching(candidates)
        if labels is not None:
            return labels
        if any(len(poles) > 1 for poles in candidates):
            self.failures.append((probe, "the labels of two heads are ambiguous"))
            return list(range(len(candidates)))
        raise InconsistentAnswers(
            f"{probe}: one pole fits two heads, so the answers are not those of one attention layer with at "
            f"most {self.plan.heads} heads"
        )

    # stages

    def linked(self, found: dict[Probe, PartialFractions]) -> FirstStage:
        """The first row from the tokens a_1 … a_d alone."""
        probes = self.token_probes
        basis = self.plan.first_basis
        first = linked_first_row([found[probe] for probe in probes], basis, self.plan.b[0], self.system)
        if first is None:
            reason = "the poles of the first row cannot be put together to heads"
            raise NonGeneric([(probes[0], reason)], True, vectors=frozenset({("b", 1)}))
        return first

    def first_stage(self, found: dict[Probe, PartialFractions]) -> FirstStage:
        """Rows b_1^T W_h and vectors v_h, with the base probe."""
        plan, system = self.plan, self.system
        first = FirstStage.of_base(found[plan.base_probe])
        tokens = self.token_exponentials(found, first)
        self.stop_on_failures()
        scores = [self.logs(first.y, plan.base_probe)]
        scores += [self.logs(x, probe) for (x, _), probe in zip(tokens, self.token_probes, strict=True)]
        self.stop_on_failures()
        rows = system.solve_scores(plan.first_basis, scores)
        first.row = list(zip(*rows, strict=True))
        values = [first.value, *(va for _, va in tokens)]
        by_head = list(zip(*values, strict=True))
        first.v = [assemble_vector(plan.first_basis, entries, system) for entries in by_head]
        return first

    def check_first_row(self, found: dict[Probe, PartialFractions], first: FirstStage) -> None:
        """Raises InconsistentAnswers if probes of the first row that are not needed say otherwise."""

    def member_labels(self, probe: Probe, g: PartialFractions, first: FirstStage) -> list[int]:
        """Labels of the probe of a token by membership: R − y is an exponential for the right head."""
        candidates = [[k for k, R in enumerate(g.poles) if self.is_exponential(R - y)] for y in first.y]
        return self.one_each(candidates, probe)

    def is_exponential(self, x: Any) -> bool:
        """Whether an exact value is a power of two."""
        try:
            self.system.log(x)
        except InconsistentAnswers:
            return False
        return True

    @property
    def whole_probes(self) -> list[Probe]:
        """The probes of stage 1 that must show every head."""
        return list(self.plan.first_probes)

    @property
    def token_probes(self) -> list[Probe]:
        """The probes with one token a_j, in order."""
        return [probe for probe in self.plan.first_probes if probe.kind == "token"]

    def require_different_outputs(self, first: FirstStage) -> None:
        """Raises SameOutputs if two heads have, or over balls may have, the same v."""
        for v, w in combinations(first.v, 2):
            if not any(self.is_no(x, y) for x, y in zip(v, w, strict=True)):
                raise SameOutputs(self.system.exact)

    def total(self, first: FirstStage) -> list[Any]:
        """V, the sum of all v_h."""
        return [self.system.sum(entries) for entries in zip(*first.v, strict=True)]

    def projections(self, first: FirstStage) -> list[list[Any]]:
        """Entry [j − 1][h]: v_h·u_j."""
        return [[self.dot(v, u) for v in first.v] for u in self.plan.u]

    def assembled(
        self, first: FirstStage, table: dict[tuple[int, int], list[Any]], offset: Any
    ) -> Solution | Further:
        """The heads from all scores, or a plan for a higher rank."""
        plan = self.plan
        heads = range(len(first.v))
        if plan.rows_asked is not None:
            return self.next_plan([{ij: scores[h] for ij, scores in table.items()} for h in heads])
        found = []
        for h in heads:
            W, certain = assemble_rows(plan, {ij: s[h] for ij, s in table.items()}, self.system)
            self.proved = self.proved and certain
            found.append(RecoveredHead(W, first.v[h]))
        if self.system.exact:
            found.sort(key=lambda head: (head.W, head.v))
        return Solution(tuple(found), self.proved, offset)

    def next_plan(self, tables: list[dict[tuple[int, int], Any]]) -> Further:
        """The plan for the present rank if no head shows a higher one, else for the next rank."""
        plan = self.plan
        size = plan.full_rank + 1
        if any(leading_rank(table, size, self.system) == size for table in tables):
            return Further(plan.of_higher_rank(), proved=True)
        return Further(plan.complete(), proved=self.system.exact)

    def task_scores(
        self, task: Task, scores: list[Any], table: dict[tuple[int, int], list[Any]], first: FirstStage
    ) -> None:
        """Enters the scores of one column; those of a shared probe are those of two rows less row 1."""
        (column,) = task.columns
        if len(task.rows) == 1:
            table[task.rows[0], column] = scores
            return
        known, wanted = sorted(task.rows, key=lambda i: (i, column) not in table)
        direction = self.plan.u[column - 1]
        table[wanted, column] = [
            s - k + self.dot(row, direction)
            for s, k, row in zip(scores, table[known, column], first.row, strict=True)
        ]
