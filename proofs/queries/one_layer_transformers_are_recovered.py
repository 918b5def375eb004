"""Q-6: a one-layer Transformer with a bias-free ReLU network."""

from sympy import MatrixSymbol, symbols

from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, matrix_equal, unknown

d, k = symbols("d k", integer=True, positive=True)
A, w, x = MatrixSymbol("A", k, d), MatrixSymbol("w", k, 1), MatrixSymbol("x", d, 1)


def establish() -> Outcome:
    steps = [
        cases(
            "a neuron rescaled by a positive number is the same function: 2·max(0, t) = max(0, 2t)",
            range(-3, 4),
            lambda n: 2 * max(0, n) == max(0, 2 * n),
        ),
        cases(
            "max(0, t) − max(0, −t) = t, so odd parts see no ReLU",
            range(-3, 4),
            lambda n: max(0, n) - max(0, -n) == n,
        ),
        matrix_equal("the odd part of a network is linear: wᵀA x", w.T * (A * x), (A.T * w).T * x),
    ]
    return unknown(
        "waits for the recovery of the ReLU network (theory, section 7): canonical form, algorithm and "
        "conditions. So far only the symmetries of a neuron are checked",
        steps,
    )


claim = Claim(
    id="Q-6",
    paper=Paper.QUERIES,
    place="abstract; its conditions were not seen",
    says="Value queries recover a one-layer Transformer, multi-head attention followed by a bias-free ReLU "
    "network, up to functional equivalence, under additional conditions.",
    hypotheses=["additional conditions, not seen"],
    establish=establish,
    expected=Verdict.UNKNOWN,
    does_not_establish=["under which conditions, and with how many queries"],
)
