"""I-5.1-projection-printed: the projection problem with the sign as printed."""

from sympy import Eq, Symbol, diff, solve, symbols

from exactattn.ledger import Claim, Counterexample, Outcome, Paper, Verdict, differ, equal, refuted

S = Symbol("S", real=True)
W_Q, W_K, dQ, dK = symbols("W_Q W_K δW_Q δW_K", real=True)
PRINTED = ((dQ - S * W_Q) ** 2 + (dK - S * W_K) ** 2) / 2
CORRECTED = ((dQ - S * W_Q) ** 2 + (dK + S * W_K) ** 2) / 2
EQUATION = Eq(S * W_Q**2 + W_K**2 * S, dQ * W_Q - W_K * dK, evaluate=False)


def establish() -> Outcome:
    instance = {W_Q: 1, W_K: 1, dQ: 1, dK: -1}
    minimum = solve(diff(PRINTED.subs(instance), S), S)
    stationary = solve(EQUATION.subs(instance), S)
    corrected = solve(diff(CORRECTED.subs(instance), S), S)
    steps = [
        equal("the printed objective is least at S = 0", minimum, [0]),
        equal("the printed equation is solved by S = 1", stationary, [1]),
        differ("they disagree", minimum, stationary),
        equal("with the other sign both agree", corrected, stationary),
        equal(
            "and the whole update is explained, as it is a change of basis",
            CORRECTED.subs({**instance, S: 1}),
            0,
        ),
    ]
    counterexample = Counterexample(
        "D = E = 1, the update (1, −1) of the weights (1, 1), which is the change of basis S = 1 itself",
        {"W_Q": 1, "W_K": 1, "δW_Q": 1, "δW_K": -1, "least S of the objective": 0, "S of the equation": 1},
        "one head, one dimension, entries of size 1: nothing is smaller",
    )
    return refuted("solving both", steps, counterexample)


claim = Claim(
    id="I-5.1-projection-printed",
    paper=Paper.IDENTIFICATION,
    place="Section 5, metrics, objective as printed",
    says="The S that minimises |δW_Q − S W_Q|² + |δW_K − SᵀW_K|² solves S G_Q + G_K S = δW_QW_Qᵀ − W_KδW_Kᵀ.",
    statement=[EQUATION],
    hypotheses=["the objective has a minus in its second term, as printed"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="The second term must be |δW_K + SᵀW_K|², because a change of basis moves keys by −SᵀW_K; "
    "then the printed equation is right (I-5.1-projection).",
    does_not_establish=["which of the two was computed for the published figures"],
)
