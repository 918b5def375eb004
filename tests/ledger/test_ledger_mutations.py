"""A deliberately broken step in a claim file makes the claim's test fail, for every kind of verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from exactattn.ledger import Claim, Verdict, decide, load_claim, load_claims, proofs_folder

# verdict, file, what is broken, how
MUTATIONS = [
    (
        Verdict.PROVED,
        "identification/change_of_basis_keeps_scores.py",
        "MatMul(S.I.T, W_K)",
        "MatMul(S.I, W_K)",
    ),
    (
        Verdict.PROVED,
        "identification/nothing_else_is_unidentified_in_plain_attention.py",
        "D**2 + C**2",
        "D**2 + C",
    ),
    (
        Verdict.PROVED,
        "identification/gradient_flow_keeps_the_balance.py",
        "W_K * G, W_Q * G.T",
        "W_K * G, W_Q * G",
    ),
    (Verdict.PROVED, "identification/key_bias_has_no_effect.py", "row(c), row(0))", "row(c), row(0) + c)"),
    (
        Verdict.PROVED,
        "identification/attention_is_never_fully_identified.py",
        "lost.subs(D, 1)",
        "lost.subs(D, 2)",
    ),
    (Verdict.PROVED, "queries/number_of_queries.py", "2 * d**2 - 1)", "2 * d**2)"),
    (Verdict.PROVED, "queries/number_of_queries.py", '"self.rows": d', '"self.rows": d + 1'),
    (
        Verdict.PROVED,
        "queries/one_head_from_d_squared_plus_d_queries.py",
        "weight / (1 - weight)))",
        "weight))",
    ),
    (
        Verdict.PROVED_FOR,
        "queries/listed_models_are_recovered_exactly.py",
        "result.matches(layer)",
        "result.matches(random_layer(heads, dim, seed=99))",
    ),
    (
        Verdict.PROVED_FOR,
        "queries/listed_models_are_recovered_exactly.py",
        "certificates.append(certificate)",
        "certificates.append({**certificate, 'queries': 1})",
    ),
    (Verdict.REFUTED, "identification/six_heads_are_83_percent.py", ".subs(H, 6)", ".subs(H, 3)"),
    (
        Verdict.REFUTED,
        "identification/key_bias_has_no_effect_with_sinks.py",
        "[fmpq(1)], sink)",
        "[fmpq(1)])",
    ),
    (Verdict.REFUTED, "identification/key_bias_has_no_effect_with_rotations.py", "fmpq(3, 5)", "fmpq(4, 5)"),
    (Verdict.REFUTED, "identification/unidentified_millions_of_figure_1.py", "E=512 H=8", "E=512 H=16"),
    (
        Verdict.PROVED,
        "queries/parameter_error_is_bounded_by_output_error.py",
        "(y - x) * (x + r) ** 2",
        "(y - x) * (x + r)",
    ),
    (
        Verdict.PROVED,
        "queries/parameter_error_is_bounded_by_output_error.py",
        "limit * arb(epsilon)",
        "limit * arb(epsilon) / 2",
    ),
    (Verdict.PROVED, "queries/best_copy_ratios.py", "8 * root**4", "4 * root**4"),
    (Verdict.PROVED, "queries/one_head_is_stable.py", "SHIFT * (mu / 2)", "SHIFT * mu"),
    (
        Verdict.OUT_OF_SCOPE,
        "identification/training_runs_behave_as_described.py",
        '"I-5.3-step"',
        '"I-4.5-six-heads"',
    ),
    (
        Verdict.PROVED,
        "queries/canonical_form_of_a_transformer.py",
        "2 * x for x in row",
        "3 * x for x in row",
    ),
    (Verdict.PROVED, "queries/antisymmetric_part_is_attention.py", "negated(query)", "query"),
    (
        Verdict.PROVED,
        "queries/nearly_equal_tokens_stay_in_a_region.py",
        "sign if self.bar",
        "-sign if self.bar",
    ),
    (Verdict.PROVED, "queries/hyperplanes_are_crossed_once.py", "(p > 0) == (s < t)", "(p > 0) == (s > t)"),
    (Verdict.PROVED, "queries/upper_bound_on_neurons_is_not_enough.py", "(-sign, second)", "(sign, second)"),
    (
        Verdict.PROVED,
        "queries/queries_grow_with_the_kink_spacing.py",
        "beta[1] + EPSILON",
        "beta[1] + 2 * EPSILON",
    ),
    (
        Verdict.PROVED_FOR,
        "queries/listed_transformers_are_recovered.py",
        "transformer_certificate(result, model))",
        "{**transformer_certificate(result, model), 'queries': 1})",
    ),
    # verdicts that are asserted instead of found
    (Verdict.REFUTED, "identification/projection_as_printed.py", "[0]),", "[1]),"),
]


def mutated(file: str, before: str, after: str, folder: Path) -> Claim:
    source = (proofs_folder() / file).read_text(encoding="utf-8")
    assert before in source, "the mutation no longer applies; choose another"
    target = folder / file
    target.parent.mkdir()
    target.write_text(source.replace(before, after), encoding="utf-8")
    return load_claim(target)


@pytest.mark.parametrize(("verdict", "file", "before", "after"), MUTATIONS)
def test_broken_evidence_is_noticed(
    verdict: Verdict, file: str, before: str, after: str, tmp_path: Path
) -> None:
    """If it fails, a step of the evidence can be wrong without the ledger noticing."""
    claim = mutated(file, before, after, tmp_path)
    assert claim.expected is verdict
    (decided,) = decide([claim], {**load_claims(), claim.id: claim})
    assert not decided.as_expected
    assert decided.outcome.failed or decided.outcome.verdict is not verdict


def test_every_kind_of_verdict_is_mutated() -> None:
    """If it fails, one kind of verdict that the ledger has is not covered above."""
    assert {verdict for verdict, *_ in MUTATIONS} == {claim.expected for claim in load_claims().values()}


def test_a_broken_basis_is_noticed_above(tmp_path: Path) -> None:
    """If it fails, a claim would stand although one that it depends on fell."""
    file = "identification/equal_products_differ_by_a_change_of_basis.py"
    basis = mutated(file, "new_S * B, B2", "new_S * B, B", tmp_path)
    (decided,) = decide([load_claims()["I-complete"]], {**load_claims(), basis.id: basis})
    assert decided.outcome.verdict is Verdict.UNKNOWN
    assert [step.says for step in decided.outcome.failed] == ["I-4.6 holds", "I-4.1-converse holds"]
