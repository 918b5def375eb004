"""T-rebalance-rope: a general change of basis of queries and keys under rotary positions."""

from sympy import Eq, MatrixSymbol, symbols

from exactattn.identify import AttentionSpec, Pairing, Rotary
from exactattn.identify.layer_values import lattice_outputs
from exactattn.ledger import (
    Claim,
    Counterexample,
    Outcome,
    Paper,
    Verdict,
    differ,
    equal,
    matrix_equal,
    refuted,
)

D, E = symbols("D E", integer=True, positive=True)
W_Q, W_K = MatrixSymbol("W_Q", D, E), MatrixSymbol("W_K", D, E)
S, R = MatrixSymbol("S", D, D), MatrixSymbol("R", D, D)

TURN = ("3/5", "4/5")
TOKENS = [[1], [2]]


def output(query: list[list[int]], key: list[list[int]], tokens: list[list[int]] = TOKENS) -> object:
    """One head of size 2, width 1."""
    rotary = Rotary(size=2, pairing=Pairing.HALF_SPLIT)
    layer = AttentionSpec.of(width=1, heads=1, head_size=2, value_size=1, rotary=rotary)
    weights = {"query": query, "key": key, "value": [[1]], "output": [[1]]}
    return lattice_outputs(layer, weights, tokens, [TURN])


def establish() -> Outcome:
    before, after = output([[5], [0]], [[2], [2]]), output([[10], [0]], [[1], [2]])
    steps = [
        differ("S = diag(2, 1) changes the output", before, after),
        equal("2, which commutes with the rotation, does not", output([[10], [0]], [[1], [1]]), before),
        equal("nor does the turn by a quarter, which commutes too", output([[0], [5]], [[-2], [2]]), before),
        equal(
            "one token cannot show it",
            output([[5], [0]], [[2], [2]], [[1]]),
            output([[10], [0]], [[1], [2]], [[1]]),
        ),
        matrix_equal(
            "right for every size and every S whose inverse transpose commutes with the rotations R",
            (S * W_Q).T * R * (S.I.T * W_K),
            W_Q.T * R * W_K,
            {R * S.I.T: S.I.T * R},
        ),
    ]
    counterexample = Counterexample(
        "one head of size 2, width 1, two tokens, S = diag(2, 1)",
        {
            "W_Q": [5, 0],
            "W_K": [2, 2],
            "cosine and sine": list(TURN),
            "tokens": TOKENS,
            "output": before,
            "with S W_Q and S^-T W_K": after,
        },
        "a rotation needs two dimensions, and one token has weight 1: nothing is smaller",
    )
    return refuted("the layer is run on the log-lattice, exp(s) = 2^s", steps, counterexample)


claim = Claim(
    id="T-rebalance-rope",
    paper=Paper.TRANSFORMATIONS,
    place="rebalancing queries and keys",
    says="(S W_Q, S⁻ᵀ W_K) computes the same function for every invertible S, with rotary positions too.",
    statement=[Eq((S * W_Q).T * R * (S.I.T * W_K), W_Q.T * R * W_K, evaluate=False)],
    hypotheses=["queries and keys are rotated after the projection"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="Right for the S that commute with all rotations (then S⁻ᵀ does): with distinct "
    "angles a rotation "
    "times a positive factor on each plane, and anything invertible on the dimensions that are not rotated.",
    depends_on=["I-4.8-rope"],
    does_not_establish=["how much a given trained model changes"],
)
