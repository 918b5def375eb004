"""How many heads answers with errors prove.

The Hankel matrix of the moments of a probe has the rank of its number of poles (theory, section 3). With
errors its entries are balls: an invertible leading block of size k proves k poles, and nothing can prove
that there are no more, since a head with a small residue hides in the errors.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, arb_mat, ctx, fmpq

from exactattn.errors.design import Design, Family
from exactattn.numbers import Balls
from exactattn.recovery.prony import moments

__all__ = ["proved_heads"]

PRECISION = 256


def proved_heads(design: Design, answers: Sequence[fmpq], error: fmpq) -> int:
    """The largest number of poles that the first row of families proves, for answers within ``error``.

    >>> from exactattn.model import random_layer
    >>> from exactattn.numbers import LogLattice
    >>> from exactattn.oracle import ExactOracle
    >>> from exactattn.recovery import PublishedPlan, TokenRange
    >>> design = Design.published(PublishedPlan.draw(3, 2, 0, TokenRange(1, 2)))
    >>> oracle = ExactOracle(random_layer(heads=2, dim=2, seed=1))
    >>> proved_heads(design, list(oracle.answer(design.queries(), LogLattice())), fmpq(1, 10**40))
    2
    """
    with ctx.workprec(PRECISION):
        return max(_proved_poles(family, answers, error) for family in design.families[: design.dim])


def _proved_poles(family: Family, answers: Sequence[fmpq], error: fmpq) -> int:
    ball = arb(0, arb(error).upper())
    nodes, values = [], []
    for n, node in enumerate(family.nodes):
        if not node.is_infinite:
            nodes.append(node.ratio)
            values.append((arb(answers[0]) - answers[family.start + n] + 2 * ball) / node.ratio)
    mu = moments(nodes, values, Balls(PRECISION))
    for k in range((len(mu) + 1) // 2, 0, -1):
        determinant = arb_mat([[mu[i + j] for j in range(k)] for i in range(k)]).det()
        if not determinant.contains(0):
            return k
    return 0
