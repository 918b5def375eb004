"""The ledger of published claims: what each says, the evidence that runs, and the verdict.

Claim files live in the folder ``proofs``, one a claim (see :class:`Claim`); this room is what they are
written with.
"""

from exactattn.ledger.attend import attend
from exactattn.ledger.checks import accepted, cases, differ, equal, holds, positive
from exactattn.ledger.claim import Claim
from exactattn.ledger.ledger import Decided, decide, load_claim, load_claims, proofs_folder, select
from exactattn.ledger.loop_count import item_count, yield_count
from exactattn.ledger.matrix_identity import matrix_equal, trace_equal
from exactattn.ledger.outcome import (
    Counterexample,
    Outcome,
    out_of_scope,
    proved,
    proved_for,
    refuted,
    unknown,
)
from exactattn.ledger.papers import Paper
from exactattn.ledger.rms import rms_normed
from exactattn.ledger.step import Step
from exactattn.ledger.verdict import Verdict

__all__ = [
    "Claim",
    "Counterexample",
    "Decided",
    "Outcome",
    "Paper",
    "Step",
    "Verdict",
    "accepted",
    "attend",
    "cases",
    "decide",
    "differ",
    "equal",
    "holds",
    "item_count",
    "load_claim",
    "load_claims",
    "matrix_equal",
    "out_of_scope",
    "positive",
    "proofs_folder",
    "proved",
    "proved_for",
    "refuted",
    "rms_normed",
    "select",
    "trace_equal",
    "unknown",
    "yield_count",
]
