"""I-4.7.2-sinks: value biases where rows of weights do not sum to 1."""

from flint import fmpq

from exactattn.ledger import Claim, Counterexample, Outcome, Paper, Verdict, attend, differ, equal, refuted


def effect(score: fmpq) -> fmpq:
    """What the bias b_V = 1 adds to the output at one token of value 0, beside a sink of score 0."""
    return attend([score], [fmpq(1)], fmpq(0)) - attend([score], [fmpq(0)], fmpq(0))


def establish() -> Outcome:
    first, second = effect(fmpq(0)), effect(fmpq(1))
    steps = [
        equal("at a token of score 0 the bias adds 1/2", first, fmpq(1, 2)),
        equal("at a token of score 1 it adds 2/3", second, fmpq(2, 3)),
        differ("so it is not a constant, and no output bias can stand for it", first, second),
    ]
    counterexample = Counterexample(
        "one head, one token, one dimension, a sink of score 0, W_V = 0",
        {"b_V": 1, "added at score 0": first, "added at score 1": second},
        "one head, one token, one dimension: nothing is smaller",
    )
    return refuted("exact evaluation, exp(s) = 2^s", steps, counterexample)


claim = Claim(
    id="I-4.7.2-sinks",
    paper=Paper.IDENTIFICATION,
    place="Section 4.7, read for layers with attention sinks",
    says="With an attention sink value biases still act only as a constant added to the output.",
    hypotheses=["the denominator has a further term, so that rows of weights sum to less than 1"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="Beside a sink the value bias is multiplied by the row's sum of weights, which depends on "
    "the input: it is seen, and no output bias replaces it.",
    does_not_establish=["how many of its numbers are identified (see I-complete-scores)"],
)
