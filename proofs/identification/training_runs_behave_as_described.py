"""I-5.3: what the published training runs showed."""

from exactattn.ledger import Claim, Outcome, Paper, Verdict, out_of_scope


def establish() -> Outcome:
    return out_of_scope(
        "a statement about training runs in floating point: runs can support it but no exact computation "
        "decides it. Its parts that can be decided are I-5.3-step (a gradient step keeps β to second order), "
        "I-5.3-adaptive (a step of Adam does not), I-5.2 (rebalancing keeps the function) and I-5.3-key-bias "
        "(key-bias gradients are 0). Cross-check, not a verdict: exactattn train repeats the four runs in "
        "small, with five seeds, and measures all four parts with their spread. There gradient steps avoid "
        "the free directions to rounding and those of AdamW do not, key-bias gradients vanish, and "
        "rebalancing leaves the loss; but how constant β stays under SGD depends on the learning rate, as "
        "I-5.3-step says: at 0.25 the balance moves about as far as under AdamW, at 0.0625 much less",
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
    depends_on=["I-5.2", "I-5.3-key-bias", "I-5.3-step"],
    does_not_establish=["any of its four parts for a model that is really trained"],
)
