"""Heads from antisymmetric queries, and from a cone in which F is linear in Z.

X and −X have the same softmax weights, so G(X) = F(X) − F(−X) = v·Z(X): one attention layer, whatever the
network is. It shows the heads with v_h ≠ 0. The others show in the cone of some piece of the walk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from flint import fmpq

from exactattn.exceptions import GenericityExhausted, InconsistentAnswers
from exactattn.model.query import Query
from exactattn.model.relu_form import Blocks
from exactattn.numbers import Matrix, NumberSystem, Vector, dot
from exactattn.oracle import Oracle
from exactattn.recovery.assembly import assemble_vector
from exactattn.recovery.draw import TokenRange
from exactattn.recovery.genericity import NonGeneric
from exactattn.recovery.plan import PublishedPlan
from exactattn.recovery.probe import minus
from exactattn.recovery.relu.asking import Asker
from exactattn.recovery.relu.draws import Draws
from exactattn.recovery.relu.plan import LastTokenPlan, ask_and_solve, last_block
from exactattn.recovery.relu.regions import MissedHead, near, predicted

__all__ = ["AntisymmetricOracle", "FoundHeads", "antisymmetric_heads", "heads_in_cone"]

E = TypeVar("E")

# (multiple of b at the centre, multiple of u in every difference; 0: differences in all directions)
CONES = ((1, 0), (4, 0), (1, 6), (4, 8))


@dataclass(frozen=True)
class FoundHeads:
    """Matrices W_h, the blocks that go with them (of the last token too), and the plan that showed them."""

    matrices: tuple[Matrix, ...]
    blocks: Blocks
    plan: PublishedPlan


class AntisymmetricOracle(Oracle):
    """G(X) = F(X) − F(−X), two queries of F each: an attention layer for any recovery, also over balls.

    >>> from exactattn.model.transformer import Neuron, Transformer
    >>> from exactattn.oracle.transformer import TransformerOracle
    >>> from exactattn.recovery import recover
    >>> model = Transformer.of([[[1, 2], [0, 1]]], [Neuron.of(3, [[1, 5]])], dim=2)
    >>> recover(AntisymmetricOracle(TransformerOracle(model)), heads=1).heads[0].v
    (3, 15)
    """

    def __init__(self, oracle: Oracle) -> None:
        super().__init__(oracle.dim)
        self.oracle = oracle

    @property
    def fingerprint(self) -> str:
        """That of F's oracle."""
        return f"antisymmetric part of {self.oracle.fingerprint}"

    def answer(self, queries: Sequence[Query], system: NumberSystem[E, Any]) -> Iterator[E]:
        """The differences; errors are those of F's oracle."""
        for query in queries:
            there, back = self.oracle.answer([query, negated(query)], system)
            difference: Any = there
            with system.context():
                difference = difference - back
            yield difference


def negated(query: Query) -> Query:
    """The query with every token replaced by its negative."""

    def minus_of(tok: Vector) -> Vector:
        return tuple(-x for x in tok)

    return Query.of([(minus_of(tok), count) for tok, count in query.runs], minus_of(query.last))


def antisymmetric_heads(asker: Asker, bound: int, dim: int, residual: bool, seed: int) -> FoundHeads:
    """Heads with v_h ≠ 0, and v by blocks, from 2(4Hd² − 2H + 1) values of F; with a residual
    2(4Hd² − 2H + d).

    Raises InconsistentAnswers if G is no attention layer with at most that many heads.
    """
    kind = LastTokenPlan if residual else PublishedPlan
    plan = kind(bound, dim, seed, TokenRange.for_lattice(bound, dim)).made_valid()

    def ask(queries: Sequence[Query]) -> list[fmpq]:
        both = asker.ask("heads", [x for query in queries for x in (query, negated(query))])
        return [f - g for f, g in zip(both[::2], both[1::2], strict=True)]

    try:
        return _found(plan, ask, asker)
    except InconsistentAnswers as error:
        hint = "" if residual else "; is there a residual?"
        raise InconsistentAnswers(f"F(X) − F(−X): {error}{hint}") from None


def heads_in_cone(asker: Asker, missed: MissedHead, bound: int, draws: Draws) -> FoundHeads:
    """All heads with v^A_h ≠ 0 in the cone around a token: 4Hd² − 2H + 1 + d values of F for each try.

    Raises InconsistentAnswers if no try gives heads that stand a further query.
    """
    dim = len(missed.b)
    for centre, slope in CONES:
        tokens = TokenRange(last=2, difference=3 if slope else max(8, 4 * bound))
        (seed,) = draws.vector("seed", 1, 1 << 30)
        plan = LastTokenPlan(
            bound, dim, int(seed.p), tokens,
            centre=tuple(centre * x for x in missed.b),
            slope=tuple(slope * x for x in missed.u) if slope else None,
        ).made_valid()  # fmt: skip
        ask = _Cone(asker, missed.scale)
        try:
            found = _found(plan, ask, asker)
        except (InconsistentAnswers, GenericityExhausted):
            continue
        last = plan.b[0]
        test = near(last, missed.scale, [(u, 1) for u in plan.u[:2]])
        if asker.ask("regions", [test])[0] == predicted(
            found.matrices, True, found.blocks, test, asker.system
        ):
            return found
    raise InconsistentAnswers(
        "a head shows near a single token, but the answers around it are not those of one attention layer "
        f"with at most {bound} heads"
    )


class _Cone:
    """Answers a plan of attention with values of F near single tokens: λ²(f − F(b)) = … is undone."""

    def __init__(self, asker: Asker, scale: int) -> None:
        self.asker, self.scale = asker, scale

    def __call__(self, queries: Sequence[Query]) -> list[fmpq]:
        singles = [query for query in queries if not query.runs]
        values = self.asker.ask("regions", singles)
        total = assemble_vector([query.last for query in singles], values, self.asker.system)
        others = [query for query in queries if query.runs]
        answers = iter(self.asker.ask("regions", [self.near(query) for query in others]))
        found = []
        for query in queries:
            single = dot(total, query.last)
            square = self.scale * self.scale
            found.append(single if not query.runs else single * (1 - square) + self.scale * next(answers))
        return found

    def near(self, query: Query) -> Query:
        return near(query.last, self.scale, [(minus(query.last, tok), count) for tok, count in query.runs])


def _found(plan: PublishedPlan, ask: Any, asker: Asker) -> FoundHeads:
    try:
        plan, answers, solution = ask_and_solve(plan, ask, asker.system)
    except NonGeneric as reason:
        raise GenericityExhausted(
            f"queries for the heads stayed non-generic after many redraws ({reason}); try another seed"
        ) from None
    last = last_block(plan, answers, asker.system)
    blocks = [head.v for head in solution.heads] + ([] if last is None else [last])
    return FoundHeads(tuple(head.W for head in solution.heads), tuple(blocks), plan)
