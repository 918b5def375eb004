"""Names of tensors, by model type and stack of layers."""

from __future__ import annotations

from collections.abc import Mapping

from exactattn.checkpoint.layouts.decoders import FUSED, SEPARATE
from exactattn.checkpoint.layouts.encoders import BERT, IMAGE, T5, VIT, WHISPER
from exactattn.checkpoint.layouts.latent import DEEPSEEK
from exactattn.checkpoint.layouts.layout import Layout, StackKey

__all__ = ["LAYOUTS", "Layout", "StackKey"]

LAYERS: StackKey = ("layers", False)

LAYOUTS: Mapping[str, Mapping[StackKey, tuple[Layout, ...]]] = {
    **{family: {LAYERS: (layout,)} for family, layout in SEPARATE.items()},
    **{family: {LAYERS: layouts} for family, layouts in FUSED.items()},
    **{family: {LAYERS: BERT} for family in ("bert", "distilbert", "roberta")},
    "deepseek_v2": {LAYERS: (DEEPSEEK,)},
    "deepseek_v3": {LAYERS: (DEEPSEEK,)},
    "gemma3": {LAYERS: (SEPARATE["gemma3_text"],), ("image layers", False): (IMAGE,)},
    "t5": {stack: (layout,) for stack, layout in T5.items()},
    "vit": {LAYERS: VIT},
    "whisper": {stack: (layout,) for stack, layout in WHISPER.items()},
}
"""By model type and stack; the first layout whose anchor is in the files is taken."""
