"""Attention layers of published checkpoints, read exactly, and moved within their symmetries.

Reading: :func:`open_checkpoint` gives a :class:`Checkpoint`, whose ``layers`` are numbered from 0;
``spec(i)`` is the architecture of layer i and ``attention(i)`` its :class:`AttentionWeights`, read when asked
for. ``parameters`` are float64 arrays that hold the stored numbers exactly (float32, float16 and bfloat16
fit), named as in ``exactattn.identify.parameters``, matrices out × in, heads below each other; ``head(h)``
gives the arrays of one head, ``exact_products(h)`` its products W_QᵀW_K and W_O W_V as :class:`Dyadic`
matrices (integers and a power of 2); the factor on scores is the square root of
``spec.score_scale_squared``. ``Dyadic.of(array)`` makes any of the arrays exact. Nothing is unpickled.
"""

from exactattn.checkpoint.checkpoint import Checkpoint, open_checkpoint
from exactattn.checkpoint.dyadic import Dyadic
from exactattn.checkpoint.tensor_file import TensorFile
from exactattn.checkpoint.tensor_files import TensorFiles
from exactattn.checkpoint.weights import AttentionWeights, HeadArrays, HeadProducts

__all__ = [
    "AttentionWeights",
    "Checkpoint",
    "Dyadic",
    "HeadArrays",
    "HeadProducts",
    "TensorFile",
    "TensorFiles",
    "open_checkpoint",
]
