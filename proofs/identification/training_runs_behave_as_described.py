"""I-5.3: what the published training runs showed."""

from exactattn.ledger import Claim, Outcome, Paper, Verdict, out_of_scope


def establish() -> Outcome:
    return out_of_scope(
        "a statement about training runs in floating point: runs can support it but no exact computation "
        "decides it. What can be proved is in I-5.3-step and I-5.3-key-bias; a float cross-check over "
        "several seeds is a later capability and would not change the verdict",
    )


claim = Claim(
    id="I-5.3",
    paper=Paper.IDENTIFICATION,
    place="Section 5, experiments",
    says="In training, SGD keeps β nearly constant and AdamW does not, rebalancing does not hurt the loss, "
    "and key-bias gradients vanish numerically.",
    hypotheses=["one small model, one representative run each"],
    establish=establish,
    expected=Verdict.OUT_OF_SCOPE,
    depends_on=["I-5.3-step", "I-5.3-key-bias"],
    does_not_establish=["any of its four parts for a model that is really trained"],
)
