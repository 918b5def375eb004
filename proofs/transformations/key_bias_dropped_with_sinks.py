"""T-key-bias-sinks: dropping the key bias beside an attention sink."""

from exactattn.identify import AttentionSpec, Sinks
from exactattn.identify.layer_values import lattice_outputs
from exactattn.ledger import Claim, Counterexample, Outcome, Paper, Verdict, cases, differ, refuted

WEIGHTS = {"query": [[1]], "key": [[0]], "value": [[1]], "output": [[1]]}


def output(bias: int, sinks: Sinks | None, tokens: list[list[int]]) -> object:
    """Width 1, with this key bias; a learned sink has score 0."""
    layer = AttentionSpec.of(width=1, heads=1, key_bias=True, sinks=sinks)
    learned = {"sinks": [0]} if sinks is Sinks.LEARNED else {}
    return lattice_outputs(layer, WEIGHTS | {"key bias": [bias]} | learned, tokens)


def establish() -> Outcome:
    steps = [
        differ(
            f"with a sink ({sinks.value}) the output moves", output(1, sinks, [[1]]), output(0, sinks, [[1]])
        )
        for sinks in Sinks
    ]
    steps.append(
        cases(
            "without one it does not (for all sizes: I-4.7.1)",
            [[[1]], [[0], [1]], [[2], [-1], [1]]],
            lambda tokens: output(1, None, tokens) == output(0, None, tokens),
        )
    )
    counterexample = Counterexample(
        "one head, one token, all sizes 1, a sink of score 0",
        {
            "W_Q, W_K, W_V, W_O": [1, 0, 1, 1],
            "b_K": 1,
            "token": 1,
            "output": output(1, Sinks.ONE, [[1]]),
            "without b_K": output(0, Sinks.ONE, [[1]]),
        },
        "one head, one token, one dimension: nothing is smaller",
    )
    return refuted("the layer is run on the log-lattice, exp(s) = 2^s", steps, counterexample)


claim = Claim(
    id="T-key-bias-sinks",
    paper=Paper.TRANSFORMATIONS,
    place="dropping biases",
    says="The key bias can be dropped from a layer with attention sinks or a 1 added to the denominator.",
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="Right where the softmax has no further term: only there a number added to a whole "
    "row of scores "
    "cancels.",
    depends_on=["I-4.7.1"],
    does_not_establish=["how much a given trained model changes"],
)
