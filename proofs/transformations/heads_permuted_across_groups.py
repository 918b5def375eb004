"""T-permute-grouped-heads: reordering query heads without regard to their key/value groups."""

from itertools import permutations

from exactattn.identify import AttentionSpec
from exactattn.identify.layer_values import lattice_outputs
from exactattn.ledger import Claim, Counterexample, Outcome, Paper, Verdict, cases, differ, holds, refuted

HEADS, GROUPS = 4, 2
LAYER = AttentionSpec.of(width=1, heads=HEADS, groups=GROUPS, head_size=1)
QUERIES, OUTPUTS, KEYS, VALUES = [1, 2, -1, 0], [1, 3, 9, 27], [1, -2], [1, 100]
TOKENS = [[0], [1]]


def output(heads: tuple[int, ...], groups: tuple[int, ...] = (0, 1)) -> object:
    """Query heads with their columns of W_O, and groups of keys and values, in these orders."""
    weights = {
        "query": [[QUERIES[h]] for h in heads],
        "key": [[KEYS[g]] for g in groups],
        "value": [[VALUES[g]] for g in groups],
        "output": [[OUTPUTS[h] for h in heads]],
    }
    return lattice_outputs(LAYER, weights, TOKENS)


def together(order: tuple[int, ...]) -> bool:
    """Whether the order keeps the two groups of two heads in their places."""
    return {order[0], order[1]} == {0, 1}


def establish() -> Outcome:
    before, after = output((0, 1, 2, 3)), output((0, 2, 1, 3))
    orders = list(permutations(range(HEADS)))
    steps = [
        differ("heads 1 and 2 change places, and so do their groups", before, after),
        cases("right within the groups", orders, lambda order: output(order) == before, together),
        cases(
            "and for whole groups with their keys and values",
            orders,
            lambda order: output(order, (1, 0)) == before,
            lambda order: {order[0], order[1]} == {2, 3},
        ),
        cases(
            "every other order changes the output here",
            orders,
            lambda o: output(o) != before,
            lambda o: not together(o),
        ),
        holds(
            "with fewer heads there is one group, or one head a group",
            all(g in (1, h) for h in range(1, HEADS) for g in range(1, h + 1) if h % g == 0),
            "divisors of 1, 2, 3",
        ),
    ]
    counterexample = Counterexample(
        "four heads in two groups, two tokens, all sizes 1",
        {
            "W_Q": QUERIES,
            "W_O": OUTPUTS,
            "W_K": KEYS,
            "W_V": VALUES,
            "tokens": TOKENS,
            "output": before,
            "heads in the order 0, 2, 1, 3": after,
        },
        "fewer than four heads do not make two groups of several heads",
    )
    return refuted("the layer is run on the log-lattice, exp(s) = 2^s", steps, counterexample)


claim = Claim(
    id="T-permute-grouped-heads",
    paper=Paper.TRANSFORMATIONS,
    place="reordering and merging heads",
    says="Query heads, each with its columns of W_O, can be put in any order in a layer with "
    "grouped keys and "
    "values.",
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="Right for orders within each group, and for groups that move as a whole with their keys and "
    "values: the sum over heads does not depend on the order of its terms, and only these orders "
    "keep the terms.",
    does_not_establish=["that no other change of the weights can make up for a given order"],
)
