"""T-merge-norm-scales: one scale in place of those of the query norm and the key norm, under rotations."""

from flint import fmpq
from sympy import symbols

from exactattn.identify import AttentionSpec, Norm, NormKind, Pairing, QueryKeyNorm, Rotary, Scope
from exactattn.identify.layer_values import lattice_outputs
from exactattn.ledger import Claim, Counterexample, Outcome, Paper, Verdict, differ, equal, refuted

TURN = ("3/5", "4/5")
TOKENS = [[1], [2]]
ROTARY = Rotary(size=2, pairing=Pairing.HALF_SPLIT)
NORM = QueryKeyNorm(norm=Norm(kind=NormKind.RMS, eps=fmpq(0)), scope=Scope.SHARED)
c, s = symbols("c s", real=True)
q, k = symbols("q1 q2", real=True), symbols("k1 k2", real=True)
a, b = symbols("a1 a2", real=True), symbols("b1 b2", real=True)


def output(
    query_scale: list[int], key_scale: list[int], rotary: Rotary | None, tokens: list[list[int]] = TOKENS
) -> object:
    """One head of size 2, width 1; every normed query and key is (1, 1)."""
    layer = AttentionSpec.of(width=1, heads=1, head_size=2, value_size=1, query_key_norm=NORM, rotary=rotary)
    projections = {"query": [[1], [1]], "key": [[1], [1]], "value": [[1]], "output": [[1]]}
    scales = {"query norm scale": query_scale, "key norm scale": key_scale}
    turns = [] if rotary is None else [TURN]
    return lattice_outputs(layer, projections | scales, tokens, turns, factor=5)


def plane_score(query: list[object], key: list[object]) -> object:
    """The score in one rotation plane, with cosine c and sine s between the two positions."""
    return c * (query[0] * key[0] + query[1] * key[1]) + s * (query[0] * key[1] - query[1] * key[0])


def establish() -> Outcome:
    before, after = output([1, 1], [1, 2], ROTARY), output([1, 2], [1, 1], ROTARY)
    scaled = ([x * y for x, y in zip(a, q, strict=True)], [x * y for x, y in zip(b, k, strict=True)])
    merged = ([x * y * z for x, y, z in zip(a, b, q, strict=True)], list(k))
    one_scale = {b[1]: b[0]}
    steps = [
        differ("moving the scale (1, 2) from keys to queries changes the output", before, after),
        equal(
            "one token cannot show it",
            output([1, 2], [1, 1], ROTARY, [[1]]),
            output([1, 1], [1, 2], ROTARY, [[1]]),
        ),
        equal("right without rotation", output([1, 2], [1, 1], None), output([1, 1], [1, 2], None)),
        equal(
            "for there the score is Σ a_i b_i q_i k_i",
            plane_score(*scaled).subs({c: 1, s: 0}),
            plane_score(*merged).subs({c: 1, s: 0}),
        ),
        equal(
            "and right under a rotation where the scale that moves is the same on the two "
            "dimensions of a plane",
            plane_score(*scaled).subs(one_scale),
            plane_score(*merged).subs(one_scale),
        ),
    ]
    counterexample = Counterexample(
        "one head of size 2, width 1, two tokens, scores times 5",
        {
            "scales of queries": [1, 1],
            "scales of keys": [1, 2],
            "cosine and sine": list(TURN),
            "tokens": TOKENS,
            "output": before,
            "scales (1, 2) and (1, 1)": after,
        },
        "a rotation needs two dimensions, and one token has weight 1: nothing is smaller",
    )
    return refuted("the layer is run on the log-lattice, exp(s) = 2^s", steps, counterexample)


claim = Claim(
    id="T-merge-norm-scales",
    paper=Paper.TRANSFORMATIONS,
    place="folding norm scales",
    says="The scales of the query norm and the key norm act only through their products, so those "
    "of the keys "
    "can be moved to the queries, with rotary positions too.",
    hypotheses=["norms stand before the rotation", "ε = 0 in the norms"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="Right without rotation; under rotations right where the scale that moves is the same "
    "number on the "
    "two dimensions of each plane.",
    does_not_establish=["how much a given trained model changes"],
)
