"""I-4.7.1-softcap: the key bias under scores capped by c·tanh(s/c)."""

from sympy import Eq, Symbol, exp, tanh

from exactattn.ledger import Claim, Counterexample, Outcome, Paper, Verdict, equal, holds, refuted

T = Symbol("T", positive=True)
x = Symbol("x", real=True)


def establish() -> Outcome:
    # tanh 2 by T = tanh 1
    twice = 2 * T / (1 + T**2)
    loss, tangent = 2 * T**3 / (1 + T**2), tanh(x).rewrite(exp)
    steps = [
        equal("tanh 2x = 2T/(1 + T²), T = tanh x", tangent.subs(x, 2 * x), twice.subs(T, tangent)),
        equal(
            "with the bias the two capped scores are closer, by 2T³/(1 + T²)",
            T - (twice - T),
            loss,
        ),
        holds(
            "which is positive, so the two weights have another ratio",
            bool(loss.is_positive),
            "T = tanh 1 > 0",
            "sign",
        ),
    ]
    counterexample = Counterexample(
        "one head, two tokens, one dimension, c = 1: scores 1 and 0 become 2 and 1 with the bias; the "
        "first weight falls from 1/(1 + e^(−T)) to 1/(1 + e^(T − tanh 2))",
        {
            "W_Q x + b_Q": 1,
            "keys without bias": [1, 0],
            "b_K": 1,
            "c": 1,
            "difference of capped scores without b_K": tanh(1),
            "difference with b_K": tanh(2) - tanh(1),
        },
        "one token has weight 1 whatever its score: no fewer tokens, heads or dimensions can show it",
    )
    return refuted("exact algebra of tanh", steps, counterexample)


claim = Claim(
    id="I-4.7.1-softcap",
    paper=Paper.IDENTIFICATION,
    place="Section 4.7, read for layers with soft-capped scores",
    says="A key bias has no effect with scores capped by c·tanh(s/c) either.",
    statement=[Eq(tanh(2) - tanh(1), tanh(1) - tanh(0), evaluate=False)],
    hypotheses=["the cap is applied after the bias"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="The cap is not linear, so a number added to a whole row before it changes differences of "
    "scores: a key bias has an effect.",
    does_not_establish=["how many numbers of a key bias are identified there (see I-complete-scores)"],
)
