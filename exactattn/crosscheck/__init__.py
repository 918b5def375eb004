"""Cross-checks against floating-point libraries: never a verdict, always with a computed bound.

Functions that compute need the extra ``torch``; the package itself imports without it.
"""

from exactattn.crosscheck.attention_module import ModuleReadout
from exactattn.crosscheck.enclosed_run import EnclosedRun, PartRun, enclosed_run
from exactattn.crosscheck.exact_layer import layer_outputs
from exactattn.crosscheck.gauge_moves import move_along_symmetries
from exactattn.crosscheck.model_layers import ModelLayer, attention_layers
from exactattn.crosscheck.rounding import Rounding

__all__ = [
    "EnclosedRun",
    "ModelLayer",
    "ModuleReadout",
    "PartRun",
    "Rounding",
    "attention_layers",
    "enclosed_run",
    "layer_outputs",
    "move_along_symmetries",
]
