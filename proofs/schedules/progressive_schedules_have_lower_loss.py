"""P-7: a lower loss than the uniform layout at three scales."""

from exactattn.ledger import Claim, Outcome, Paper, Verdict, out_of_scope


def establish() -> Outcome:
    return out_of_scope(
        "a statement about training at 124, 354 and 757 million parameters on eight large accelerators; no "
        "exact computation decides it, and a small replication in floating point would be a cross-check, "
        "never a verdict"
    )


claim = Claim(
    id="P-7",
    paper=Paper.SCHEDULES,
    place="results, validation loss at three scales",
    says="The three progressive schedules reach a lower validation loss than the uniform layouts: 3.3604 "
    "against 3.3748, 2.9873 against 2.9944, 2.8022 against 2.8106.",
    hypotheses=["three seeds each, as reported"],
    establish=establish,
    expected=Verdict.OUT_OF_SCOPE,
    does_not_establish=["the result, or that the schedule rather than larger heads is its cause"],
)
