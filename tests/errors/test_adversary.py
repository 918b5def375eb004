"""The adversary: it breaks runs not far above ε0, and never at ε0."""

from __future__ import annotations

import pytest
from error_samples import sample_design, sample_layer
from flint import fmpq
from perturbed_runs import Run

from exactattn.errors import ErrorTheorem, breaking_perturbation, recovered
from exactattn.exceptions import ErrorsTooLarge


@pytest.mark.parametrize(
    ("heads", "dim", "seeds"),
    [
        (1, 2, 2),
        (2, 2, 2),
        (2, 3, 1),
        pytest.param(1, 2, 5, marks=pytest.mark.slow),
        pytest.param(2, 2, 5, marks=pytest.mark.slow),
        pytest.param(2, 3, 5, marks=pytest.mark.slow),
        pytest.param(3, 3, 5, marks=pytest.mark.slow),
        pytest.param(4, 4, 5, marks=pytest.mark.slow),
    ],
)
def test_epsilon0_is_within_a_factor_20_of_a_real_break(heads: int, dim: int, seeds: int) -> None:
    """If this fails, the conditions are far too cautious, or a perturbation within ε0 breaks the run."""
    for seed in range(seeds):
        layer = sample_layer(heads, dim, seed)
        design = sample_design(layer)
        for each in (design, design.direct()):
            run = Run(layer, each)
            epsilon0 = ErrorTheorem(run.first).epsilon0
            bits = 200 + 2 * int(1 / epsilon0).bit_length()
            found = breaking_perturbation(run.first, run.answers, epsilon0, bits)
            assert found is not None
            assert epsilon0 < found.epsilon <= 20 * epsilon0
            assert all(abs(x) == found.epsilon for x in found.errors)


def test_a_break_is_real() -> None:
    """If this fails, a reported break is none: the perturbed answers must be refused by recovery itself."""
    layer = sample_layer(1, 2, 0)
    run = Run(layer, sample_design(layer))
    epsilon0 = ErrorTheorem(run.first).epsilon0
    found = breaking_perturbation(run.first, run.answers, epsilon0, 300)
    assert found is not None
    answers = [x + e for x, e in zip(run.answers, found.errors, strict=True)]
    with pytest.raises(ErrorsTooLarge):
        recovered(run.design, answers, 300)
    assert found.epsilon / epsilon0 > fmpq(1)
