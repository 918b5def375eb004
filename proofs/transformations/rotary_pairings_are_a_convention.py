"""T-rotary-pairing: running weights of one rotary pairing with the other."""

from exactattn.identify import AttentionSpec, Pairing, Rotary
from exactattn.identify.layer import rotary_pairs
from exactattn.identify.layer_values import lattice_outputs
from exactattn.ledger import Claim, Counterexample, Outcome, Paper, Verdict, cases, differ, equal, refuted

TURNS = [("3/5", "4/5"), ("5/13", "12/13"), ("8/17", "15/17")]
TOKENS = [[1], [0]]
QUERY, KEY = [5, 0, 0, 0], [0, 1, 0, 0]


def layer(size: int, pairing: Pairing) -> AttentionSpec:
    rotary = Rotary(size=size, pairing=pairing)
    return AttentionSpec.of(
        width=1, heads=1, head_size=size, value_size=1, query_bias=True, key_bias=True, rotary=rotary
    )


def output(query: list[int], key: list[int], pairing: Pairing, factor: int = 1) -> object:
    """Width 1: every query and key is the given one, values are the tokens."""
    zero = [[0]] * len(query)
    biases = {"query bias": query, "key bias": key}
    weights = {"query": zero, "key": zero, "value": [[1]], "output": [[1]], **biases}
    return lattice_outputs(layer(len(query), pairing), weights, TOKENS, TURNS[: len(query) // 2], factor)


def reordered(rows: list[int]) -> list[int]:
    """Rows 0, 2, 4, … and then 1, 3, 5, …"""
    return [*rows[0::2], *rows[1::2]]


def establish() -> Outcome:
    trained, other = (output(QUERY, KEY, pairing) for pairing in (Pairing.INTERLEAVED, Pairing.HALF_SPLIT))
    steps = [
        differ("the same weights give another output", trained, other),
        equal(
            "with the rows of W_Q and W_K reordered it is the first one again",
            output(reordered(QUERY), reordered(KEY), Pairing.HALF_SPLIT),
            trained,
        ),
        equal(
            "likewise for six dimensions (scores times 5·13·17, to be whole)",
            output(reordered([1, 2, 0, 1, 1, 1]), reordered([1, 0, 1, 2, 0, 1]), Pairing.HALF_SPLIT, 1105),
            output([1, 2, 0, 1, 1, 1], [1, 0, 1, 2, 0, 1], Pairing.INTERLEAVED, 1105),
        ),
        cases(
            "the order takes each plane 2i, 2i + 1 to i, i + R/2 (shown: R = 2 … 64)",
            range(2, 65, 2),
            lambda size: (
                [(2 * i, 2 * i + 1) for i in range(size // 2)]
                == [
                    tuple(reordered(list(range(size)))[k] for k in pair)
                    for pair in rotary_pairs(layer(size, Pairing.HALF_SPLIT))
                ]
                == rotary_pairs(layer(size, Pairing.INTERLEAVED))
            ),
        ),
        equal(
            "for two dimensions both pairings are one",
            list(rotary_pairs(layer(2, Pairing.HALF_SPLIT))[0]),
            list(rotary_pairs(layer(2, Pairing.INTERLEAVED))[0]),
        ),
    ]
    counterexample = Counterexample(
        "one head of size 4, width 1, two tokens",
        {
            "b_Q": QUERY,
            "b_K": KEY,
            "cosines and sines": [list(turn) for turn in TURNS[:2]],
            "tokens": TOKENS,
            "interleaved": trained,
            "half-split": other,
        },
        "with two dimensions the pairings agree, and rotated dimensions are even in number",
    )
    return refuted("the layer is run on the log-lattice, exp(s) = 2^s", steps, counterexample)


claim = Claim(
    id="T-rotary-pairing",
    paper=Paper.TRANSFORMATIONS,
    place="converting checkpoints",
    says="Which dimensions rotate together, neighbours or the two halves, is a convention of the program: "
    "weights of the one can be run with the other.",
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="Right after the rows of W_Q and W_K (and their biases, and scales of query/key norms) of each "
    "head are put in the order 0, 2, 4, …, 1, 3, 5, ….",
    does_not_establish=["how much a given trained model changes"],
)
