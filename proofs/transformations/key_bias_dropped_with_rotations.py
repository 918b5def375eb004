"""T-key-bias-rope: dropping the key bias of a layer with rotary positions."""

from exactattn.identify import AttentionSpec, Pairing, Rotary
from exactattn.identify.layer_values import lattice_outputs
from exactattn.ledger import Claim, Counterexample, Outcome, Paper, Verdict, cases, differ, equal, refuted

TURN = ("3/5", "4/5")
ROTARY = Rotary(size=2, pairing=Pairing.HALF_SPLIT)
TOKENS = [[1], [0]]


def weights(bias: list[int]) -> dict[str, object]:
    """Width 1: every query is (5, 0), every key the bias, values are the tokens."""
    size = len(bias)
    return {
        "query": [[0]] * size,
        "query bias": [5] + [0] * (size - 1),
        "key": [[0]] * size,
        "key bias": bias,
        "value": [[1]],
        "output": [[1]],
    }


def layer(size: int, rotary: Rotary | None) -> AttentionSpec:
    return AttentionSpec.of(
        width=1, heads=1, head_size=size, value_size=1, query_bias=True, key_bias=True, rotary=rotary
    )


def establish() -> Outcome:
    turning, still, partly = layer(2, ROTARY), layer(2, None), layer(3, ROTARY)
    with_bias, without = (lattice_outputs(turning, weights(b), TOKENS, [TURN]) for b in ([0, 1], [0, 0]))
    steps = [
        equal("without the key bias both tokens have weight 1/2", without, ["1/2"]),
        differ("with it the output is another one", with_bias, without),
        cases(
            "right without rotation (for all sizes: I-4.7.1)",
            [[0, 1], [3, -2]],
            lambda bias: lattice_outputs(still, weights(bias), TOKENS) == without,
        ),
        cases(
            "and in dimensions that are not rotated",
            [[0, 0, 1], [0, 0, -4]],
            lambda bias: lattice_outputs(partly, weights(bias), TOKENS, [TURN]) == without,
        ),
        equal(
            "one token has weight 1 whatever its score",
            lattice_outputs(turning, weights([0, 1]), [[1]], [TURN]),
            lattice_outputs(turning, weights([0, 0]), [[1]], [TURN]),
        ),
    ]
    counterexample = Counterexample(
        "one head of size 2, width 1, two tokens",
        {
            "b_Q": [5, 0],
            "b_K": [0, 1],
            "cosine and sine": list(TURN),
            "tokens": TOKENS,
            "output": with_bias,
            "without b_K": without,
        },
        "a rotation needs two dimensions, and one token has weight 1: nothing is smaller",
    )
    return refuted("the layer is run on the log-lattice, exp(s) = 2^s", steps, counterexample)


claim = Claim(
    id="T-key-bias-rope",
    paper=Paper.TRANSFORMATIONS,
    place="dropping biases",
    says="The key bias can be dropped from a layer with rotary positions.",
    hypotheses=["keys are rotated after the bias is added"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="Right without rotation, and in the dimensions that are not rotated. In a rotation plane the "
    "bias adds a number that depends on the distance of query and key.",
    depends_on=["I-4.7.1"],
    does_not_establish=["how much a given trained model changes"],
)
