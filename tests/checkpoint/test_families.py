"""Tiny models of every family, built by transformers: logits stay, whatever is done to the layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import FAMILIES, build, logits, save

from exactattn.checkpoint import (
    AttentionWeights,
    Moved,
    canonicalize,
    centre_output,
    fold_norms,
    move_value_bias,
    open_checkpoint,
    rebalance,
    transform_checkpoint,
    zero_key_bias,
)
from exactattn.checkpoint.biases import key_bias_reason, value_bias_reason
from exactattn.checkpoint.norms import centre_reason, fold_reason
from exactattn.exceptions import InputError

torch = pytest.importorskip("torch", reason="needs pip install 'exactattn[torch]'")
pytest.importorskip("transformers", reason="needs pip install 'exactattn[transformers]'")

pytestmark = [pytest.mark.crosscheck, pytest.mark.filterwarnings("ignore")]

# float32 inside some of the models' own norms and rotations
TOLERANCE = 1e-4

REASONS = {
    "zero_key_bias": lambda w: key_bias_reason(w.spec),
    "move_value_bias": lambda w: value_bias_reason(w.spec),
    "fold_norms": fold_reason,
    "centre_output": lambda w: centre_reason(w.spec),
}

ALLOWED = {
    "zero_key_bias": "bert distilbert roberta bloom gpt2 opt vit gpt_neox phi stablelm",
    "move_value_bias": "bert distilbert roberta bloom falcon gpt2 opt vit gpt_neox phi phi-normed starcoder2 "
    "llama-biased whisper",
    "fold_norms": "bloom deepseek_v2 deepseek_v2-lite deepseek_v3 gemma2 gemma3_text gpt2 gpt_neox gpt_oss "
    "llama llama-biased mistral mixtral mpt opt phi3 qwen2 qwen3 starcoder2 t5 vit whisper",
    "centre_output": "bloom cohere cohere-normed falcon falcon-new gpt2 gpt_neox gptj mpt opt phi phi-normed "
    "stablelm stablelm-normed starcoder2 vit whisper",
}


def transformed(source: Path, transformation: Any, target: Path, model: Any, name: str) -> Any:
    """Logits of the model after it was rewritten and read again by transformers."""
    layers = list(transform_checkpoint(open_checkpoint(source), transformation, target))
    again = type(model).from_pretrained(target, dtype=torch.float64, attn_implementation="eager").eval()
    return logits(again, name), layers


@pytest.mark.parametrize("name", FAMILIES)
def test_logits_stay_under_every_allowed_transformation(name: str, tmp_path: Path) -> None:
    """Breaks: which tensor is what in a family (any mistake moves logits by far more), its hypotheses, and
    the refusals: what is not allowed is refused in every layer that lacks the hypothesis."""
    model = build(name)
    source = save(model, tmp_path / "in")
    before = logits(model, name)
    checkpoint = open_checkpoint(source)
    size = float(np.abs(before).max())
    for transformation in (rebalance, canonicalize):
        after, layers = transformed(source, transformation, tmp_path / transformation.__name__, model, name)
        assert float(np.abs(after - before).max()) < TOLERANCE * size
        assert all(layer.imbalance_after < 1e-13 for layer in layers)
        assert all(layer.imbalance_before > 1e-2 for layer in layers)
        for layer in layers:
            bound = layer.change.output_bound
            assert bound is None or bound < 1e-9
    for transformation in (zero_key_bias, move_value_bias, fold_norms, centre_output):
        label = transformation.__name__
        reasons = [REASONS[label](checkpoint.attention(i)) for i in checkpoint.layers]
        assert (not all(reasons)) == (name in ALLOWED[label].split()), (label, reasons)

        def where_allowed(weights: AttentionWeights, apply: Any = transformation, of: Any = label) -> Moved:
            return Moved(weights) if REASONS[of](weights) else apply(weights)

        if not all(reasons):
            after, _ = transformed(source, where_allowed, tmp_path / label, model, name)
            assert float(np.abs(after - before).max()) < TOLERANCE * size, label
        for layer, reason in zip(checkpoint.layers, reasons, strict=True):
            if reason:
                with pytest.raises(InputError) as refused:
                    transformation(checkpoint.attention(layer))
                assert reason in str(refused.value)


@pytest.mark.parametrize("name", ["llama", "qwen3", "deepseek_v3", "gpt_oss"])
def test_a_transformation_that_is_none_moves_logits(name: str, tmp_path: Path) -> None:
    """Breaks: the test above, if logits did not depend on the layers: a change of one side alone shows."""
    model = build(name)
    source = save(model, tmp_path / "in")

    def one_side(weights: AttentionWeights) -> Moved:
        return Moved(weights.with_parameters({"value": weights.parameters["value"] * 1.5}))

    after, layers = transformed(source, one_side, tmp_path / "out", model, name)
    assert float(np.abs(after - logits(model, name)).max()) > 1e-2
    assert not any(layer.change.unchanged for layer in layers)
