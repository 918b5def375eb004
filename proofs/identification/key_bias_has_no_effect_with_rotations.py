"""I-4.7.1-rope: the key bias under rotary positions."""

from flint import fmpq

from exactattn.ledger import Claim, Counterexample, Outcome, Paper, Verdict, attend, differ, equal, refuted

# rotation by the angle with cosine 3/5 and sine 4/5
COSINE, SINE = fmpq(3, 5), fmpq(4, 5)
TOKENS = (fmpq(1), fmpq(0))


def scores(b_K: tuple[fmpq, fmpq]) -> list[fmpq]:
    """Two tokens, the last one asks with q = (5, 0); W_K = 0, and keys turn back by one step a position."""
    here = fmpq(5) * b_K[0]
    one_back = fmpq(5) * (COSINE * b_K[0] + SINE * b_K[1])
    return [one_back, here]


def establish() -> Outcome:
    without, with_bias = scores((fmpq(0), fmpq(0))), scores((fmpq(0), fmpq(1)))
    steps = [
        equal("rotation: cosine² + sine² = 1", COSINE**2 + SINE**2, 1),
        differ("the bias adds different numbers to the two scores of the row", with_bias[0], with_bias[1]),
        differ("and changes the output", attend(with_bias, TOKENS), attend(without, TOKENS)),
    ]
    counterexample = Counterexample(
        "one head, two tokens, one rotation plane: the output moves",
        {
            "W_Q x + b_Q": [5, 0],
            "W_K": 0,
            "b_K": [0, 1],
            "cosine and sine": [COSINE, SINE],
            "values of the tokens": list(TOKENS),
            "output without b_K": attend(without, TOKENS),
            "output with b_K": attend(with_bias, TOKENS),
        },
        "one token has weight 1 whatever the scores, and a rotation needs two dimensions: no fewer tokens, "
        "heads or dimensions can show it",
    )
    return refuted("exact evaluation with a rational rotation, exp(s) = 2^s", steps, counterexample)


claim = Claim(
    id="I-4.7.1-rope",
    paper=Paper.IDENTIFICATION,
    place="Section 4.7, read for layers with rotary positions",
    says="A key bias has no effect with rotary positions either.",
    hypotheses=["keys are rotated after the bias is added"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="With rotations of R of D dimensions only the D − R unrotated dimensions of a key bias are "
    "without effect; the rotated ones add a number that depends on the distance of query and key.",
    does_not_establish=["that every key bias in rotated dimensions is identified (see I-complete-sizes)"],
)
