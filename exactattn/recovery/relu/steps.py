"""The steps of recovering a Transformer, and what is done when one of them fails.

Heads → walk → regions → jumps. A path that does not show all neurons is given up for another one, or for the
walk with frozen weights; what no path shows ends in a refusal.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from flint import fmpq

from exactattn.exceptions import ConditionViolated, InconsistentAnswers, InputError
from exactattn.model.query import Query
from exactattn.model.relu_form import ReluForm
from exactattn.model.transformer import stacked_outputs
from exactattn.numbers import Matrix
from exactattn.recovery.relu.asking import Asked, Asker
from exactattn.recovery.relu.assembly import Assembly
from exactattn.recovery.relu.differences import NoDifferences
from exactattn.recovery.relu.draws import Draws
from exactattn.recovery.relu.frozen import FrozenPath, FrozenRegions, frozen_path
from exactattn.recovery.relu.heads import FoundHeads, antisymmetric_heads, heads_in_cone
from exactattn.recovery.relu.orientation import orient
from exactattn.recovery.relu.paths import TokenPath, independent_path
from exactattn.recovery.relu.pieces import Piece, place
from exactattn.recovery.relu.regions import MissedHead, Region, RegionFailed, TokenRegions
from exactattn.recovery.relu.result import TransformerRecovery
from exactattn.recovery.relu.walk import TooManyKinks, Walked, WalkFailed, walk

__all__ = ["TransformerRun"]

# A stated number of neurons is counted; without it more queries must exclude neurons that single tokens hide.
CHECKS, UNCOUNTED_CHECKS = 2, 32
UNCOUNTED_TESTS = 6
# Entries of the tokens that a path is made of: long ones are generic, short ones give short scores.
LONG, SHORT = 999, 30


class TransformerRun:
    """The state of a run: known heads, and the paths that were given up, with reasons."""

    kinks: int | None
    spacing: fmpq | None
    antisymmetric: bool

    def __init__(self, asker: Asker, draws: Draws, bound: int, dim: int, residual: bool) -> None:
        self.started = time.perf_counter()
        self.asker, self.draws, self.bound, self.dim, self.residual = asker, draws, bound, dim, residual
        self.matrices: tuple[Matrix, ...] = ()
        self.whole: FoundHeads | None = None
        self.notes: list[str] = []

    def result(self, max_paths: int) -> TransformerRecovery:
        path = independent_path(self.draws, self.dim, LONG)
        self.require_homogeneity(path)
        if self.antisymmetric:
            self.whole = antisymmetric_heads(self.asker, self.bound, self.dim, self.residual, self.draws.seed)
            self.matrices = self.whole.matrices
        if not self.solvable:
            path = self.token_path()
        too_many = False
        for _ in range(max_paths):
            try:
                walked = self.walk(path)
                return self.assembled(path, walked, self.token_regions(path, walked.pieces))
            except (WalkFailed, RegionFailed) as reason:
                self.notes.append(str(reason))
                too_many = isinstance(reason, TooManyKinks)
                if isinstance(reason, WalkFailed):
                    self.look_around(path, reason.pieces)
            if self.can_freeze and not too_many:
                break
            path = self.token_path()
        if too_many:
            raise InconsistentAnswers(
                f"{self.notes[-1]}, so the function has more than {self.kinks} neurons, parallel ones "
                "merged; state more"
            )
        return self.frozen(max_paths)

    @property
    def solvable(self) -> bool:
        """Whether differences can be solved for short scores, so that last tokens may be long."""
        return len(self.matrices) == self.bound <= self.dim

    @property
    def can_freeze(self) -> bool:
        return self.dim > len(self.matrices) and not self.residual

    def token_path(self) -> TokenPath:
        return independent_path(self.draws, self.dim, LONG if self.solvable else SHORT)

    def require_homogeneity(self, path: TokenPath) -> None:
        """F(2b) = 2F(b) at b = ±b0."""
        for b in path.ends:
            once, twice = self.asker.ask("walk", [Query.of([], b), Query.of([], tuple(2 * x for x in b))])
            if twice != 2 * once:
                raise ConditionViolated(
                    "F(2b) is not 2F(b) at a single token b, so the network has biases, or it is no ReLU "
                    "network; only networks without biases are covered",
                    "no biases in the network",
                )

    def walk(self, path: TokenPath) -> Walked:
        def value(t: fmpq) -> fmpq:
            return self.asker.ask("walk", [path.query(t)])[0]

        return walk(value, self.draws, kinks=self.kinks, spacing=self.spacing)

    def token_regions(self, path: TokenPath, pieces: Sequence[Piece]) -> list[Region]:
        """The region of every piece; heads that show on the way are recovered there."""
        found = []
        for piece in pieces:
            while True:
                regions = TokenRegions(self.asker, self.draws, path, self.matrices, self.bound, self.residual)
                regions.tests = UNCOUNTED_TESTS if self.kinks is None else 1
                try:
                    found.append(regions.fit(piece))
                    break
                except MissedHead as missed:
                    self.add_heads(missed)
        return found

    def add_heads(self, missed: MissedHead) -> None:
        new = heads_in_cone(self.asker, missed, self.bound, self.draws).matrices
        union = tuple(sorted({*self.matrices, *new}))
        if len(union) == len(self.matrices) or len(union) > self.bound:
            raise InconsistentAnswers(
                "the answers near a single token are not those of a Transformer with at most "
                f"{self.bound} heads"
            )
        self.matrices = union

    def look_around(self, path: TokenPath, pieces: Sequence[Piece]) -> None:
        """Finds heads that only pieces of a failed walk show."""
        if len(self.matrices) < self.bound:
            for piece in pieces:
                try:
                    self.token_regions(path, [piece])
                except RegionFailed:
                    continue

    def frozen(self, max_paths: int) -> TransformerRecovery:
        """The frozen walk, or the refusal."""
        if not self.can_freeze:
            raise ConditionViolated(
                f"single tokens do not show the stated neurons ({self.notes[-1]}): a neuron whose blocks add "
                "up to 0, two whose sums are parallel, a signed sum of them that vanishes, or too large a "
                f"number of neurons; the frozen walk needs d > H and no residual, here d = {self.dim}, "
                f"H = {len(self.matrices)}{', with a residual' if self.residual else ''}",
                "generic sums of blocks",
            )
        for _ in range(max_paths):
            try:
                path = frozen_path(self.matrices, self.dim, self.asker, self.draws)
                walked = self.frozen_walk(path)
                regions = FrozenRegions(self.asker, self.draws, path, self.matrices)
                return self.assembled(path, walked, [regions.fit(piece) for piece in walked.pieces])
            except NoDifferences:
                self.notes.append("an unlucky last token of the frozen walk")
            except InputError as error:  # a head that is hidden so far has scores off the lattice
                if len(self.matrices) == self.bound:
                    raise
                self.notes.append(f"frozen walk: {error}")
            except (WalkFailed, RegionFailed) as reason:
                self.notes.append(f"frozen walk: {reason}")
        raise ConditionViolated(
            f"neither single tokens nor the frozen walk show the stated neurons ({self.notes[-1]}): too "
            "large a number of neurons was stated, or a head is hidden from every query of the method",
            "the stated number of neurons",
        )

    def frozen_walk(self, path: FrozenPath) -> Walked:
        """The walk with frozen weights; a kink spacing is stated for single tokens and says nothing here."""

        def value(t: fmpq) -> fmpq:
            return place(t)[1] * self.asker.ask("walk", [path.query(t)])[0]

        return walk(value, self.draws, kinks=self.kinks, low=path.low, high=path.high)

    def assembled(
        self, path: TokenPath | FrozenPath, walked: Walked, regions: list[Region]
    ) -> TransformerRecovery:
        """Jumps, signs, v, and the form; v and further queries check it."""
        assembly = Assembly(self.matrices, self.dim, self.residual, self.asker.system)
        linear, jumps = assembly.jumps(regions)
        if self.whole is not None and assembly.padded(self.whole.matrices, self.whole.blocks) != linear:
            raise RegionFailed("the first and the last region do not add up to the antisymmetric part")
        form = assembly.form(linear, jumps)
        checks = self.checked(form)
        return TransformerRecovery(
            form=form, orientation=orient(form), matrices=self.matrices, linear=linear, path=path,
            walked=walked, regions=tuple(regions), jumps=jumps, checks=checks, asked=self.asker.asked,
            bound=self.bound, kinks=self.kinks, spacing=self.spacing, residual=self.residual,
            heads_plan=None if self.whole is None else self.whole.plan, notes=tuple(self.notes),
            system=self.asker.system, seed=self.draws.seed, seconds=time.perf_counter() - self.started,
        )  # fmt: skip

    def checked(self, form: ReluForm) -> tuple[Asked, ...]:
        """Further random queries that the form must answer."""
        found = []
        for _ in range(UNCOUNTED_CHECKS if self.kinks is None else CHECKS):
            tokens = [self.draws.vector("check", self.dim, 4) for _ in range(3)]
            query = Query.of([(tok, 1) for tok in tokens[1:]], tokens[0])
            (answer,) = self.asker.ask("checks", [query])
            stacked = stacked_outputs(form.matrices, form.residual, query, self.asker.system)
            if form.value(stacked, self.asker.system) != answer:
                raise ConditionViolated(
                    "the recovered function does not give the answer to a further query: neurons coincide on "
                    "all queries of the walk, or the stated number or distance of kinks is wrong",
                    "the stated number or distance of kinks",
                )
            found.append(Asked("checks", query, answer))
        return tuple(found)
