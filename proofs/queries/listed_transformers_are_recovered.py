"""Q-6-runs: exact recovery of each Transformer of a list, by a certificate."""

from typing import Any

from exactattn.certificate import transformer_certificate
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, holds, proved_for
from exactattn.model.random_transformer import random_transformer
from exactattn.oracle.transformer import TransformerOracle
from exactattn.recovery.relu import recover_transformer

# heads, token size, neurons, what the model has, what is stated instead of the number of neurons
RUNS: tuple[tuple[int, int, int, dict[str, Any], dict[str, Any]], ...] = (
    (1, 2, 1, {}, {}),
    (2, 3, 3, {}, {}),
    (2, 2, 8, {}, {}),
    (2, 3, 4, {"residual": True}, {}),
    (1, 2, 3, {"residual": True, "bypass": True}, {}),
    (2, 2, 2, {}, {"kink_spacing": "1/1000000"}),
    (2, 3, 4, {"plant": "hidden head"}, {}),
    (2, 2, 3, {"plant": "duplicate neuron"}, {}),
    (2, 3, 3, {"plant": "near-parallel pair", "gap": 12}, {}),
)


def establish() -> Outcome:
    certificates, scope, steps = [], [], []
    for heads, dim, neurons, made, stated in RUNS:
        model = random_transformer(heads, dim, neurons, seed=1, **made)
        known = stated or {"neurons": len(model.canonical().kinks)}
        result = recover_transformer(TransformerOracle(model), heads, residual=model.residual, **known)
        parts = [f"H = {heads}, d = {dim}, {neurons} neurons"]
        parts += [str(value) if key == "plant" else key for key, value in made.items() if key != "gap"]
        parts += ["a spacing of kinks is stated"] if stated else []
        scope.append(", ".join(parts))
        steps.append(holds(f"{scope[-1]}: the same function", result.matches(model)))
        certificates.append(transformer_certificate(result, model))
    steps.append(
        cases(
            "each certificate says that the public model has the recovered canonical form",
            certificates,
            lambda c: any("public model" in text for text in c["statement"]),
        )
    )
    return proved_for(
        scope,
        "every answer is the listed function's; the pieces, the regions and their ranks leave no other "
        "function of this kind under the hypotheses of the certificate (its checker holds the proof)",
        steps,
        certificates,
    )


claim = Claim(
    id="Q-6-runs",
    paper=Paper.QUERIES,
    place="abstract; its conditions were not seen",
    says="Value queries recover each listed one-layer Transformer exactly, up to functional equivalence, "
    "residual connections, linear paths, hidden heads, parallel and nearly parallel neurons included.",
    hypotheses=[
        "those of each certificate: at most so many heads, and at most so many neurons or a spacing of kinks",
        "the places of a piece lie in one piece, and the queries of a region in one region",
    ],
    establish=establish,
    expected=Verdict.PROVED_FOR,
    depends_on=["Q-6-canonical", "Q-6-antisymmetric"],
    does_not_establish=[
        "the same for a model that is not listed (see Q-6 for almost all queries)",
        "anything about rounded or noisy answers",
    ],
)
