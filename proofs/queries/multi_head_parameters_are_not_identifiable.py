"""Q1-7.1: value queries do not determine multi-head parameters in general."""

from sympy import Eq, MatrixSymbol, symbols

from exactattn import Attention, Head, LogLattice, PublishedPlan, evaluate
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, holds, matrix_equal, proved
from exactattn.recovery import TokenRange

d = symbols("d", integer=True, positive=True)
v1, v2, x, z = (MatrixSymbol(name, d, 1) for name in ("v_1", "v_2", "x", "z"))


def establish() -> Outcome:
    first = Attention.of([Head.of([[1]], [1]), Head.of([[1]], [2])])
    second = Attention.of([Head.of([[1]], [3]), Head.of([[1]], [0])])
    third = Attention.of([Head.of([[1]], [3]), Head.of([[5]], [0])])
    plan = PublishedPlan.draw(heads=2, dim=1, seed=1, tokens=TokenRange(2, 3))
    steps = [
        matrix_equal(
            "two heads with one W: v_1 + x and v_2 − x answer like v_1 and v_2, for every x",
            (v1 + x).T * z + (v2 - x).T * z,
            v1.T * z + v2.T * z,
        ),
        holds("an instance: different parameters", sorted(first.heads) != sorted(second.heads)),
        holds("with one canonical form", first.same_function(second) and first.same_function(third)),
        cases(
            "and equal answers",
            plan.queries(),
            lambda query: (
                evaluate(first, query, LogLattice())
                == evaluate(second, query, LogLattice())
                == evaluate(third, query, LogLattice())
            ),
        ),
    ]
    return proved("an explicit family; by Q-1 it is the only ambiguity", steps)


claim = Claim(
    id="Q1-7.1",
    paper=Paper.SINGLE_HEAD_QUERIES,
    place="Proposition 7.1",
    says="Multi-head parameters are not identifiable from values in general: heads with equal W can "
    "exchange parts of their v. Sharper: exactly the canonical form is determined.",
    statement=[Eq((v1 + x).T * z + (v2 - x).T * z, v1.T * z + v2.T * z, evaluate=False)],
    hypotheses=["at least two heads with equal W, or a head with v = 0"],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["Q-1"],
    does_not_establish=["anything under further assumptions, such as orthogonal subspaces of the heads"],
)
