"""T-factor-normed-query: folding the factor on scores into W_Q in a layer with query/key norms."""

from flint import fmpq

from exactattn.identify import AttentionSpec, Norm, NormKind, QueryKeyNorm, Scope
from exactattn.identify.layer_values import lattice_outputs
from exactattn.ledger import Claim, Counterexample, Outcome, Paper, Verdict, differ, equal, refuted

NORM = QueryKeyNorm(norm=Norm(kind=NormKind.RMS, eps=fmpq(0)), scope=Scope.SHARED)
TOKENS = [[-1], [2]]


def output(
    query: int,
    factor: int,
    norm: QueryKeyNorm | None = NORM,
    scale: int = 1,
    tokens: list[list[int]] = TOKENS,
) -> object:
    """One head, all sizes 1, and this factor on scores."""
    layer = AttentionSpec.of(width=1, heads=1, query_key_norm=norm)
    weights = {"query": [[query]], "key": [[1]], "value": [[1]], "output": [[1]]}
    scales = {} if norm is None else {"query norm scale": [scale], "key norm scale": [1]}
    return lattice_outputs(layer, weights | scales, tokens, factor=factor)


def establish() -> Outcome:
    before, after = output(1, 2), output(2, 1)
    steps = [
        differ("2 W_Q in place of the factor 2 changes the output", before, after),
        equal("because the norm undoes it: the factor is lost", after, output(1, 1)),
        equal("one token cannot show it", output(2, 1, tokens=[[1]]), output(1, 2, tokens=[[1]])),
        equal("right without the norm", output(2, 1, None), output(1, 2, None)),
        equal("and right for the scale of the query norm", output(1, 1, scale=2), before),
    ]
    counterexample = Counterexample(
        "one head, two tokens, all sizes 1",
        {
            "W_Q, W_K, W_V, W_O": [1, 1, 1, 1],
            "factor": 2,
            "tokens": TOKENS,
            "output": before,
            "2 W_Q and no factor": after,
        },
        "one token has weight 1: nothing is smaller",
    )
    return refuted("the layer is run on the log-lattice, exp(s) = 2^s", steps, counterexample)


claim = Claim(
    id="T-factor-normed-query",
    paper=Paper.TRANSFORMATIONS,
    place="folding the factor on scores",
    says="The factor on scores, 1/√D or another, can be folded into W_Q, with query/key norms too.",
    hypotheses=["ε = 0 in the norms"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="Right without a query norm. With one it belongs into the scale of that norm, behind "
    "the division.",
    does_not_establish=["how much a given trained model changes"],
)
