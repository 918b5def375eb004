"""T-key-bias-softcap: dropping the key bias of a layer with capped scores."""

from flint import arb, fmpq

from exactattn.identify import AttentionSpec
from exactattn.identify.layer_values import ball_outputs, lattice_outputs
from exactattn.ledger import Claim, Counterexample, Outcome, Paper, Verdict, cases, equal, holds, refuted

WEIGHTS = {"query": [[0]], "query bias": [1], "key": [[1]], "value": [[1]], "output": [[1]]}
TOKENS = [[0], [1]]


def layer(cap: fmpq | None) -> AttentionSpec:
    return AttentionSpec.of(width=1, heads=1, query_bias=True, key_bias=True, soft_cap=cap)


def capped(bias: int, tokens: list[list[int]]) -> arb:
    """The output in a ball, with c = 1."""
    return ball_outputs(layer(fmpq(1)), WEIGHTS | {"key bias": [bias]}, tokens)[0]


def establish() -> Outcome:
    with_bias, without = capped(1, TOKENS), capped(0, TOKENS)
    steps = [
        holds(
            "with the bias the output is certainly smaller",
            bool(with_bias < without),
            f"{with_bias.str(10)} < {without.str(10)}",
            "interval arithmetic",
        ),
        cases(
            "right without the cap (for all sizes: I-4.7.1)",
            [[[1]], TOKENS, [[2], [-1], [1]]],
            lambda tokens: (
                lattice_outputs(layer(None), WEIGHTS | {"key bias": [1]}, tokens)
                == lattice_outputs(layer(None), WEIGHTS | {"key bias": [0]}, tokens)
            ),
        ),
        equal(
            "one token has weight 1 whatever its score",
            lattice_outputs(layer(None), WEIGHTS | {"key bias": [1]}, [[1]]),
            [1],
        ),
    ]
    counterexample = Counterexample(
        "one head, two tokens, all sizes 1, c = 1: scores 0 and 1 become 1 and 2, and the cap "
        "brings them closer",
        {
            "b_Q, W_K, W_V, W_O": [1, 1, 1, 1],
            "b_K": 1,
            "tokens": TOKENS,
            "output": with_bias.str(10),
            "without b_K": without.str(10),
        },
        "one token has weight 1: nothing is smaller",
    )
    return refuted("the layer is run in balls", steps, counterexample)


claim = Claim(
    id="T-key-bias-softcap",
    paper=Paper.TRANSFORMATIONS,
    place="dropping biases",
    says="The key bias can be dropped from a layer with scores capped by c·tanh(s/c).",
    hypotheses=["the cap is applied after the bias"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="Right without the cap: it is not linear, and a number added to a whole row before it changes "
    "differences of scores.",
    depends_on=["I-4.7.1"],
    does_not_establish=["how much a given trained model changes"],
)
