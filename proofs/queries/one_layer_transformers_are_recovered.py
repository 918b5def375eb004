"""Q-6: a one-layer Transformer with a bias-free ReLU network."""

from exactattn.certificate import transformer_certificate
from exactattn.ledger import Claim, Outcome, Paper, Verdict, accepted, cases, proved
from exactattn.model.random_transformer import random_transformer
from exactattn.oracle.transformer import TransformerOracle
from exactattn.recovery.relu import recover_transformer

# heads, token size, neurons, residual, seed
SIZES = [(1, 2, 2, False, 1), (2, 3, 4, False, 3), (2, 2, 5, False, 1), (2, 3, 4, True, 1)]


def run(size: tuple[int, int, int, bool, int]) -> tuple[bool, bool]:
    """Whether K, and whether a spacing of kinks, lead back to the same function, with a certificate."""
    heads, dim, neurons, residual, seed = size
    model = random_transformer(heads, dim, neurons, seed=seed, residual=residual)
    found = []
    for stated in ({"neurons": len(model.canonical().kinks)}, {"kink_spacing": "1/1000000"}):
        result = recover_transformer(TransformerOracle(model), heads, residual=residual, **stated)
        certificate = transformer_certificate(result, model)
        found.append(result.matches(model) and accepted(certificate).holds)
    return found[0], found[1]


def establish() -> Outcome:
    steps = [
        cases(
            "with the number of neurons, or with a spacing of kinks that holds, random teachers are "
            "recovered and the checker accepts the certificates (Q-6-runs lists more)",
            SIZES,
            lambda size: run(size) == (True, True),
        ),
    ]
    return proved(
        "heads: F(X) − F(−X) = v·Z(X) (Q-6-antisymmetric), so the published attention method (Q-2) gives "
        "every W_h with v_h ≠ 0, with probability one. Walk: on single tokens b0 → c → −b0 every hyperplane "
        "is crossed once (Q-6-crossings); for almost all b0, c different pieces have different lines, as no "
        "signed sum of some a_k·β̄_k vanishes, so three values at random places are collinear, with "
        "probability one, only inside one piece. Random places ever closer to the points where neighbours' "
        "lines meet reach every piece with probability one: K + 1 different pieces are all pieces, and so "
        "are those whose gaps are all smaller than the spacing of kinks. Regions: around a place of a piece, "
        "for λ large enough, F = v^A·Z at the queries near λb (Q-6-regions); these determine v^A, and a "
        "further random query refutes a wrong one with probability one, as the coordinates of Z are linearly "
        "independent analytic functions. A head that the first step missed has v_h = 0; if it is not dead, "
        "some v^A_h is not 0 (all v^A_h = 0 makes all its jumps 0), its pole shows in that region, and the "
        "attention method inside that region gives it. Jumps: neighbouring v^A differ by ±σ_k·D_k, σ_k is "
        "the sign of the bend, and v is the sum of the first and the last v^A. That is the canonical form, "
        "which determines the function (Q-6-canonical)",
        steps,
    )


claim = Claim(
    id="Q-6",
    paper=Paper.QUERIES,
    place="abstract; its conditions were not seen",
    says="Value queries recover a one-layer Transformer, multi-head attention followed by a bias-free ReLU "
    "network, up to functional equivalence, under additional conditions.",
    hypotheses=[
        "token size d ≥ 2, and an upper bound on the number of heads is known",
        "the number K of neurons is known, parallel ones merged; or a lower bound on the distances of the "
        "kinks on the drawn path and its ends (neither can be dropped: Q-6-bound)",
        "for every neuron the sum β̄_k of its blocks over the heads is not 0, no two of these are parallel, "
        "and no signed sum of some a_k·β̄_k vanishes",
        "answers are exact and compared exactly; query vectors are drawn from a continuous distribution",
    ],
    establish=establish,
    expected=Verdict.PROVED,
    depends_on=["Q-2", "Q-6-canonical", "Q-6-antisymmetric", "Q-6-regions", "Q-6-crossings"],
    does_not_establish=[
        "that these are the conditions of the paper",
        "recovery where they fail (walks with frozen weights serve for d > H without a residual)",
        "recovery with biases in the network, or from answers with errors",
        "the probability that query vectors from a finite range serve",
    ],
)
