"""Attention modules of transformers, before and after, on the inputs they meet: within the certified bound.

Weights are stored as bfloat16, so that rounding the rebalanced ones changes outputs visibly.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import build, inputs

from exactattn.checkpoint import open_checkpoint, rebalance, transform_checkpoint

torch = pytest.importorskip("torch", reason="needs pip install 'exactattn[torch]'")
pytest.importorskip("transformers", reason="needs pip install 'exactattn[transformers]'")

pytestmark = [pytest.mark.crosscheck, pytest.mark.filterwarnings("ignore")]

# bare attention modules: what they get is normed already, what they give is not yet added to anything
MODULES = {
    "gemma2": "model.layers.{}.self_attn",
    "gpt_neox": "gpt_neox.layers.{}.attention",
    "gptj": "transformer.h.{}.attn",
    "gpt2": "transformer.h.{}.attn",
    "llama-biased": "model.layers.{}.self_attn",
    "mistral": "model.layers.{}.self_attn",
    "phi": "model.layers.{}.self_attn",
    "phi3": "model.layers.{}.self_attn",
    "qwen2": "model.layers.{}.self_attn",
    "qwen3": "model.layers.{}.self_attn",
    "deepseek_v3": "model.layers.{}.self_attn",
}


def first(result: Any) -> Any:
    return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize("name", MODULES)
def test_modules_stay_within_the_bound(name: str, tmp_path: Path) -> None:
    """Breaks: the certificate on a model as it runs: rotation, groups, caps, norms and latents included."""
    stored = build(name).to(torch.bfloat16)
    stored.save_pretrained(tmp_path / "in")
    layers = list(transform_checkpoint(open_checkpoint(tmp_path / "in"), rebalance, tmp_path / "out"))
    old, new = (
        type(stored).from_pretrained(tmp_path / side, dtype=torch.float64, attn_implementation="eager").eval()
        for side in ("in", "out")
    )
    met: dict[int, Any] = {}

    def remember(layer: int) -> Any:
        def hook(_: Any, args: Any, kwargs: Any, result: Any) -> None:
            met[layer] = (args, {**kwargs, "past_key_values": None, "layer_past": None}, first(result))

        return hook

    for layer in range(len(layers)):
        old.get_submodule(MODULES[name].format(layer)).register_forward_hook(
            remember(layer), with_kwargs=True
        )
    with torch.no_grad():
        old(**inputs(name), use_cache=False)
        for layer, written in enumerate(layers):
            args, kwargs, before = met[layer]
            after = first(new.get_submodule(MODULES[name].format(layer))(*args, **kwargs))
            moved = float(np.linalg.norm((after - before).numpy(), axis=-1).max())
            bound = written.change.output_bound
            assert bound is not None
            assert 1e-4 < moved <= bound
