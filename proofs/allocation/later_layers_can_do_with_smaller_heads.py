"""A-3: an allocation strategy: later layers can do with smaller heads."""

import numpy as np
from flint import fmpq

from exactattn.allocate import HeadWeights, TruncatedHead
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, out_of_scope


def planted(rank: int) -> TruncatedHead:
    """A head of size 4 whose query/key matrix has the given rank."""
    one = np.eye(4)
    return TruncatedHead(
        HeadWeights(np.diag([1.0] * rank + [0.0] * (4 - rank)), np.zeros(4), one, one, one, fmpq(1, 4)),
        token_norm=fmpq(2),
    )


def establish() -> Outcome:
    tolerance = fmpq(1, 10**9)
    return out_of_scope(
        "a statement about trained models in general. For one checkpoint exactattn allocate gives the "
        "smallest certified rank of each head of each layer; the bound covers all tokens a layer can meet, "
        "and says nothing about the typical ones",
        [
            cases(
                "the tool finds planted ranks, and certifies no smaller one",
                range(5),
                lambda rank: planted(rank).smallest_rank(tolerance) == rank,
            )
        ],
    )


claim = Claim(
    id="A-3",
    paper=Paper.ALLOCATION,
    place="abstract, allocation strategy",
    says="Later layers can do with smaller heads than early ones; parameters should be kept in early layers.",
    hypotheses=["trained language models; which layers are late is not defined"],
    establish=establish,
    expected=Verdict.OUT_OF_SCOPE,
    depends_on=["A-2-truncation"],
    does_not_establish=["that any layer of any trained model can do with smaller heads, or cannot"],
)
