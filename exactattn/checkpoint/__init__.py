"""Attention layers of published checkpoints, read exactly, and moved within their symmetries.

**Reading.** :func:`open_checkpoint` gives a :class:`Checkpoint`, whose ``layers`` are numbered from 0;
``spec(i)`` is the architecture of layer i and ``attention(i)`` its :class:`AttentionWeights`, read when asked
for. ``parameters`` are float64 arrays that hold the stored numbers exactly (float32, float16 and bfloat16
fit), named as in ``exactattn.identify.parameters``, matrices out × in, heads below each other; ``head(h)``
gives the arrays of one head, ``exact_products(h)`` its products W_QᵀW_K and W_O W_V as :class:`Dyadic`
matrices (integers and a power of 2); the factor on scores is the square root of
``spec.score_scale_squared``. ``Dyadic.of(array)`` makes any of the arrays exact. Nothing is unpickled.

**Transforming.** :func:`rebalance`, :func:`canonical_basis`, :func:`zero_key_bias`,
:func:`move_value_bias`, :func:`fold_norms`, :func:`centre_output`, :func:`permute_heads` and
:func:`reorder_dimensions` take a layer and give a :class:`Moved` one that computes the same, or raise
InputError with the reason why the architecture does not allow it. :func:`canonicalize` does all that a
canonical form needs.

**Writing.** :func:`transform_checkpoint` applies one of them to every layer of a checkpoint and writes the
result, rounded to the stored types; :func:`layer_change` states exactly what two sets of stored numbers
differ in, and bounds what that does to the layer's output.

**Comparing.** :func:`compare_layers` and :func:`compare_checkpoints` say whether two sets of parameters are
the same function: exact distances of all that it depends on, heads matched, or an input that shows a
difference.
"""

from exactattn.checkpoint.biases import move_value_bias, zero_key_bias
from exactattn.checkpoint.bound_text import bound_text
from exactattn.checkpoint.canonical import canonicalize
from exactattn.checkpoint.change import HeadChange, LayerChange, layer_change
from exactattn.checkpoint.checkpoint import Checkpoint, open_checkpoint
from exactattn.checkpoint.compare import LayerComparison, Sameness, compare_layers, rounding_share
from exactattn.checkpoint.compare_checkpoints import compare_checkpoints, stored_layer
from exactattn.checkpoint.compare_separate import SeparatingInput
from exactattn.checkpoint.dyadic import Dyadic
from exactattn.checkpoint.elements import GaugeElement
from exactattn.checkpoint.moved import Moved
from exactattn.checkpoint.norms import centre_output, fold_norms
from exactattn.checkpoint.permutations import permute_heads, reorder_dimensions
from exactattn.checkpoint.rebalance import Which, canonical_basis, imbalance, rebalance
from exactattn.checkpoint.tensor_file import TensorFile
from exactattn.checkpoint.tensor_files import TensorFiles
from exactattn.checkpoint.weights import AttentionWeights, HeadArrays, HeadProducts
from exactattn.checkpoint.writing import WrittenLayer, transform_checkpoint

__all__ = [
    "AttentionWeights",
    "Checkpoint",
    "Dyadic",
    "GaugeElement",
    "HeadArrays",
    "HeadChange",
    "HeadProducts",
    "LayerChange",
    "LayerComparison",
    "Moved",
    "Sameness",
    "SeparatingInput",
    "TensorFile",
    "TensorFiles",
    "Which",
    "WrittenLayer",
    "bound_text",
    "canonical_basis",
    "canonicalize",
    "centre_output",
    "compare_checkpoints",
    "compare_layers",
    "fold_norms",
    "imbalance",
    "layer_change",
    "move_value_bias",
    "open_checkpoint",
    "permute_heads",
    "rebalance",
    "reorder_dimensions",
    "rounding_share",
    "stored_layer",
    "transform_checkpoint",
    "zero_key_bias",
]
