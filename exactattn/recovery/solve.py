"""Solving the published plan: a pure function of plan and answers.

interpolate every probe → label its poles → match probes → assemble the heads. Nothing here can reach the
model or ask a query. The labelling rule: scores and residues add up over the probes that a column or a row
probe joins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from flint import fmpq

from exactattn.exceptions import CannotTell, InconsistentAnswers
from exactattn.numbers import Decision, NumberSystem, Vector
from exactattn.recovery.assembly import assemble_matrix, assemble_vector
from exactattn.recovery.genericity import NonGeneric
from exactattn.recovery.interpolation import interpolate
from exactattn.recovery.matching import AmbiguousMatch, NoMatch, ProbeHeads, match
from exactattn.recovery.partial_fractions import PartialFractions
from exactattn.recovery.plan import PublishedPlan
from exactattn.recovery.probe import Probe
from exactattn.recovery.solution import RecoveredHead, Solution

__all__ = ["solve"]

_NOT_A_LAYER = "so the answers are not those of one attention layer with at most {heads} heads"


class _Solver:
    def __init__(
        self,
        plan: PublishedPlan,
        answers: Sequence[Any],
        system: NumberSystem[Any, Any],
        progress: Callable[[int], None] | None,
    ) -> None:
        self.plan = plan
        self.system = system
        self.progress = progress
        self.constant = answers[0]
        self.samples = plan.samples(answers)
        self.nodes = [fmpq(m) for m in plan.copies]
        self.failures: list[tuple[Probe, str]] = []

    def inconsistent(self, what: str) -> InconsistentAnswers:
        return InconsistentAnswers(f"{what}, {_NOT_A_LAYER.format(heads=self.plan.heads)}")

    def interpolated(self, probe: Probe, single: Any) -> PartialFractions | None:
        """g(m) = (V·b − f(m))/m at m = 1 … 2H, as partial fractions; ``single`` is V·b."""
        samples = self.samples[probe]
        values = [(single - f) / int(m.p) for m, f in zip(self.nodes, samples, strict=True)]
        try:
            result = interpolate(self.nodes, values, self.plan.heads, self.system)
        except CannotTell as error:
            self.failures.append((probe, str(error)))
            return None
        except InconsistentAnswers as error:
            raise InconsistentAnswers(f"{probe}: {error}") from None
        finally:
            if self.progress is not None:
                self.progress(1)
        return result

    def dot(self, values: Sequence[Any], tok: Vector) -> Any:
        return self.system.sum([v * self.system.value(x) for v, x in zip(values, tok, strict=True)])

    def interpolate_all(self) -> dict[tuple[str, int, int], PartialFractions]:
        """All probes; the first row yields V, which the other last tokens need."""
        plan, system = self.plan, self.system
        found: dict[tuple[str, int, int], PartialFractions] = {}
        first_row = [p for p in plan.probes if p.kind == "base" and p.i == 1]
        for probe in first_row:
            result = self.interpolated(probe, self.constant)
            if result is not None:
                found["base", 1, probe.j] = result
        self.stop_on_failures()
        sums = [system.sum(found["base", 1, p.j].residues) for p in first_row]
        total = assemble_vector(plan.u, sums, system)
        self.offset = self.constant - self.dot(total, plan.b[0])
        if not plan.bias and system.equal(self.offset, system.value(fmpq(0))) is Decision.NO:
            raise self.inconsistent("the residues of the first row contradict the answer at b_1 alone")
        for probe in plan.probes:
            key = (probe.kind, probe.i, probe.j)
            if key not in found:
                result = self.interpolated(probe, self.single(total, probe.last))
                if result is not None:
                    found[key] = result
        self.stop_on_failures()
        return found

    def single(self, total: Sequence[Any], tok: Vector) -> Any:
        """V·b, plus the constant output of a layer with biases: the value at b alone."""
        return self.dot(total, tok) + self.offset if self.plan.bias else self.dot(total, tok)

    def stop_on_failures(self) -> None:
        if self.failures:
            raise NonGeneric(self.failures, proved=self.system.exact)

    def labelled(self) -> tuple[dict[tuple[int, int], ProbeHeads], bool]:
        """Base probes (i, j) with their heads in one common order, and whether all ranks are proved."""
        found = self.interpolate_all()
        rank = max(g.rank for g in found.values())
        for probe in self.plan.probes:
            g = found[probe.kind, probe.i, probe.j]
            if g.rank < rank:
                self.failures.append(
                    (probe, f"{g.rank} of {rank} poles: poles coincide or a residue vanishes")
                )
        self.stop_on_failures()
        heads: dict[tuple[str, int, int], ProbeHeads] = {}
        for probe in self.plan.probes:
            g = found[probe.kind, probe.i, probe.j]
            try:
                scores = tuple(self.system.log(r) for r in g.poles)
            except CannotTell as error:
                self.failures.append((probe, str(error)))
                continue
            except InconsistentAnswers as error:
                raise InconsistentAnswers(f"{probe}: {error}") from None
            heads[probe.kind, probe.i, probe.j] = ProbeHeads(scores, g.residues)
        self.stop_on_failures()
        return self.match_all(heads), all(g.rank_proved for g in found.values())

    def match_all(self, heads: dict[tuple[str, int, int], ProbeHeads]) -> dict[tuple[int, int], ProbeHeads]:
        d = self.plan.dim
        labelled = {(1, 1): heads["base", 1, 1]}

        def link(x: tuple[int, int], y: tuple[int, int], probe: Probe) -> None:
            shared: Literal["last", "difference"] = "difference" if probe.kind == "row" else "last"
            target = heads["base", y[0], y[1]]
            z = heads[probe.kind, probe.i, probe.j]
            try:
                if probe.kind == "row" and self.plan.bias:  # scores at b_1 and 2b_i − b_1 add up to 2·those
                    twice = ProbeHeads(tuple(s + s for s in target.scores), target.residues)
                    _, labels = match(labelled[x], z, twice, shared, self.system)
                else:
                    labels, _ = match(labelled[x], target, z, shared, self.system)
            except AmbiguousMatch:
                self.failures.append((probe, "the labels of two heads are ambiguous"))
                labels = list(range(len(target.scores)))
            except NoMatch:
                raise self.inconsistent(
                    f"{probe}: scores and residues do not add up to those of the probes it joins"
                ) from None
            labelled[y] = target.ordered(labels)

        probes = {(p.kind, p.i, p.j): p for p in self.plan.probes}
        for i in range(2, self.plan.rows + 1):
            link((1, 1), (i, 1), probes["row", i, 1])
        self.stop_on_failures()
        for i in range(1, self.plan.rows + 1):
            for j in range(2, d + 1):
                link((i, 1), (i, j), probes["column", i, j])
        self.stop_on_failures()
        for (i, j), probe_heads in labelled.items():
            pairs = zip(labelled[1, j].residues, probe_heads.residues, strict=True)
            if any(self.system.equal(x, y) is Decision.NO for x, y in pairs):
                raise self.inconsistent(f"base probe ({i}, {j}): a residue differs between last tokens")
        return labelled

    def solution(self) -> Solution:
        labelled, proved = self.labelled()
        plan, system, indices = self.plan, self.system, range(1, self.plan.dim + 1)
        b = [plan.lifted(x) for x in plan.b]
        heads = []
        for h in range(len(labelled[1, 1].scores)):
            scores = [[labelled[i, j].scores[h] for j in indices] for i in range(1, plan.rows + 1)]
            heads.append(
                RecoveredHead(
                    assemble_matrix(b, plan.u, scores, system),
                    assemble_vector(plan.u, [labelled[1, j].residues[h] for j in indices], system),
                )
            )
        if system.exact:
            heads.sort(key=lambda head: (head.W, head.v))
        return Solution(tuple(heads), proved, self.offset if plan.bias else None)


def solve(
    plan: PublishedPlan,
    answers: Sequence[Any],
    system: NumberSystem[Any, Any],
    progress: Callable[[int], None] | None = None,
) -> Solution:
    """The canonical heads behind the answers to ``plan.queries()``, in that order.

    Exact heads on the log-lattice (sorted), enclosures over balls. ``progress`` is called after each probe.
    Raises InconsistentAnswers when the answers are provably not those of an attention layer with at most
    ``plan.heads`` heads, NonGeneric when some vectors must be drawn again (or, over balls, more precision
    is needed). Source: theory, section 4.
    """
    with system.context():
        return _Solver(plan, answers, system, progress).solution()
