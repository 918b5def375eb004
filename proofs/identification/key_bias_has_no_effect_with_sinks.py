"""I-4.7.1-sinks: the key bias beside an attention sink or a "+1" in the denominator."""

from flint import fmpq

from exactattn.ledger import Claim, Counterexample, Outcome, Paper, Verdict, attend, differ, equal, refuted


def establish() -> Outcome:
    sink = fmpq(0)
    without, with_bias = attend([fmpq(0)], [fmpq(1)], sink), attend([fmpq(1)], [fmpq(1)], sink)
    steps = [
        equal("without the bias the weight of the token is 1/2", without, fmpq(1, 2)),
        differ("with q·b_K = 1 it is another one", with_bias, without),
    ]
    counterexample = Counterexample(
        "one head, one token, one dimension, a sink of score 0 (which is the '+1' softmax)",
        {
            "W_Q x + b_Q": 1,
            "W_K": 0,
            "b_K": 1,
            "value of the token": 1,
            "output without b_K": without,
            "output with b_K": with_bias,
        },
        "one head, one token, one dimension: nothing is smaller",
    )
    return refuted("exact evaluation, exp(s) = 2^s", steps, counterexample)


claim = Claim(
    id="I-4.7.1-sinks",
    paper=Paper.IDENTIFICATION,
    place="Section 4.7, read for layers with attention sinks",
    says="A key bias has no effect with an attention sink, or a 1 added to the denominator, either.",
    hypotheses=["the denominator has a further term that does not contain the key bias"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="Beside a sink a number added to a whole row changes the row's sum of weights, so a key bias "
    "has an effect.",
    does_not_establish=["how many numbers of a key bias are identified there (see I-complete-scores)"],
)
