"""P-2: "none of the terms depend on the head count"."""

from sympy import Derivative, Eq, diff, simplify, symbols

from exactattn.allocate import PUBLISHED, layer_cost, products, schedule_cost
from exactattn.ledger import Claim, Counterexample, Outcome, Paper, Verdict, differ, equal, refuted

d, h, T = symbols("d h T", positive=True)


def establish() -> Outcome:
    schedule = PUBLISHED["prism-124m"]
    own, uniform = schedule_cost(schedule), schedule_cost(schedule.uniform())
    one, two = layer_cost(2, 1, 1), layer_cost(2, 2, 1)
    steps = [
        *(
            equal(f"{part.name}: multiply-adds without h", diff(simplify(part.multiply_adds), h), 0)
            for causal in (False, True)
            for part in products(d, h, T, causal=causal)
        ),
        equal("exponentials of a layer: h T²", layer_cost(d, h, T).exponentials, h * T**2),
        equal(
            "the smallest case, d = 2 and T = 1: 1 and 2 of them",
            [one.exponentials, two.exponentials],
            [1, 2],
        ),
        differ("which differ", one.exponentials, two.exponentials),
        equal("while its multiply-adds agree", one.multiply_adds, two.multiply_adds),
        equal(
            "the 124M schedule: 106 T² against 144 T² in the uniform layout",
            [own.exponentials.coeff(x, 2) for x in own.exponentials.free_symbols]
            + [uniform.exponentials.coeff(x, 2) for x in uniform.exponentials.free_symbols],
            [106, 144],
        ),
        equal("with the same multiply-adds", own.multiply_adds, uniform.multiply_adds),
    ]
    counterexample = Counterexample(
        "one layer of width 2 on one token takes 1 exponential with one head and 2 with two",
        {"d": 2, "T": 1, "h": [1, 2], "exponentials": [1, 2], "multiply-adds": [one.multiply_adds] * 2},
        "no smaller width has two head counts, no sequence is shorter",
    )
    return refuted(
        "counting the operations of one layer from the shapes of its products", steps, counterexample
    )


claim = Claim(
    id="P-2",
    paper=Paper.SCHEDULES,
    place="accounting of compute",
    says="A head schedule is compute-neutral: no term of the cost of a layer depends on the head count.",
    statement=[Eq(Derivative(h * T**2, h), 0, evaluate=False)],
    hypotheses=["all operations of a layer are counted, softmax included"],
    establish=establish,
    expected=Verdict.REFUTED,
    corrected="All matrix products cost the same for every head count; the softmax takes h T² exponentials a "
    "layer (sums and divisions likewise), so fewer heads cost less: 106 T² against 144 T² in the 124M model.",
    does_not_establish=["anything about time on a machine, where large heads may be slower"],
)
