"""I-complete-scores: sinks, soft-capping and position biases, at listed sizes."""

from exactattn.ledger import Claim, Outcome, Paper, Verdict
from exactattn.ledger.rank_evidence import proved_counts

VARIANTS = (
    "mha E=4 H=2 bias=kv sinks=one",
    "mha E=4 H=2 bias=qkvo sinks=learned",
    "mha E=4 H=2 bias=kv softcap=2",
    "mha E=4 H=2 alibi",
    "mha E=4 H=2 relbias=4 distance=6",
)


def establish() -> Outcome:
    return proved_counts(VARIANTS)


claim = Claim(
    id="I-complete-scores",
    paper=Paper.IDENTIFICATION,
    place="not claimed there; Section 4.7 beyond plain softmax",
    says="Sinks and soft-capping make key biases identified, sinks value biases too; linear position "
    "biases change "
    "nothing, and a table of relative biases is free by one constant a head.",
    hypotheses=["almost all parameters and inputs", "causal attention"],
    establish=establish,
    expected=Verdict.PROVED_FOR,
    does_not_establish=["sizes that are not listed"],
)
