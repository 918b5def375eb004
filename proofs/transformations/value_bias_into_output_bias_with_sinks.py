"""T-value-bias-sinks: folding value biases into the output bias beside an attention sink."""

from exactattn.identify import AttentionSpec, Sinks
from exactattn.identify.layer_values import lattice_outputs
from exactattn.ledger import Claim, Counterexample, Outcome, Paper, Verdict, cases, differ, refuted

WEIGHTS = {"query": [[1]], "key": [[1]], "value": [[0]], "output": [[1]]}
WITH_BIAS = WEIGHTS | {"value bias": [1], "output bias": [0]}
FOLDED = WEIGHTS | {"value bias": [0], "output bias": [1]}


def layer(sinks: Sinks | None) -> AttentionSpec:
    """One head, width 1, with all the biases that matter here."""
    return AttentionSpec.of(width=1, heads=1, value_bias=True, output_bias=True, sinks=sinks)


def establish() -> Outcome:
    sink = layer(Sinks.ONE)
    before, after = (lattice_outputs(sink, weights, [[0]]) for weights in (WITH_BIAS, FOLDED))
    steps = [
        differ("with a sink the layer at the token 0 gives another output", before, after),
        differ(
            "and the difference depends on the token, so no constant mends it",
            lattice_outputs(sink, WITH_BIAS, [[1]]),
            before,
        ),
        cases(
            "without the sink both layers agree on these sequences (for all: I-4.7.2)",
            [[[0]], [[1]], [[0], [1]], [[2], [-1], [1]]],
            lambda tokens: (
                lattice_outputs(layer(None), WITH_BIAS, tokens)
                == lattice_outputs(layer(None), FOLDED, tokens)
            ),
        ),
    ]
    counterexample = Counterexample(
        "one head, one token, all sizes 1, a sink of score 0",
        {"W_Q, W_K, W_V, W_O": [1, 1, 0, 1], "b_V": 1, "token": 0, "output": before, "folded": after},
        "one head, one token, one dimension: nothing is smaller",
    )
    return refuted("the layer is run on the log-lattice, exp(s) = 2^s", steps, counterexample)


claim = Claim(
    id="T-value-bias-sinks",
    paper=Paper.TRANSFORMATIONS,
    place="folding biases",
    says="The value biases can be folded into the output bias, b_O + Σ_h W_O b_V, in a layer with attention "
    "sinks or a 1 added to the denominator.",
    hypotheses=["the layer has an output bias"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="Right where each row of weights sums to 1, that is without sinks. Beside a sink the "
    "value bias "
    "is multiplied by the row's sum of weights.",
    depends_on=["I-4.7.2"],
    does_not_establish=["how much a given trained model changes"],
)
