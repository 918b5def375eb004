"""The whole recovery of a Transformer: heads, walk, regions, jumps, orientation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flint import fmpq

from exactattn.exceptions import ConditionViolated, InconsistentAnswers, InputError
from exactattn.model.query import Query
from exactattn.model.relu_form import Blocks, ReluForm, flat, relu_form
from exactattn.model.transformer import stacked_outputs
from exactattn.numbers import LogLattice, Matrix, rational
from exactattn.oracle import Oracle, Transcript
from exactattn.recovery.plan import PublishedPlan
from exactattn.recovery.relu.asking import Asked, Asker
from exactattn.recovery.relu.differences import NoDifferences
from exactattn.recovery.relu.draws import Draws
from exactattn.recovery.relu.frozen import FrozenPath, FrozenRegions, frozen_path
from exactattn.recovery.relu.heads import antisymmetric_heads, heads_in_cone
from exactattn.recovery.relu.orientation import orient
from exactattn.recovery.relu.paths import TokenPath, independent_path
from exactattn.recovery.relu.pieces import Piece, place
from exactattn.recovery.relu.regions import MissedHead, Region, RegionFailed, TokenRegions
from exactattn.recovery.relu.result import Jump, TransformerRecovery
from exactattn.recovery.relu.walk import TooManyKinks, Walked, WalkFailed, walk

__all__ = ["recover_transformer"]

MAX_PATHS = 3
# A stated number of neurons is counted; without it more queries must exclude neurons that single tokens hide.
CHECKS, UNCOUNTED_CHECKS = 2, 32
UNCOUNTED_TESTS = 6
# Entries of the tokens that a path is made of: long ones are generic, short ones give short scores.
LONG, SHORT = 999, 30


def recover_transformer(
    oracle: Oracle,
    heads: int,
    *,
    neurons: int | None = None,
    kink_spacing: Any = None,
    residual: bool = False,
    antisymmetric: bool = True,
    denominator: int = 1,
    seed: int = 0,
    transcript: str | Path | None = None,
    max_paths: int = MAX_PATHS,
) -> TransformerRecovery:
    """Recovers F = ℓ·Z + Σ a_k ReLU(β_k·Z) from nothing but an oracle's values, on the log-lattice.

    ``heads`` is the number of heads or an upper bound; ``neurons`` the number K of neurons, parallel ones
    counted once and those that cancel not at all, or ``kink_spacing`` a lower bound δ on the distances of
    kinks and ends on the drawn path (abscissae 0 … 2). With neither the result is labelled as of unknown
    completeness: no finite set of values can exclude a further, nearly parallel pair of neurons. An upper
    bound on K does not suffice either; K must be exact. ``residual``: the last token is stacked below the
    head outputs. ``antisymmetric`` False takes the heads from the regions of the walk alone.
    ``transcript`` keeps every answer, so that a run can be resumed.

    With K the count of pieces shows that no neuron is hidden. With δ alone neurons whose blocks add up to 0
    or to parallel vectors are excluded by further random queries only.

    Token size d ≥ 2. For generic networks (blocks of every β_k add up to vectors β̄_k of which no two are
    parallel, and no signed sum of a_k β̄_k vanishes) 2(4Hd² − 2H + 1) queries for the heads, O(K log 1/δ)
    for the walk and (K + 1)(Hd + 1) for the regions; where this fails and d > H, without a residual, the
    frozen walk takes over.

    Raises ConditionViolated, with the condition, where the method does not apply; InconsistentAnswers if the
    answers are not of such a function with the stated numbers; GenericityExhausted, OracleError,
    TranscriptError, InputError.

    >>> from exactattn.model.random_transformer import random_transformer
    >>> from exactattn.oracle.transformer import TransformerOracle
    >>> model = random_transformer(1, 2, 2, seed=3)
    >>> result = recover_transformer(TransformerOracle(model), heads=1, neurons=2)
    >>> result.matches(model), len(result.neurons), result.counts["heads"]
    (True, 2, 30)
    """
    spacing = None if kink_spacing is None else rational(kink_spacing)
    _check_options(oracle, heads, neurons, spacing)
    system = LogLattice(denominator)
    identity = {
        "method": "transformer", "heads": heads, "neurons": neurons, "dim": oracle.dim, "seed": seed,
        "kink_spacing": None if spacing is None else str(spacing), "residual": residual,
        "antisymmetric": antisymmetric, "numbers": system.describe(),
    }  # fmt: skip
    with Transcript(transcript, identity=identity, fingerprint=oracle.fingerprint) as record:
        run = _Run(Asker(oracle, record, system), Draws(seed), heads, oracle.dim, residual)
        run.kinks, run.spacing, run.antisymmetric = neurons, spacing, antisymmetric
        return run.result(max_paths)


def _check_options(oracle: Oracle, heads: int, neurons: int | None, spacing: fmpq | None) -> None:
    if heads < 1:
        raise InputError(f"must be at least 1, not {heads}", field="heads")
    if neurons is not None and neurons < 0:
        raise InputError(f"must be at least 0, not {neurons}", field="neurons")
    if spacing is not None and spacing <= 0:
        raise InputError(f"must be more than 0, not {spacing}", field="kink spacing")
    if oracle.dim < 2:
        raise ConditionViolated("tokens must have at least 2 entries: on a line no path avoids 0", "d ≥ 2")


class _Run:
    """The state of a run: known heads, and the paths that were given up, with reasons."""

    kinks: int | None
    spacing: fmpq | None
    antisymmetric: bool

    def __init__(self, asker: Asker, draws: Draws, bound: int, dim: int, residual: bool) -> None:
        self.started = time.perf_counter()
        self.asker, self.draws, self.bound, self.dim, self.residual = asker, draws, bound, dim, residual
        self.matrices: tuple[Matrix, ...] = ()
        self.whole: dict[Matrix | None, tuple[fmpq, ...]] | None = None
        self.heads_plan: PublishedPlan | None = None
        self.notes: list[str] = []

    def result(self, max_paths: int) -> TransformerRecovery:
        path = independent_path(self.draws, self.dim, LONG)
        self.require_homogeneity(path)
        if self.antisymmetric:
            found = antisymmetric_heads(self.asker, self.bound, self.dim, self.residual, self.draws.seed)
            self.matrices, self.heads_plan = found.matrices, found.plan
            self.whole = self.by_matrix(found.matrices, found.blocks)
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
                f"{self.notes[-1]}, so the function has more than {self.kinks} neurons, parallel ones merged; "
                "state more"
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
        """Heads that only pieces of a failed walk show."""
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

    def by_matrix(self, matrices: Sequence[Matrix], blocks: Blocks) -> dict[Matrix | None, tuple[fmpq, ...]]:
        names: list[Matrix | None] = [*matrices, None] if self.residual else [*matrices]
        return dict(zip(names, blocks, strict=True))

    def padded(self, blocks: dict[Matrix | None, tuple[fmpq, ...]]) -> Blocks:
        """Blocks of all known heads; those that a fit did without are 0."""
        names: list[Matrix | None] = [*self.matrices, None] if self.residual else [*self.matrices]
        return tuple(blocks.get(name, (fmpq(0),) * self.dim) for name in names)

    def assembled(
        self, path: TokenPath | FrozenPath, walked: Walked, regions: list[Region]
    ) -> TransformerRecovery:
        """Jumps, signs, v, and the form; v and two further queries check it."""
        vectors = [self.padded(self.by_matrix(region.matrices, region.blocks)) for region in regions]
        linear = _plus(vectors[0], vectors[-1])
        if self.whole is not None and self.padded(self.whole) != linear:
            raise RegionFailed("the first and the last region do not add up to the antisymmetric part")
        jumps = []
        for before, after, region in zip(vectors, vectors[1:], regions[1:], strict=False):
            direction = _plus(after, before, -1)
            jumps.append(Jump(1 if self.height(direction, region) > 0 else -1, direction))
        form = self.form(linear, jumps)
        checks = self.checked(form)
        return TransformerRecovery(
            form=form, orientation=orient(form), matrices=self.matrices, linear=linear, path=path,
            walked=walked, regions=tuple(regions), jumps=tuple(jumps), checks=checks, asked=self.asker.asked,
            bound=self.bound, kinks=self.kinks, spacing=self.spacing, residual=self.residual,
            heads_plan=self.heads_plan, notes=tuple(self.notes), system=self.asker.system,
            seed=self.draws.seed, seconds=time.perf_counter() - self.started,
        )  # fmt: skip

    def height(self, direction: Blocks, region: Region) -> fmpq:
        """The jump along Z in the middle of the later region: positive where F is convex at the kink."""
        centre = [
            x for row in stacked_outputs(self.matrices, self.residual, region.base, self.asker.system)
            for x in row
        ]  # fmt: skip
        return sum((c * z for c, z in zip(flat(direction), centre, strict=True)), fmpq(0))

    def form(self, linear: Blocks, jumps: Sequence[Jump]) -> ReluForm:
        rest = linear
        for jump in jumps:
            rest = _plus(rest, jump.direction, -jump.sign)
        half = tuple(tuple(x / 2 for x in block) for block in rest)
        neurons = [(fmpq(jump.sign), jump.direction) for jump in jumps]
        return relu_form(self.matrices, self.dim, self.residual, half, neurons)

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


def _plus(x: Blocks, y: Blocks, factor: int = 1) -> Blocks:
    return tuple(
        tuple(a + factor * b for a, b in zip(row, other, strict=True))
        for row, other in zip(x, y, strict=True)
    )
